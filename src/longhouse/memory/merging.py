"""Comparing and merging documents: finding the notes a branch lacks and copying them over.

A merge copies notes and leaves both histories intact. A copy records the entry it came from,
through any number of merges and renames, so no note is copied twice or copied back to its origin.
"""

from __future__ import annotations

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import InvalidInput, MergeNotSupported
from longhouse.memory.branches import View, branch_named, ensure_branch, view_of
from longhouse.memory.entries import append_entry, entry_from, paginate, tail
from longhouse.memory.room import room, sql
from longhouse.memory.types.documents import (
    DiffDocument,
    DocumentDiff,
    DocumentsMerged,
    MergeDocuments,
)
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["base_of", "diff_documents", "merge_documents", "shared_with"]


def shared_with(view: View, other: View) -> dict[int, int]:
    """For each branch the two views share, the newest seq that both show."""
    seen = {source.branch_id: source.cut for source in other.sources}
    return {
        source.branch_id: min(source.cut, seen[source.branch_id])
        for source in view.sources
        if source.branch_id in seen
    }


def base_of(tx: Tx, name: str) -> str:
    """The name of the branch that a branch derives from, or MergeNotSupported."""
    branch = branch_named(tx, name, field="from")
    row = tx.one(sql.branch_base, branch_id=branch.branch_id)
    if row is None:
        raise MergeNotSupported(
            f"from: {branch.name!r} has no base to merge back into",
            recovery="name a derived branch; vcs.branch.list shows the base of each",
        )
    return str(row["name"])


@room.command(
    "docs.diff",
    also="compare notes.diff vcs.diff",
    op="diff",
    example=DiffDocument(from_="main", to="main"),
    trim=[
        Pop("entries", oldest="first", leave=1, cursor="seq"),
        Clip("entries.content", 400),
        Drop("entries.meta"),
        Clip("entries.content", 80),
    ],
)
def diff_documents(tx: Tx, req: DiffDocument) -> DocumentDiff:
    """List entries of a document that `to` shows and `from` lacks."""
    seen = view_of(tx, req.from_, req.doc, req.as_of, field="from")
    view = view_of(tx, req.to, req.doc, req.as_of, field="to")
    rows = tail(tx, view, before=req.cursor, limit=req.limit + 1, after=shared_with(view, seen))
    return DocumentDiff(
        from_=req.from_,
        to=req.to,
        doc=req.doc,
        entries=[entry_from(row) for row in reversed(rows[: req.limit])],
        pagination=paginate([r["seq"] for r in rows], cursor=req.cursor, limit=req.limit),
    )


@room.command(
    "docs.merge",
    also="notes.merge join vcs.merge",
    op="merge",
    writes=True,
    idempotent=True,
    example=MergeDocuments(from_="main", into="main", dry_run=True),
)
def merge_documents(tx: Tx, req: MergeDocuments) -> DocumentsMerged:
    """Copy the notes of one branch into another, by default its base; each only once."""
    into_name = _destination(tx, req)
    origin = view_of(tx, req.from_, req.doc, field="from")
    known = view_of(tx, into_name, req.doc, field="into")
    rows = tail(
        tx, origin, before=req.cursor, limit=req.limit + 1, after=shared_with(origin, known)
    )
    page = rows[: req.limit]
    notes = [row for row in reversed(page) if row["kind"] == "note"]
    fresh = [row for row in notes if not _is_there(tx, known, row)]
    if not req.dry_run:
        into = ensure_branch(tx, into_name, field="into")
        for row in fresh:
            entry = entry_from(row)
            append_entry(
                tx,
                into,
                req.doc,
                kind="note",
                content=entry.content,
                title=entry.title,
                format=entry.format,
                meta=entry.meta,
                source_event_id=f"merge:{entry.branch}:{entry.seq}",
                origin_seq=_root(row),
            )
    return DocumentsMerged(
        from_=req.from_,
        into=into_name,
        doc=req.doc,
        merged=len(fresh),
        skipped=len(notes) - len(fresh),
        dry_run=req.dry_run,
        pagination=paginate([r["seq"] for r in rows], cursor=req.cursor, limit=req.limit),
    )


def _destination(tx: Tx, req: MergeDocuments) -> str:
    if req.into is None or req.merge_to_base:
        base = base_of(tx, req.from_)
        if req.into not in (None, base):
            raise InvalidInput(
                f"into: the base of {req.from_!r} is {base!r}, not {req.into!r}",
                recovery="pass into or merge_to_base, not both",
            )
        return base
    return req.into


def _root(row: Row) -> int:
    """The original entry that all copies of a note trace back to."""
    return int(row["origin_seq"] or row["seq"])


def _is_there(tx: Tx, view: View, row: Row) -> bool:
    """Whether the view already shows this note or a copy of it."""
    root = _root(row)
    for source in view.written:
        seqs = (
            tx.value(sql.entry_of_doc, doc_id=source.doc_id, seq=root),
            tx.value(sql.copy_in_doc, doc_id=source.doc_id, origin_seq=root),
        )
        if any(seq is not None and seq <= source.cut for seq in seqs):
            return True
    return False
