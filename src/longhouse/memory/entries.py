"""Entries: appending one, and reading a page of them from a view.

An entry never changes. A page holds the newest entries below its cursor. New entries appear only
at the top, so paging never repeats or skips one while others write.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from longhouse.kernel.clock import rfc3339
from longhouse.memory.branches import ENDLESS, Branch, View, ensure_document
from longhouse.memory.names import check_text, document_kind, target_of
from longhouse.memory.room import sql
from longhouse.memory.types.documents import Entry, Pagination
from longhouse.store.engine import Row
from longhouse.store.recall.index import Text, index_text
from longhouse.store.tx import Tx

__all__ = [
    "UNSEARCHED",
    "Appended",
    "append_entry",
    "encoded",
    "entry_from",
    "first_shown",
    "page_of",
    "paginate",
    "tail",
]


UNSEARCHED = frozenset({"task_event", "think_card"})
"""Formats of entries that repeat what is found elsewhere: as a task or job, or as a card."""


class Appended(NamedTuple):
    """The entry, and whether this call wrote it."""

    entry: Entry
    inserted: bool


def append_entry(
    tx: Tx,
    branch: Branch,
    doc: str,
    *,
    kind: str,
    content: str,
    title: str | None = None,
    format: str | None = None,
    meta: dict[str, Any] | None = None,
    source_event_id: str | None = None,
    origin_seq: int | None = None,
) -> Appended:
    """Append an entry with its log row and index words; once per `source_event_id` and document."""
    for field, value in (("content", content), ("title", title), ("format", format)):
        check_text(value, field)
    if known := _known(tx, branch, doc, source_event_id, origin_seq):
        return Appended(known, inserted=False)
    seq = tx.append("memory", doc, kind, {"branch": branch.name, "title": title})
    doc_id = ensure_document(tx, branch, doc, seq)
    committed = kind == "note" and document_kind(doc) == "notes"
    tx.run(
        sql.entry_add,
        seq=seq,
        doc_id=doc_id,
        branch_id=branch.branch_id,
        ts_ms=tx.now_ms,
        kind=kind,
        committed=int(committed),
        title=title,
        format=format,
        meta=encoded(meta),
        content=content,
        source_event_id=source_event_id,
        origin_seq=origin_seq,
    )
    if format not in UNSEARCHED:
        index_text(
            tx,
            Text(
                seq,
                kind,
                title,
                content,
                author=tx.actor,
                task=target_of(branch.name),
                doc_id=doc_id,
            ),
        )
    entry = Entry(
        seq=seq,
        ts=tx.now,
        ts_ms=tx.now_ms,
        branch=branch.name,
        doc=doc,
        kind=kind,
        title=title,
        format=format,
        meta=meta,
        content=content,
        source_event_id=source_event_id,
    )
    return Appended(entry, inserted=True)


def _known(
    tx: Tx, branch: Branch, doc: str, source_event_id: str | None, origin_seq: int | None
) -> Entry | None:
    """The entry already stored for this event or for this merged entry."""
    where = {"branch_id": branch.branch_id, "doc": doc}
    row = None
    if origin_seq is not None:
        row = tx.one(sql.entry_by_origin, origin_seq=origin_seq, **where)
    if row is None and source_event_id is not None:
        row = tx.one(sql.entry_by_source, source_event_id=source_event_id, **where)
    return entry_from(row) if row else None


def tail(
    tx: Tx, view: View, *, before: int | None, limit: int, after: dict[int, int] | None = None
) -> list[Row]:
    """At most `limit` rows of the view with seq < before, newest first.

    `after` maps a branch id to a seq; that branch's entries up to the seq are left out.
    """
    rows: list[Row] = []
    for source in view.written:
        if len(rows) >= limit:
            break
        top = min(before if before is not None else ENDLESS, source.cut + 1)
        found = tx.all(
            sql.entries_before,
            doc_id=source.doc_id,
            before=top,
            limit=limit - len(rows),
            after=(after or {}).get(source.branch_id, 0),
        )
        rows += [{**row, "branch": source.name, "doc": view.doc} for row in found]
    return rows


def first_shown(tx: Tx, view: View, seqs: Iterable[int]) -> int | None:
    """The first of these entries that the view shows."""
    for seq in seqs:
        for source in view.written:
            if seq <= source.cut and tx.value(sql.entry_of_doc, doc_id=source.doc_id, seq=seq):
                return seq
    return None


def page_of(
    tx: Tx, view: View, *, cursor: int | None, limit: int
) -> tuple[list[Entry], Pagination]:
    """One page, in ascending order, and its pagination."""
    rows = tail(tx, view, before=cursor, limit=limit + 1)
    page = paginate([row["seq"] for row in rows], cursor=cursor, limit=limit)
    return [entry_from(row) for row in reversed(rows[:limit])], page


def paginate(
    seqs: list[int], *, cursor: int | None, limit: int, as_of: int | None = None
) -> Pagination:
    """The pagination for rows with these `seqs`, which hold one extra if there is another page."""
    has_more = len(seqs) > limit
    return Pagination(
        cursor=cursor,
        next_cursor=seqs[limit - 1] if has_more and limit else None,
        has_more=has_more,
        limit=limit,
        count=min(len(seqs), limit),
        as_of=as_of,
    )


def entry_from(row: Row) -> Entry:
    return Entry(
        seq=row["seq"],
        ts=rfc3339(row["ts_ms"]),
        ts_ms=row["ts_ms"],
        branch=row["branch"],
        doc=row["doc"],
        kind=row["kind"],
        title=row["title"],
        format=row["format"],
        meta=msgspec.json.decode(row["meta"]) if row["meta"] else None,
        content=row["content"],
        source_event_id=row["source_event_id"],
    )


def encoded(meta: dict[str, Any] | None) -> str | None:
    """A caller's object as stored text; equal objects give equal text."""
    if meta is None:
        return None
    text = msgspec.json.encode(meta, order="deterministic").decode()
    check_text(text, "meta")
    return text
