"""What `open` finds in this room: `<doc>@<seq>`, an entry or a version of a node or edge."""

from __future__ import annotations

import re

import msgspec

from longhouse.kernel.clock import rfc3339
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.memory.entries import entry_from
from longhouse.memory.graph.rows import state_from
from longhouse.memory.room import room, sql
from longhouse.memory.types.documents import DocEntryOpened, Entry, ShowDocument
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["open_entry"]


@room.opens(
    "entry",
    r"(?P<doc>[^@\s]+)@(?P<seq>[0-9]{1,16})",
    "a document entry",
    "notes@123",
    mention=r"[A-Za-z][\w-]*@[0-9]{1,16}",
    general=True,
)
def open_entry(tx: Tx, req: object, match: re.Match[str]) -> DocEntryOpened:
    """One entry by its seq; it must be in the named document."""
    seq = int(match["seq"])
    row = tx.one(sql.entry_by_seq, seq=seq)
    version = None if row else tx.one(sql.version_by_seq, seq=seq)
    found = row or version
    if found is None or found["doc"] != match["doc"]:
        where = f"; seq {seq} is in {found['doc']!r}" if found else ""
        raise UnknownId(
            f"id: there is no entry {match[0]!r}{where}",
            recovery="copy a ref from docs.show, docs.search or a snapshot",
            suggest=[Suggestion(ShowDocument(doc_kind="notes"), "read the newest notes")],
        )
    entry = entry_from(row) if row else _version_entry(found)
    return DocEntryOpened(kind="doc_entry", ref=match[0], entry=entry)


def _version_entry(row: Row) -> Entry:
    """A version of a node or edge in the shape of an entry, with its fields in `meta`."""
    state = msgspec.to_builtins(state_from(row))
    return Entry(
        seq=row["seq"],
        ts=rfc3339(row["ts_ms"]),
        ts_ms=row["ts_ms"],
        branch=row["branch"],
        doc=row["doc"],
        kind=row["kind"],
        title=row["title"],
        format="graph",
        meta={k: v for k, v in state.items() if k not in ("title", "text")},
        content=row["text"] or "",
    )
