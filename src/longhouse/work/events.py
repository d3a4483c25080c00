"""Events of plans and tasks: recorded as event, trace, graph and note; read as delta and history.

One call records all of them in the caller's transaction, on the branch of the plan or task. An
event is recorded only once.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from longhouse.kernel.budget import Drop, Pop
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.kernel.lines import cell
from longhouse.kernel.refs import seq_ref
from longhouse.memory import append_entry, ensure_branch, reasoning_ref
from longhouse.memory.graph import apply_ops
from longhouse.memory.types.graph import EdgeDelete, EdgeUpsert, NodeDelete, NodeUpsert, Op
from longhouse.store.engine import Row
from longhouse.store.tx import LogRow, Tx
from longhouse.work.documenting import index_work
from longhouse.work.lookup import entity_of, is_plan
from longhouse.work.projections import count_event
from longhouse.work.room import room, sql
from longhouse.work.states import CLOSED
from longhouse.work.types.entities import Event, Step, event_id
from longhouse.work.types.views import Delta, GetDelta, GetHistory, History

__all__ = [
    "STREAM",
    "event_from",
    "gone_ops",
    "gone_task_ops",
    "happened",
    "last_acted_on",
    "step_ops",
    "task_ops",
    "timeline",
]

NEWEST = 500
"""How many events are searched for what somebody did last."""


STREAM = "work"


def _offer_radar(tx: Tx, entity: str) -> None:
    """Suggest the radar as the next call after a change."""
    from longhouse.work.types.views import GetRadar

    look = GetRadar(plan=entity) if entity.startswith("PLAN-") else GetRadar(task=entity)
    why = "see the next step and when it counts as done"
    tx.suggestions.append(Suggestion(look, why, priority="medium", fallback=True))


def happened(
    tx: Tx,
    entity: str,
    kind: str,
    payload: dict[str, Any] | None = None,
    *,
    path: str | None = None,
    step: Step | None = None,
    graph: Sequence[Op] = (),
    note: str | None = None,
    counted: bool = True,
) -> Event:
    """Record an event of a plan, task or step in the log, trace, graph and notes.

    Step leases expire by the number of `counted` events; focus changes and events of other rooms
    are not counted.
    """
    data: dict[str, Any] = {"payload": payload or {}}
    if path is not None:
        data["path"] = path
    if step is not None:
        data["step_id"] = step.step_id
    seq = tx.append(STREAM, entity, kind, data)
    if counted:
        count_event(tx)
    event = event_from(
        LogRow(
            seq=seq,
            ts_ms=tx.now_ms,
            stream=STREAM,
            subject=entity,
            kind=kind,
            actor=tx.actor,
            data=data,
        )
    )
    if counted:
        index_work(tx, entity, seq)
    if counted and not kind.endswith("_deleted"):
        _offer_radar(tx, entity)
    ref = reasoning_ref(entity)
    branch = ensure_branch(tx, ref.branch)
    where = {"task_id": entity, "path": path, "event_id": event.event_id}
    if step is not None:
        where["step_id"] = step.step_id
    append_entry(
        tx,
        branch,
        ref.trace_doc,
        kind="event",
        title=kind,
        format="task_event",
        content=msgspec.json.encode(event.payload).decode(),
        source_event_id=event.event_id,
        meta={**where, "type": kind},
    )
    if graph:
        apply_ops(tx, branch, ref.graph_doc, graph, internal=True, only_changes=True)
    if note is not None:
        append_entry(
            tx,
            branch,
            ref.notes_doc,
            kind="note",
            content=note,
            source_event_id=event.event_id,
            title=f"{entity} {path}" if path else entity,
            meta={**where, "source": "tasks_note", "note_seq": seq}
            | ({"step": {k: where[k] for k in ("task_id", "step_id", "path")}} if step else {}),
        )
    return event


def event_from(row: LogRow) -> Event:
    """The event in a log row of this room."""
    return Event(
        event_id=event_id(row.seq),
        seq=row.seq,
        ts=rfc3339(row.ts_ms),
        ts_ms=row.ts_ms,
        task=row.subject,
        path=row.data.get("path"),
        type=row.kind,
        actor=row.actor,
        payload=row.data.get("payload", {}),
        ref=seq_ref(row.subject, row.seq),
    )


def task_ops(row: Row) -> list[Op]:
    """The task as a node in its own graph."""
    return [
        NodeUpsert(
            id=f"task:{row['task_id']}",
            type="task",
            title=row["title"],
            text=row["description"],
            status="done" if row["status"] in CLOSED else "open",
            meta={"status": row["status"], "plan": row["plan_id"]},
        )
    ]


def step_ops(step: Step) -> list[Op]:
    """The step as a node, with an edge from its parent."""
    node = f"step:{step.step_id}"
    status = "done" if step.completed else "open"
    return [
        NodeUpsert(id=node, type="step", title=step.title, status=status),
        EdgeUpsert(from_=_above(step), rel="contains", to=node),
    ]


def last_acted_on(tx: Tx, actor: str) -> list[str]:
    """The tasks that an actor changed lately, latest first."""
    rows = tx.all(sql.acted_on_last, actor=actor, newest=NEWEST, limit=5)
    return [row["subject"] for row in rows]


def gone_ops(steps: Sequence[Step]) -> list[Op]:
    """Delete the nodes and edges of removed steps."""
    ops: list[Op] = []
    for step in steps:
        node = f"step:{step.step_id}"
        ops += [EdgeDelete(from_=_above(step), rel="contains", to=node), NodeDelete(id=node)]
    return ops


def gone_task_ops(task_id: str, steps: Sequence[Step]) -> list[Op]:
    """Delete the nodes of a removed task, its steps first."""
    return [*gone_ops(steps), NodeDelete(id=f"task:{task_id}")]


def _above(step: Step) -> str:
    return f"step:{step.parent_id}" if step.parent_id else f"task:{step.task_id}"


_ENDLESS = 2**62


def _delta_lines(result: dict[str, Any]) -> list[str]:
    more = [f"MORE: since={result['next_since']}"] if result["has_more"] else []
    return [f"delta count={result['count']}", *map(event_line, result["events"]), *more]


def event_line(event: dict[str, Any]) -> str:
    """`evt_… TASK-001@38 s:0 step_done | by amber-otter`"""
    said = event.get("payload", {})
    what = next((str(said[k]) for k in ("note", "reason", "title", "status") if said.get(k)), "")
    parts = [f"{event['event_id']} {event['ref']} {event.get('path', '')} {event['type']}"]
    if what:
        parts.append(cell(what, 80))
    if event.get("actor"):
        parts.append(f"by {event['actor']}")
    return " | ".join(parts)


@room.command(
    "tasks.delta",
    also="changes since events diff",
    example=GetDelta(limit=20),
    lines=_delta_lines,
    trim=[Drop("events.payload"), Pop("events", leave=1, cursor="event_id", into="next_since")],
)
def get_delta(tx: Tx, req: GetDelta) -> Delta:
    """List events of plans and tasks since a given event, oldest first."""
    after = int(req.since.removeprefix("evt_")) if req.since else 0
    if after > tx.last_seq():
        raise UnknownId(
            f"since: there is no {req.since} yet",
            recovery="leave since out to start with the oldest event",
            suggest=[Suggestion(GetDelta(), "start with the oldest event")],
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
    also="log timeline audit events activity changelog journal",
    example=GetHistory(task="TASK-001"),
    lines=_history_lines,
    trim=[Drop("operations.payload"), Pop("operations", leave=1, cursor="seq")],
)
def get_history(tx: Tx, req: GetHistory) -> History:
    """List the events of a plan or task, newest first."""
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
