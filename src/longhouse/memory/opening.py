"""What `open` finds in this room: `<doc>@<seq>`."""

from __future__ import annotations

import re

from longhouse.kernel.errors import UnknownId
from longhouse.memory.documents import entry_from
from longhouse.memory.room import room, sql
from longhouse.memory.types import DocEntryOpened
from longhouse.store.tx import Tx

__all__ = ["open_entry"]


@room.opens(r"(?!JOB-)(?P<doc>[^@\s]+)@(?P<seq>[0-9]{1,16})", "a document entry, like notes@123")
def open_entry(tx: Tx, req: object, match: re.Match[str]) -> DocEntryOpened:
    """One entry by its seq; the document named must be the one it is in."""
    row = tx.one(sql.entry_by_seq, seq=int(match["seq"]))
    if row is None or row["doc"] != match["doc"]:
        where = f"; seq {match['seq']} is in {row['doc']!r}" if row else ""
        raise UnknownId(
            f"id: there is no entry {match[0]!r}{where}",
            recovery="copy a ref from docs.show or from a snapshot",
        )
    return DocEntryOpened(
        kind="doc_entry", ref=match[0], entry=entry_from(row, row["branch"], row["doc"])
    )
