"""Changing what a plan or task says, all fields of a call with one event."""

from __future__ import annotations

from typing import Any

from longhouse.kernel.errors import InvalidInput
from longhouse.memory.names import normal_tags
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work.counting import store_plan, store_task
from longhouse.work.dependencies import depend
from longhouse.work.lookup import entity_of, is_plan, touch
from longhouse.work.organism import happened, task_ops
from longhouse.work.room import room
from longhouse.work.types.changing import Edit
from longhouse.work.types.entities import (
    EntityMoved,
    Event,
    Plan,
    Target,
    Task,
)

__all__ = [
    "apply_edit",
    "entity_moved",
]


_TARGET = (*Target.__struct_fields__, "expected_revision")
PLAN_ONLY = ("contract", "contract_data")
TASK_ONLY = ("new_domain", "assignee", "reasoning_mode", "depends_on")


@room.command(
    "tasks.edit",
    writes=True,
    example=Edit(task="TASK-001", priority="HIGH", assignee="amber-otter"),
)
def edit(tx: Tx, req: Edit) -> EntityMoved:
    """Change fields of a plan or task, with one event; an empty text clears a field."""
    names = [f for f in Edit.__struct_fields__ if f not in _TARGET and getattr(req, f) is not None]
    if not names:
        raise InvalidInput("title: expected something to change; fix: title=Faster search")
    row = touch(tx, entity_of(tx, req), req.expected_revision)
    return entity_moved(tx, *apply_edit(tx, row, {name: getattr(req, name) for name in names}))


def apply_edit(tx: Tx, row: Row, fields: dict[str, Any]) -> tuple[Row, Event]:
    """Store these fields of a plan or task and record it."""
    kind, foreign = ("plan", TASK_ONLY) if is_plan(row) else ("task", PLAN_ONLY)
    if wrong := [name for name in fields if name in foreign]:
        raise InvalidInput(f"{wrong[0]}: a {kind} has none; fix: leave {wrong[0]} out")
    payload = {"fields": sorted(fields)}
    if "tags" in fields:
        fields["tags"] = normal_tags(fields["tags"], "tags")
    for name in ("description", "context", "new_domain", "assignee", "contract"):
        if name in fields:
            fields[name] = fields[name] or None
    if is_plan(row):
        event = happened(tx, row["plan_id"], "plan_updated", payload)
        return store_plan(tx, row, **fields), event
    if "depends_on" in fields:
        payload["depends_on"] = fields["depends_on"]
        fields["waits_for"] = depend(tx, row["task_id"], fields.pop("depends_on"))
    if "new_domain" in fields:
        fields["domain"] = fields.pop("new_domain")
    stored = store_task(tx, row, **fields)
    event = happened(tx, row["task_id"], "task_patched", payload, graph=task_ops(stored))
    return stored, event


def entity_moved(tx: Tx, row: Row, event: Event | None) -> EntityMoved:
    """The plan or task as it is now."""
    if is_plan(row):
        return EntityMoved(
            id=row["plan_id"],
            kind="plan",
            revision=row["revision"],
            event=event,
            plan=Plan.from_row(row, tx.workspace),
        )
    return EntityMoved(
        id=row["task_id"],
        kind="task",
        revision=row["revision"],
        event=event,
        task=Task.from_row(row, tx.workspace),
    )
