"""Log rows as events, identical for `/events`, the SDK and the command line.

Secrets are hidden in every field: `subject`, `ref` and `actor` as well as `data`. The size of an
event is bounded: one that is too large loses its data and says `clipped`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from longhouse.kernel.redact import is_suspect, redact
from longhouse.store.engine import Row
from longhouse.store.tx import Tx, sql

__all__ = [
    "EVENT_BYTES",
    "PAGE_ROWS",
    "Filter",
    "Frame",
    "event_of",
    "frame_of",
    "log_page",
    "log_stretch",
    "refuse_namesake",
    "sse",
]

PAGE_ROWS = 500
"""How many rows of the log one read returns at most."""
STRETCH_SEQS = 20_000
"""The maximum length of log that one read of a stretch scans."""
EVENT_BYTES = 64 * 1024

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")


class Frame(NamedTuple):
    """One event as bytes for the wire, with the fields that followers filter by."""

    seq: int
    stream: str
    subject: str
    wire: bytes


class Filter(NamedTuple):
    """Which rows a reader wants; empty means all.

    A row whose kind is in `newest` is wanted only if no later row has the same stream, subject and
    kind. Only a read with an end (`log_stretch`) can tell.
    """

    streams: frozenset[str] = frozenset()
    subject: str | None = None
    newest: frozenset[str] = frozenset()

    @property
    def everything(self) -> bool:
        return not self.streams and self.subject is None

    def takes(self, frame: Frame) -> bool:
        return (not self.streams or frame.stream in self.streams) and (
            self.subject is None or frame.subject == self.subject
        )


def event_of(row: Row) -> dict[str, Any]:
    """A row of the log as callers receive it."""
    return _event(row)[0]


def frame_of(row: Row) -> Frame:
    """The same as one server-sent event: `id` is its seq, `event` its stream."""
    _, data = _event(row)
    return Frame(row["seq"], row["stream"], row["subject"], sse(row["stream"], row["seq"], data))


def sse(name: str, seq: int, data: bytes) -> bytes:
    """JSON as a server-sent event; a name that the format cannot carry becomes `log`."""
    name = name if _NAME.match(name) else "log"
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, name.encode(), data)


def refuse_namesake(tx: Tx) -> None:
    """Refuse the log of another project's workspace that has the name of this project's."""
    if tx.facts.shares_database:
        from longhouse.store.projects import settle_project

        settle_project(tx)


def log_page(tx: Tx, after: int, limit: int, subject: str | None = None) -> tuple[list[Row], int]:
    """Rows after `after`, and the seq up to which the log has now been read."""
    if subject is None:
        rows = tx.all(sql.log_after, after=after, limit=limit)
    else:
        rows = tx.all(sql.log_of_subject_after, after=after, limit=limit, subject=subject)
    return rows, rows[-1]["seq"] if len(rows) == limit else tx.last_seq()


def log_stretch(tx: Tx, after: int, until: int, wanted: Filter) -> tuple[list[Row], int]:
    """Wanted rows after `after` and up to `until`, and the seq up to which this read got."""
    upto = min(after + STRETCH_SEQS, until)
    rows = tx.all(
        sql.log_stretch,
        after=after,
        upto=upto,
        streams=_list(sorted(wanted.streams)),
        subject=wanted.subject or "",
        newest=_list(sorted(wanted.newest)),
        until=until,
        limit=PAGE_ROWS,
    )
    return rows, rows[-1]["seq"] if len(rows) == PAGE_ROWS else upto


def _list(values: list[str]) -> str:
    return msgspec.json.encode(values).decode()


def _event(row: Row) -> tuple[dict[str, Any], bytes]:
    data = msgspec.json.decode(row["data"])
    event = {**row, "ref": f"{row['subject']}@{row['seq']}", "data": data}
    raw = msgspec.json.encode(event)
    if is_suspect(raw):
        event = redact(event)
        raw = msgspec.json.encode(event)
    if len(raw) > EVENT_BYTES:
        event = {**event, "data": {}, "clipped": True}
        raw = msgspec.json.encode(event)
    return event, raw
