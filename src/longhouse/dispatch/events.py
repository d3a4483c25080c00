"""One log row as it leaves the house: the same for `/events`, the SDK and the command line.

Secrets are hidden in every field, `subject`, `ref` and `actor` as well as `data`, and an event is
bounded: one that is too large keeps everything but its data and says `clipped`.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import msgspec

from longhouse.kernel.redact import is_suspect, redact
from longhouse.store.engine import Row
from longhouse.store.tx import Tx, sql

__all__ = ["EVENT_BYTES", "PAGE_ROWS", "Frame", "event_of", "frame_of", "log_page", "sse"]

PAGE_ROWS = 500
EVENT_BYTES = 64 * 1024

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}\Z")


class Frame(NamedTuple):
    """One event as bytes for the wire, with what followers filter by."""

    seq: int
    stream: str
    subject: str
    wire: bytes


def event_of(row: Row) -> dict[str, Any]:
    """A row of the log as callers get it."""
    return _event(row)[0]


def frame_of(row: Row) -> Frame:
    """The same as one server-sent event: `id` is its seq, `event` its stream."""
    _, data = _event(row)
    return Frame(row["seq"], row["stream"], row["subject"], sse(row["stream"], row["seq"], data))


def sse(name: str, seq: int, data: bytes) -> bytes:
    """JSON as a server-sent event; a name that the format cannot carry becomes `log`."""
    name = name if _NAME.match(name) else "log"
    return b"id: %d\nevent: %s\ndata: %s\n\n" % (seq, name.encode(), data)


def log_page(tx: Tx, after: int, limit: int, subject: str | None = None) -> tuple[list[Row], int]:
    """Rows past `after`, and the seq up to which this look has seen everything."""
    if subject is None:
        rows = tx.all(sql.log_after, after=after, limit=limit)
    else:
        rows = tx.all(sql.log_of_subject_after, after=after, limit=limit, subject=subject)
    return rows, rows[-1]["seq"] if len(rows) == limit else tx.last_seq()


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
