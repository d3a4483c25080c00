"""`workspace.history`: what happened, by who did it, what it is about, its kind and its time.

One call searches a bounded stretch of the log, so that a rare event in a long log takes several
calls, none of them long.
"""

from __future__ import annotations

from typing import Any

from longhouse.desk.room import room
from longhouse.desk.types.history import EventsFound, FindEvents
from longhouse.kernel.budget import Drop, Pop
from longhouse.kernel.lines import cell
from longhouse.store.tx import LogRow, Tx, sql

__all__ = ["find_events"]

STRETCH = 200_000
"""How many rows of the log one call looks at."""


def _lines(result: dict[str, Any]) -> list[str]:
    rows = [
        f"{row['subject']}@{row['seq']} {row['kind']} by={row.get('actor') or '-'}{_what(row)}"
        for row in result["rows"]
    ]
    if result["has_more"]:
        rows.append(f"MORE: before={result['next_before']}")
    return [f"history count={result['count']} back to {result['searched_to']}", *rows]


def _what(row: dict[str, Any]) -> str:
    """The title of what an event is about, or what was said, if it says so."""
    data = row.get("data") or {}
    payload = data.get("payload")
    said = {**data, **payload} if isinstance(payload, dict) else data
    names = ("title", "subject", "message", "note", "reason")
    text = next((str(said[name]) for name in names if said.get(name)), "")
    return f" | {cell(text, 120)}" if text else ""


@room.command(
    "workspace.history",
    also="workspace.log workspace.events workspace.audit workspace.activity",
    example=FindEvents(kind="created", limit=20),
    lines=_lines,
    trim=[
        Pop("rows", leave=20, cursor="seq", into="next_before"),
        Drop("rows.data"),
        Pop("rows", leave=1, cursor="seq", into="next_before"),
    ],
)
def find_events(tx: Tx, req: FindEvents) -> EventsFound:
    """Find what happened here, newest first, by actor, subject, stream, kind or time."""
    head = tx.last_seq()
    before = min(req.before if req.before is not None else head + 1, head + 1)
    floor = max(0, before - STRETCH)
    rows = tx.all(
        sql.log_found,
        before=before,
        floor=floor,
        stream=req.stream or "",
        subject=(req.subject or "").upper(),
        actor=_part(req.actor),
        kind=_part(req.kind),
        since=req.since_ms or 0,
        output=int(req.output),
        limit=req.limit + 1,
    )
    shown = [LogRow.from_row(row) for row in rows[: req.limit]]
    full = len(rows) > req.limit
    reached = shown[-1].seq if full else floor
    oldest = tx.one(sql.log_time, upto=reached) if req.since_ms and reached > 0 else None
    over = oldest is not None and oldest["ts_ms"] < (req.since_ms or 0)
    more = full or (floor > 1 and not over)
    return EventsFound(
        rows=shown,
        count=len(shown),
        has_more=more,
        next_before=reached if more else None,
        searched_to=max(1, reached),
    )


def _part(text: str | None) -> str:
    """A pattern for a part of a name, in lower case; empty for any."""
    if text is None:
        return ""
    plain = text.replace("_", " ").lower()
    for special in "!%":
        plain = plain.replace(special, f"!{special}")
    return f"%{plain}%"
