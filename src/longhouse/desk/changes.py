"""What others did since a caller last asked: a bounded part of the log, one short line per change.

The mark is kept per caller and moves only on calls that are allowed to move it. Each call reads a
bounded part and moves the mark to its end, so nothing is skipped no matter how much happened.
"""

from __future__ import annotations

import re

from longhouse.desk.types.status import Happening, Happenings
from longhouse.kernel.lines import cell
from longhouse.kernel.refs import seq_ref
from longhouse.memory import mark_seen, seen_seq
from longhouse.store.tx import LogRow, Tx, sql

__all__ = ["changes_since", "look", "unseen"]

SHOWN = 20
STRETCH = 200
MOST_COUNTED = 100
_MAIL = ("message", "HANDOFF", "BLOCKED", "INFO", "DECISION")
_REPEATS = ("event", "focus", "checkout")
_OF_WORK = re.compile(r"(TASK|PLAN)-[0-9]+-graph\Z")
_SAID = ("message", "subject", "title", "note", "reason", "summary", "status", "scope")


def look(tx: Tx, since: int | None, *, moves: bool) -> Happenings:
    """What others did after `since`, or since the caller last asked; `moves` marks it as seen.

    A caller that asks for the first time counts as having seen everything so far.
    """
    after = seen_seq(tx) if since is None else since
    if after is None:
        after = tx.last_seq()
    found = changes_since(tx, after)
    if moves:
        mark_seen(tx, found.until)
    return found


def unseen(tx: Tx, after: int) -> int:
    """How many changes others made after a seq, among the next hundred rows of the log."""
    rows = tx.all(sql.log_after, after=after, limit=MOST_COUNTED)
    return sum(_counts(tx, LogRow.from_row(row)) for row in rows)


def changes_since(tx: Tx, after: int) -> Happenings:
    """A bounded part of the log after a seq, newest first, without the caller's own changes."""
    rows = [LogRow.from_row(row) for row in tx.all(sql.log_after, after=after, limit=STRETCH + 1)]
    stretch = rows[:STRETCH]
    told = [_told(row) for row in reversed(stretch) if _counts(tx, row)]
    return Happenings(
        since=after,
        until=stretch[-1].seq if stretch else after,
        changes=told[:SHOWN],
        count=len(told),
        has_more=len(rows) > STRETCH,
    )


def _counts(tx: Tx, row: LogRow) -> bool:
    """Whether a row counts: made by another caller, and not a trace or graph copy of an event."""
    own = row.actor is not None and row.actor == tx.actor
    repeats = row.kind in _REPEATS or (row.kind == "graph" and _OF_WORK.match(row.subject))
    return not own and not (row.stream == "memory" and repeats)


def _told(row: LogRow) -> Happening:
    data = {**row.data, **row.data.get("payload", {})}
    said = next((str(data[name]) for name in _SAID if data.get(name)), "")
    what = f"{row.subject} {row.kind}" + (f": {cell(said, 100)}" if said else "")
    return Happening(ref=_ref(row), what=what, by=row.actor)


def _ref(row: LogRow) -> str | None:
    """The ref that `open` accepts for this row, if it is a record of its own."""
    if row.stream == "crew":
        shape = "msg" if row.kind in _MAIL else "res" if row.kind == "reserved" else None
        return shape and f"{shape}_{row.seq}"
    if row.stream in ("work", "jobs") or (row.stream == "memory" and row.kind == "note"):
        return seq_ref(row.subject, row.seq)
    return None
