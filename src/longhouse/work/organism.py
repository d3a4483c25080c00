"""The single organism: whatever happens to work is at once an event, a trace, a graph and a note.

One call writes all of it in the caller's transaction, on the canonical branch of the plan or task,
whatever is checked out. An event's id is made from its seq, and each document takes one entry per
event id, so nothing is ever ingested twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from longhouse.kernel.clock import rfc3339
from longhouse.kernel.refs import seq_ref
from longhouse.memory.branches import ensure_branch
from longhouse.memory.entries import append_entry
from longhouse.memory.graph.apply import apply_ops
from longhouse.memory.targeting import reasoning_ref
from longhouse.memory.types.graph import EdgeDelete, EdgeUpsert, NodeDelete, NodeUpsert, Op
from longhouse.store.engine import Row
from longhouse.store.tx import LogRow, Tx
from longhouse.work.counting import count_event
from longhouse.work.states import CLOSED
from longhouse.work.types.entities import Event, Step

__all__ = [
    "STREAM",
    "event_from",
    "event_id",
    "gone_ops",
    "gone_task_ops",
    "happened",
    "step_ops",
    "task_ops",
]

STREAM = "work"


def event_id(seq: int) -> str:
    return f"evt_{seq:016d}"


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
) -> Event:
    """Record what happened to a plan or task (or a step of it), in every place it belongs."""
    data: dict[str, Any] = {"payload": payload or {}}
    if path is not None:
        data["path"] = path
    seq = tx.append(STREAM, entity, kind, data)
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
    """The event that a log row of this room is."""
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
    """The task as a node of its own graph."""
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
    """The step as a node, contained in its parent."""
    node = f"step:{step.step_id}"
    status = "done" if step.completed else "open"
    return [
        NodeUpsert(id=node, type="step", title=step.title, status=status),
        EdgeUpsert(from_=_above(step), rel="contains", to=node),
    ]


def gone_ops(steps: Sequence[Step]) -> list[Op]:
    """Removed steps leave tombstones of their nodes and edges."""
    ops: list[Op] = []
    for step in steps:
        node = f"step:{step.step_id}"
        ops += [EdgeDelete(from_=_above(step), rel="contains", to=node), NodeDelete(id=node)]
    return ops


def gone_task_ops(task_id: str, steps: Sequence[Step]) -> list[Op]:
    """A removed task leaves tombstones, its steps' first."""
    return [*gone_ops(steps), NodeDelete(id=f"task:{task_id}")]


def _above(step: Step) -> str:
    return f"step:{step.parent_id}" if step.parent_id else f"task:{step.task_id}"
