"""Documents: append-only entries, read from the tail in pages that never repeat or lose one."""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.kernel.budget import Clip, Pop
from longhouse.kernel.clock import rfc3339
from longhouse.memory.branches import (
    ENDLESS,
    MAIN,
    Branch,
    branch_named,
    checkout,
    ensure_branch,
    sources,
)
from longhouse.memory.room import room, sql
from longhouse.memory.types import CommitNote, Entry, NoteCommitted, Page, Pagination, ShowDocument
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["append_entry", "commit_note", "show_document"]


@room.command(
    "vcs.notes.commit",
    writes=True,
    example=CommitNote(content="We chose SQLite as the default store.", title="Decision"),
    trim=[Clip("entry.content", 400)],
)
def commit_note(tx: Tx, req: CommitNote) -> NoteCommitted:
    """Append one note to the notes of a plan or task, or of a branch."""
    branch = ensure_branch(tx, req.branch or checkout(tx) or MAIN)
    entry = append_entry(
        tx, branch, req.doc or "notes", kind="note", content=req.content, title=req.title,
        format=req.format, meta=req.meta,
    )  # fmt: skip
    return NoteCommitted(entry=entry, ref=entry.ref)


@room.command(
    "docs.show",
    op="show",
    example=ShowDocument(doc_kind="notes", limit=20),
    trim=[Pop("entries", oldest="first", leave=1, cursor="seq"), Clip("entries.content", 400)],
)
def show_document(tx: Tx, req: ShowDocument) -> Page:
    """Read a page of a document, newest entries first to come, oldest first within the page."""
    doc = req.doc or req.doc_kind
    name = req.branch or checkout(tx) or MAIN
    if req.branch is None and not tx.one(sql.branch_by_name, name=name):
        return _page(name, doc, [], req)
    branch = branch_named(tx, name)
    rows: list[Row] = []
    for source, cutoff in sources(tx, branch):
        doc_id = tx.value(sql.document_id, branch_id=source.branch_id, doc=doc)
        if doc_id is not None:
            before = min(req.cursor or ENDLESS, cutoff + 1)
            want = req.limit + 1 - len(rows)
            rows += tx.all(sql.entries_before, doc_id=doc_id, before=before, limit=want)
        if len(rows) > req.limit:
            break
    return _page(name, doc, rows, req)


def append_entry(
    tx: Tx, branch: Branch, doc: str, *, kind: str, content: str, title: str | None = None,
    format: str | None = None, meta: dict[str, Any] | None = None,
    source_event_id: str | None = None,
) -> Entry:  # fmt: skip
    """Append one entry and its log row."""
    doc_id = tx.value(sql.document_id, branch_id=branch.branch_id, doc=doc)
    if doc_id is None:
        doc_id = tx.value(sql.document_add, branch_id=branch.branch_id, doc=doc)
    seq = tx.append("memory", doc, kind, {"branch": branch.name, "title": title})
    tx.run(
        sql.entry_add, seq=seq, doc_id=doc_id, ts_ms=tx.now_ms, kind=kind, title=title,
        format=format, meta=msgspec.json.encode(meta).decode() if meta is not None else None,
        content=content, source_event_id=source_event_id,
    )  # fmt: skip
    return Entry(
        seq=seq, ts=tx.now, ts_ms=tx.now_ms, branch=branch.name, doc=doc, kind=kind, title=title,
        format=format, meta=meta, content=content,
    )  # fmt: skip


def entry_from(row: Row, branch: str, doc: str) -> Entry:
    meta = msgspec.json.decode(row["meta"]) if row["meta"] else None
    return Entry(
        seq=row["seq"], ts=rfc3339(row["ts_ms"]), ts_ms=row["ts_ms"], branch=branch, doc=doc,
        kind=row["kind"], title=row["title"], format=row["format"], meta=meta,
        content=row["content"],
    )  # fmt: skip


def _page(branch: str, doc: str, rows: list[Row], req: ShowDocument) -> Page:
    """The newest rows that fit the page, oldest first, and where the next page starts."""
    shown = rows[: req.limit]
    has_more = len(rows) > req.limit
    return Page(
        branch=branch,
        doc=doc,
        entries=[entry_from(row, branch, doc) for row in reversed(shown)],
        pagination=Pagination(
            cursor=req.cursor,
            next_cursor=shown[-1]["seq"] if has_more else None,
            has_more=has_more,
            limit=req.limit,
            count=len(shown),
        ),
    )
