"""What happened: to all work since an event, or to one plan or task."""

from __future__ import annotations

from typing import Any

from longhouse.kernel.budget import Drop, Pop
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.store.tx import LogRow, Tx
from longhouse.work.cells import cell
from longhouse.work.lookup import entity_of, is_plan
from longhouse.work.organism import event_from
from longhouse.work.room import room, sql
from longhouse.work.types.entities import Event
from longhouse.work.types.views import Delta, GetDelta, GetHistory, History

__all__ = [
    "timeline",
]

_ENDLESS = 2**62


def _delta_lines(result: dict[str, Any]) -> list[str]:
    more = [f"MORE: since={result['next_since']}"] if result["has_more"] else []
    return [f"delta count={result['count']}", *map(event_line, result["events"]), *more]


def event_line(event: dict[str, Any]) -> str:
    """`evt_… TASK-001 s:0 step_done | by amber-otter`"""
    said = event.get("payload", {})
    what = next((str(said[k]) for k in ("note", "reason", "title", "status") if said.get(k)), "")
    parts = [f"{event['event_id']} {event['task']} {event.get('path', '')} {event['type']}"]
    if what:
        parts.append(cell(what, 80))
    if event.get("actor"):
        parts.append(f"by {event['actor']}")
    return " | ".join(parts)


@room.command(
    "tasks.delta",
    example=GetDelta(limit=20),
    lines=_delta_lines,
    trim=[Drop("events.payload"), Pop("events", leave=1, cursor="event_id", into="next_since")],
)
def get_delta(tx: Tx, req: GetDelta) -> Delta:
    """What happened to plans and tasks since an event, oldest first."""
    after = int(req.since.removeprefix("evt_")) if req.since else 0
    if after > tx.last_seq():
        raise UnknownId(
            f"since: there is no {req.since} yet",
            recovery="leave since out to begin with the oldest event",
            suggest=[Suggestion(GetDelta(), "begin with the oldest event")],
        )
    rows = tx.all(sql.events_after, after=after, limit=req.limit + 1)
    shown = [event_from(LogRow.from_row(row)) for row in rows[: req.limit]]
    return Delta(
        events=shown,
        count=len(shown),
        has_more=len(rows) > req.limit,
        next_since=shown[-1].event_id if shown else req.since,
    )


def _history_lines(result: dict[str, Any]) -> list[str]:
    more = [f"MORE: cursor={result['next_cursor']}"] if result["has_more"] else []
    head = f"history {result['id']} count={result['count']}"
    return [head, *map(event_line, result["operations"]), *more]


@room.command(
    "tasks.history",
    example=GetHistory(task="TASK-001"),
    lines=_history_lines,
    trim=[Drop("operations.payload"), Pop("operations", leave=1, cursor="seq")],
)
def get_history(tx: Tx, req: GetHistory) -> History:
    """What was done to a plan or task, newest first."""
    row = entity_of(tx, req)
    entity = row["plan_id"] if is_plan(row) else row["task_id"]
    rows = timeline(tx, entity, req.limit + 1, before=req.cursor or _ENDLESS)
    shown = rows[: req.limit]
    more = len(rows) > req.limit
    return History(
        id=entity,
        operations=shown,
        count=len(shown),
        has_more=more,
        next_cursor=shown[-1].seq if more else None,
    )


def timeline(tx: Tx, entity: str, limit: int, *, before: int = _ENDLESS) -> list[Event]:
    """The newest events of a plan or task, newest first."""
    rows = tx.all(sql.events_of_before, subject=entity, before=before, limit=limit)
    return [event_from(LogRow.from_row(row)) for row in rows]
