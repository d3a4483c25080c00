"""`graph.merge`: a three-way merge of a branch's changes into its base, key by key.

    theirs  the branch's current version
    base    the common starting point: the snapshot the branch was created from or, once a key has
            been merged or resolved, the branch's version at that time
    ours    the destination's current version

If theirs equals base or ours, there is nothing to do. If ours equals base, theirs is written.
Otherwise the key is in conflict and is left alone. Settling a key advances its base, so nothing is
asked twice and a later edit is compared with what was merged, not with the old snapshot.
"""

from __future__ import annotations

import hashlib
from typing import NamedTuple

import msgspec

from longhouse.kernel.budget import Pop
from longhouse.kernel.errors import MergeNotSupported
from longhouse.memory.branches import ENDLESS, Branch, branch_named, view_of
from longhouse.memory.entries import paginate
from longhouse.memory.graph.apply import drafts_of, write_versions
from longhouse.memory.graph.room import sql
from longhouse.memory.graph.rows import changed_fields, key_shown, same
from longhouse.memory.graph.view import visible
from longhouse.memory.merging import base_of
from longhouse.memory.room import room
from longhouse.memory.types.graph import (
    ConflictPreview,
    DiffSummary,
    GraphMerged,
    MergeGraph,
    ResolveConflict,
    ShowConflict,
)
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["conflict_id_of", "merge_graph"]


class Side(NamedTuple):
    """The three versions of one key in a merge."""

    theirs: Row
    base: Row | None
    ours: Row | None

    @property
    def outcome(self) -> str:
        if same(self.theirs, self.base):
            return "unchanged"
        if same(self.theirs, self.ours):
            return "converged"
        return "merge" if same(self.base, self.ours) else "conflict"


def conflict_id_of(tx: Tx, theirs: Row) -> str:
    """Derived from the incoming version alone, so later changes to the destination keep it."""
    digest = hashlib.sha256(f"{tx.workspace}|{theirs['seq']}".encode()).hexdigest()
    return f"CONFLICT-{digest[:32]}"


@room.command(
    "graph.merge",
    also="join",
    op="merge",
    writes=True,
    idempotent=True,
    example=MergeGraph(from_="idea/cache-first", merge_to_base=True, dry_run=True),
    trim=[Pop("conflicts", leave=1), Pop("conflict_ids", leave=1)],
)
def merge_graph(tx: Tx, req: MergeGraph) -> GraphMerged:
    """Merge a branch's graph back into its base; keys that both changed become conflicts."""
    source = branch_named(tx, req.from_, field="from")
    into = _destination(tx, source, req)
    page, seqs = _changed(tx, source, req)
    sides = _sides(tx, source, into, req.doc, page)
    outcomes = {
        name: [s for s in sides if s.outcome == name]
        for name in ("unchanged", "converged", "merge", "conflict")
    }
    conflicts = [_preview(tx, side) for side in outcomes["conflict"]]
    created = 0
    if not req.dry_run:
        _settle(tx, source, req.doc, outcomes["converged"], "converged")
        _write(tx, source, into, req.doc, outcomes["merge"])
        created = sum(_record(tx, source, into, req.doc, side) for side in outcomes["conflict"])
        conflicts = [msgspec.structs.replace(preview, status="open") for preview in conflicts]
    if conflicts and not req.dry_run:
        _suggest(tx, conflicts[0])
    return GraphMerged(
        from_=source.name,
        into=into.name,
        doc=req.doc,
        merged=len(outcomes["merge"]),
        skipped=len(outcomes["unchanged"]) + len(outcomes["converged"]),
        conflicts_created=created,
        conflict_ids=[preview.conflict_id for preview in conflicts],
        conflicts=conflicts,
        diff_summary=_summary([*outcomes["merge"], *outcomes["conflict"]]),
        dry_run=req.dry_run,
        pagination=paginate(seqs, cursor=req.cursor, limit=req.limit),
    )


def _destination(tx: Tx, source: Branch, req: MergeGraph) -> Branch:
    base = base_of(tx, source.name)
    if req.into not in (None, base):
        raise MergeNotSupported(
            f"into: {source.name!r} can only merge into its base {base!r}, not {req.into!r}",
            recovery=f"pass into={base}, or merge_to_base=true",
        )
    return branch_named(tx, base, field="into")


def _changed(tx: Tx, source: Branch, req: MergeGraph) -> tuple[list[Row], list[int]]:
    """A page of the newest versions of keys written on the branch, and the seqs to page by."""
    own = view_of(tx, source.name, req.doc).sources[0]
    if own.doc_id is None:
        return [], []
    before = req.cursor if req.cursor is not None else ENDLESS
    rows = tx.all(
        sql.versions_between,
        doc_id=own.doc_id,
        after=0,
        before=before,
        cut=own.cut,
        limit=req.limit + 1,
    )
    return rows[: req.limit], [row["seq"] for row in rows]


def _sides(tx: Tx, source: Branch, into: Branch, doc: str, page: list[Row]) -> list[Side]:
    if not page:
        return []
    keys = [row["key"] for row in page]
    view = view_of(tx, source.name, doc)
    start = view._replace(sources=view.sources[1:])
    bases = visible(tx, start, keys)
    merged = tx.all(
        sql.merge_bases_of, doc_id=view.sources[0].doc_id, keys=msgspec.json.encode(keys).decode()
    )
    bases.update((row["key"], row) for row in merged)
    ours = visible(tx, view_of(tx, into.name, doc), keys)
    return [Side(row, bases.get(row["key"]), ours.get(row["key"])) for row in page]


def _write(tx: Tx, source: Branch, into: Branch, doc: str, sides: list[Side]) -> None:
    """Write the branch's versions into the destination, oldest change first."""
    if not sides:
        return
    drafts = drafts_of(side.theirs for side in reversed(sides))
    first = write_versions(tx, into, doc, drafts)
    tx.append(
        "memory",
        doc,
        "graph_merged",
        {"branch": into.name, "from": source.name, "first_seq": first, "merged": len(sides)},
        seq=first + len(drafts) - 1,
        span=len(drafts),
    )
    _settle(tx, source, doc, sides, "converged")


def _settle(tx: Tx, source: Branch, doc: str, sides: list[Side], why: str) -> None:
    """Advance the merge base of these keys and close their open conflicts."""
    if not sides:
        return
    own = view_of(tx, source.name, doc).sources[0]
    tx.many(
        sql.merge_base_set,
        [{"doc_id": own.doc_id, "key": s.theirs["key"], "seq": s.theirs["seq"]} for s in sides],
    )
    for side in sides:
        _end_older(tx, source, doc, side.theirs["key"], why, but="")


def _record(tx: Tx, source: Branch, into: Branch, doc: str, side: Side) -> bool:
    """Record a conflict once per incoming version and close older ones on the key."""
    conflict_id = conflict_id_of(tx, side.theirs)
    _end_older(tx, source, doc, side.theirs["key"], "superseded", but=conflict_id)
    if tx.one(sql.conflict_by_id, conflict_id=conflict_id):
        return False
    seq = tx.append("memory", conflict_id, "conflict", {"into": into.name, "from": source.name})
    tx.run(
        sql.conflict_add,
        conflict_id=conflict_id,
        from_id=source.branch_id,
        into_id=into.branch_id,
        doc=doc,
        kind=side.theirs["kind"],
        key=side.theirs["key"],
        base_seq=side.base["seq"] if side.base else None,
        theirs_seq=side.theirs["seq"],
        ours_seq=side.ours["seq"] if side.ours else None,
        seq=seq,
        now=tx.now_ms,
    )
    return True


def _end_older(tx: Tx, source: Branch, doc: str, key: str, why: str, *, but: str) -> None:
    """Close the open conflicts on a key that this merge made obsolete."""
    for row in tx.all(
        sql.conflicts_open_of_key, from_id=source.branch_id, doc=doc, key=key, but=but
    ):
        seq = tx.append("memory", row["conflict_id"], "conflict_resolved", {"resolution": why})
        tx.run(
            sql.conflict_resolve,
            conflict_id=row["conflict_id"],
            resolution=why,
            seq=seq,
            now=tx.now_ms,
        )


def _preview(tx: Tx, side: Side) -> ConflictPreview:
    kind = side.theirs["kind"]
    return ConflictPreview(
        conflict_id=conflict_id_of(tx, side.theirs),
        kind=kind,
        key=key_shown(kind, side.theirs["key"]),
        status="preview",
    )


def _summary(sides: list[Side]) -> DiffSummary:
    def changed(kind: str) -> list[int]:
        return [changed_fields(s.base, s.theirs) for s in sides if s.theirs["kind"] == kind]

    nodes, edges = changed("node"), changed("edge")
    return DiffSummary(
        nodes_changed=len(nodes),
        edges_changed=len(edges),
        node_fields_changed=sum(nodes),
        edge_fields_changed=sum(edges),
    )


def _suggest(tx: Tx, conflict: ConflictPreview) -> None:
    tx.suggest(ShowConflict(conflict_id=conflict.conflict_id), "see both sides", priority="high")
    tx.suggest(
        ResolveConflict(conflict_id=conflict.conflict_id, resolution="use_from"),
        "take the branch's version",
    )
