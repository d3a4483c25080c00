"""Conflicts: listing, showing and resolving them. A conflict is resolved once.

Resolving makes the incoming version the merge base of its key, so the same change cannot conflict
again, while a later change is compared with the new base.
"""

from __future__ import annotations

import re

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import Conflict as ConflictError
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.memory.branches import ENDLESS, NOW, branch_named, find_branch, view_of
from longhouse.memory.entries import paginate
from longhouse.memory.graph.apply import drafts_of, write_versions
from longhouse.memory.graph.room import sql
from longhouse.memory.graph.rows import key_shown, same, shown
from longhouse.memory.graph.view import visible
from longhouse.memory.room import room
from longhouse.memory.room import sql as memory_sql
from longhouse.memory.types.graph import (
    ConflictList,
    ConflictOpened,
    ConflictResolved,
    ConflictRow,
    ConflictShown,
    ListConflicts,
    MergeConflict,
    ResolveConflict,
    ShowConflict,
)
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["list_conflicts", "open_conflict", "resolve_conflict", "show_conflict"]


@room.command(
    "graph.conflicts",
    also="graph.conflict.list",
    example=ListConflicts(into="main", status="open"),
    trim=[Pop("conflicts", leave=1, cursor="seq")],
)
def list_conflicts(tx: Tx, req: ListConflicts) -> ConflictList:
    """List conflicts of merges into a branch, newest first."""
    view_of(tx, req.into, req.doc, field="into")
    into = find_branch(tx, req.into)
    cut = NOW if req.as_of is None else req.as_of
    before = min(req.cursor if req.cursor is not None else ENDLESS, cut + 1)
    rows: list[Row] = []
    if into is not None:
        asked = {"into_id": into.branch_id, "doc": req.doc, "before": before}
        if req.status == "open" and req.as_of is None:
            rows = tx.all(sql.conflicts_open, limit=req.limit + 1, **asked)
        else:
            rows = tx.all(
                sql.conflicts_listed,
                status=req.status or "any",
                cut=cut,
                limit=req.limit + 1,
                **asked,
            )
    return ConflictList(
        into=req.into,
        doc=req.doc,
        conflicts=[
            ConflictRow(
                conflict_id=row["conflict_id"],
                kind=row["kind"],
                key=key_shown(row["kind"], row["key"]),
                from_=row["from_name"],
                status=_status(row, cut),
                created_at_ms=row["created_at_ms"],
                seq=row["created_seq"],
            )
            for row in rows[: req.limit]
        ],
        pagination=paginate([r["created_seq"] for r in rows], cursor=req.cursor, limit=req.limit),
    )


@room.command(
    "graph.conflict.show",
    example=ShowConflict(conflict_id="CONFLICT-" + "0" * 32),
    trim=[
        Clip("conflict.base.text", 400),
        Clip("conflict.theirs.text", 400),
        Clip("conflict.ours.text", 400),
        Drop("conflict.base.meta"),
        Drop("conflict.theirs.meta"),
        Drop("conflict.ours.meta"),
    ],
)
def show_conflict(tx: Tx, req: ShowConflict) -> ConflictShown:
    """Show both sides of a conflict and their common base."""
    row = _found(tx, req.conflict_id)
    if req.as_of is not None and row["created_seq"] > req.as_of:
        raise _unknown(req.conflict_id)
    cut = NOW if req.as_of is None else req.as_of
    if _status(row, cut) == "open":
        _suggest(tx, row)
    return ConflictShown(conflict=_conflict(tx, row, cut))


@room.opens("conflict", r"CONFLICT-[0-9a-f]{32}", "a conflict", f"CONFLICT-{'0a' * 16}")
def open_conflict(tx: Tx, req: object, match: re.Match[str]) -> ConflictOpened:
    """A conflict with its base and both sides."""
    row = _found(tx, match[0])
    return ConflictOpened(kind="conflict", id=match[0], conflict=_conflict(tx, row, NOW))


@room.command(
    "graph.conflict.resolve",
    also="resolve",
    writes=True,
    example=ResolveConflict(conflict_id="CONFLICT-" + "0" * 32, resolution="use_from"),
)
def resolve_conflict(tx: Tx, req: ResolveConflict) -> ConflictResolved:
    """Resolve a conflict: take the branch's version, or keep the destination's."""
    row = _found(tx, req.conflict_id)
    seq = tx.append("memory", req.conflict_id, "conflict_resolved", {"resolution": req.resolution})
    decided = tx.one(
        sql.conflict_resolve,
        conflict_id=req.conflict_id,
        resolution=req.resolution,
        seq=seq,
        now=tx.now_ms,
    )
    if decided is None:
        raise ConflictError(
            f"conflict_id: {req.conflict_id} is already resolved, as {row['resolution']}",
            recovery="to change the outcome, write the state you want with graph.apply",
        )
    theirs = _version(tx, row["theirs_seq"])
    assert theirs is not None
    ref = None
    if req.resolution == "use_from":
        ref = _take(tx, row, theirs)
    own = view_of(tx, row["from_name"], row["doc"]).sources[0]
    tx.run(sql.merge_base_set, doc_id=own.doc_id, key=row["key"], seq=theirs["seq"])
    return ConflictResolved(
        conflict_id=req.conflict_id, status="resolved", applied=ref is not None, ref=ref
    )


def _take(tx: Tx, row: Row, theirs: Row) -> str:
    """Write the branch's side into the destination as a new version; returns its ref."""
    into = branch_named(tx, row["into_name"], field="into")
    now = visible(tx, view_of(tx, into.name, row["doc"]), [row["key"]]).get(row["key"])
    if not same(now, _version(tx, row["ours_seq"])):
        tx.warn(
            "DESTINATION_MOVED",
            f"{into.name} changed {row['key']!r} after the conflict; that change was replaced",
            "read the earlier version with graph.query as_of",
        )
    seq = write_versions(tx, into, row["doc"], drafts_of([theirs]))
    tx.append(
        "memory",
        row["doc"],
        "graph_merged",
        {"branch": into.name, "from": row["from_name"], "first_seq": seq, "merged": 1},
        seq=seq,
    )
    return f"{row['doc']}@{seq}"


def _conflict(tx: Tx, row: Row, cut: int) -> MergeConflict:
    resolved = _status(row, cut) == "resolved"
    return MergeConflict(
        conflict_id=row["conflict_id"],
        kind=row["kind"],
        key=key_shown(row["kind"], row["key"]),
        from_=row["from_name"],
        into=row["into_name"],
        doc=row["doc"],
        status="resolved" if resolved else "open",
        resolution=row["resolution"] if resolved else None,
        base=shown(_version(tx, row["base_seq"])),
        theirs=shown(_version(tx, row["theirs_seq"])),
        ours=shown(_version(tx, row["ours_seq"])),
        created_at_ms=row["created_at_ms"],
        resolved_at_ms=row["resolved_at_ms"] if resolved else None,
    )


def _version(tx: Tx, seq: int | None) -> Row | None:
    return tx.one(memory_sql.version_by_seq, seq=seq) if seq is not None else None


def _status(row: Row, cut: int) -> str:
    return "resolved" if row["resolved_seq"] is not None and row["resolved_seq"] <= cut else "open"


def _found(tx: Tx, conflict_id: str) -> Row:
    row = tx.one(sql.conflict_by_id, conflict_id=conflict_id)
    if row is None:
        raise _unknown(conflict_id)
    return row


def _unknown(conflict_id: str) -> UnknownId:
    return UnknownId(
        f"conflict_id: there is no {conflict_id}",
        recovery="list conflicts with graph.conflicts",
        suggest=[Suggestion(ListConflicts(into="main"), "list conflicts of merges into main")],
    )


def _suggest(tx: Tx, row: Row) -> None:
    for resolution, why in (
        ("use_from", f"take the version of {row['from_name']}"),
        ("use_into", f"keep the version of {row['into_name']}"),
    ):
        tx.suggest(
            ResolveConflict(conflict_id=row["conflict_id"], resolution=resolution),  # type: ignore[arg-type]
            why,
            action_id=f"resolve::{resolution}",
        )
