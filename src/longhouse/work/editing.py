"""Changing plans and tasks: fields, checklist, contract and state. One event per call."""

from __future__ import annotations

from typing import Any

from longhouse.kernel.errors import Conflict, InvalidInput
from longhouse.memory import normal_tags
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work.checkpoints import proofs_of
from longhouse.work.events import happened, task_ops
from longhouse.work.lookup import (
    entity_of,
    entity_row,
    id_of,
    is_plan,
    plan_row,
    task_row,
    touch,
    tree_of,
)
from longhouse.work.next_step import close_suggestion
from longhouse.work.projections import (
    before,
    depend,
    depends_on,
    free_dependents,
    store_plan,
    store_task,
)
from longhouse.work.room import room
from longhouse.work.states import CLOSED
from longhouse.work.types.changing import MAX_PARK_S, Complete, Edit, EditChecklist, SetContract
from longhouse.work.types.entities import (
    EntityMoved,
    Event,
    Plan,
    Target,
    Task,
)

__all__ = ["apply_edit", "entity_moved", "move"]


_TARGET = (*Target.__struct_fields__, "expected_revision")

PLAN_ONLY = ("contract", "contract_data")

_SHOWN = ("title", "priority", "assignee", "domain", "reasoning_mode")
"""The fields whose new value the event of an edit says; the previous ones it says of all."""

TASK_ONLY = ("new_domain", "assignee", "reasoning_mode", "depends_on")


@room.command(
    "tasks.edit",
    also=(
        "update rename modify change assign set tasks.plan.edit tasks.plan.update label tag "
        "prioritize tasks.set.priority priority tasks.set.assignee tasks.set.title "
        "tasks.set.description "
        "tasks.depends.on tasks.dep.add depend tasks.dependency.add link"
    ),
    writes=True,
    example=Edit(task="TASK-001", priority="HIGH", assignee="amber-otter"),
)
def edit(tx: Tx, req: Edit) -> EntityMoved:
    """Edit fields of a plan or task; an empty text clears a field."""
    names = [f for f in Edit.__struct_fields__ if f not in _TARGET and getattr(req, f) is not None]
    if not names:
        raise InvalidInput("title: expected something to change; fix: title=Faster search")
    row = touch(tx, entity_of(tx, req), req.expected_revision)
    return entity_moved(tx, *apply_edit(tx, row, {name: getattr(req, name) for name in names}))


def assign(tx: Tx, item: str, assignee: str) -> bool:
    """Give a task to someone; returns False for a plan, which nobody is assigned to."""
    row = entity_row(tx, item)
    if is_plan(row):
        return False
    apply_edit(tx, touch(tx, row, None), {"assignee": assignee})
    return True


def apply_edit(tx: Tx, row: Row, fields: dict[str, Any]) -> tuple[Row, Event]:
    """Store these fields of a plan or task and record the change."""
    kind, foreign = ("plan", TASK_ONLY) if is_plan(row) else ("task", PLAN_ONLY)
    if wrong := [name for name in fields if name in foreign]:
        raise InvalidInput(
            f"{wrong[0]}: a {kind} does not have this field; fix: leave {wrong[0]} out"
        )
    payload: dict[str, Any] = {"fields": sorted(fields)}
    if "tags" in fields:
        fields["tags"] = normal_tags(fields["tags"], "tags")
    for name in ("description", "context", "new_domain", "assignee", "contract"):
        if name in fields:
            fields[name] = fields[name] or None
    if "new_domain" in fields:
        fields["domain"] = fields.pop("new_domain")
    was = before(row, fields.keys() - {"depends_on"})
    payload |= {name: fields[name] for name in _SHOWN if name in fields}
    if is_plan(row):
        event = happened(tx, row["plan_id"], "plan_updated", {**payload, "before": was})
        return store_plan(tx, row, **fields), event
    if "depends_on" in fields:
        payload["depends_on"] = fields["depends_on"]
        was["depends_on"] = depends_on(tx, row["task_id"])
        fields["waits_for"] = depend(tx, row["task_id"], fields.pop("depends_on"))
    payload["before"] = was
    stored = store_task(tx, row, **fields)
    event = happened(tx, row["task_id"], "task_patched", payload, graph=task_ops(stored))
    return stored, event


def entity_moved(tx: Tx, row: Row, event: Event | None) -> EntityMoved:
    """The updated plan or task."""
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


@room.command(
    "tasks.plan",
    also="checklist tasks.plan.checklist tasks.plan.advance",
    writes=True,
    example=EditChecklist(plan="PLAN-001", steps=["Measure", "Index", "Measure again"]),
)
def edit_checklist(tx: Tx, req: EditChecklist) -> EntityMoved:
    """Set a plan's checklist, advance it with advance=true, or link its document."""
    if req.steps is None and req.current is None and req.doc is None and not req.advance:
        raise InvalidInput("advance: expected something to change; fix: advance=true")
    if req.advance and req.current is not None:
        raise InvalidInput("current: expected current or advance, not both; fix: advance=true")
    row = touch(tx, _plan(tx, req.plan), req.expected_revision)
    plan = Plan.from_row(row, tx.workspace)
    items = plan.checklist if req.steps is None else req.steps
    at = plan.current if req.current is None else req.current
    if req.steps is not None and req.current is None:
        at = min(at, len(items))
    at += req.advance
    if at > len(items):
        raise InvalidInput(
            f"current: {at} is past the end of {len(items)} items; fix: current={len(items)}",
            recovery="extend it with steps=[…], or finish the plan with tasks.complete",
        )
    stored = store_plan(
        tx,
        row,
        checklist=items,
        checklist_at=at,
        checklist_doc=plan.doc if req.doc is None else req.doc or None,
    )
    was = before(row, ("checklist", "checklist_at", "checklist_doc"))
    payload = {"current": at, "items": len(items), "before": was}
    event = happened(tx, plan.id, "plan_updated", payload)
    return entity_moved(tx, stored, event)


@room.command(
    "tasks.contract",
    writes=True,
    example=SetContract(plan="PLAN-001", current="Search answers in 50 ms."),
)
def set_contract(tx: Tx, req: SetContract) -> EntityMoved:
    """Set or clear a plan's contract: what it promises to deliver."""
    given = {
        name: value
        for name, value in (("contract", req.current), ("contract_data", req.contract_data))
        if value is not None
    }
    if bool(given) == req.clear:
        raise InvalidInput(
            "current: expected something to set, or clear=true; fix: current=It answers in 50 ms."
        )
    row = touch(tx, _plan(tx, req.plan), req.expected_revision)
    fields = {"contract": None, "contract_data": None} if req.clear else given
    payload = {"cleared": req.clear, "before": before(row, fields)}
    stored = store_plan(tx, row, **fields)
    event = happened(tx, row["plan_id"], "contract_updated", payload)
    return entity_moved(tx, stored, event)


def _plan(tx: Tx, plan: str | None) -> Row:
    """The named plan, else the plan in focus, else the plan of the task in focus."""
    entity = plan or id_of(tx, Target())
    if entity.startswith("TASK-"):
        entity = task_row(tx, entity)["plan_id"]
    return plan_row(tx, entity)


def move(tx: Tx, req: Complete) -> EntityMoved:
    """Move a plan or task to another state; the desk settles what hangs on it."""
    row = entity_of(tx, req)
    entity = row["plan_id"] if is_plan(row) else row["task_id"]
    until = _parked_until(tx, req, row)
    if row["status"] == req.status and until == row.get("parked_until_ts_ms"):
        tx.warn("ALREADY_STATUS", f"{entity} is already {req.status}; nothing was written")
        return entity_moved(tx, row, None)
    if req.status == "DONE" and row.get("steps_open"):
        raise _open_steps(tx, row)
    row = touch(tx, row, req.expected_revision)
    payload = {"status": req.status, "previous": row["status"]}
    if is_plan(row):
        event = happened(tx, entity, "plan_updated", payload)
        return entity_moved(tx, store_plan(tx, row, status=req.status), event)
    if until is not None:
        payload["parked_until_ts_ms"] = until
    stored = store_task(tx, row, status=req.status, parked_until_ts_ms=until)
    kind = "task_completed" if req.status in CLOSED else "task_patched"
    event = happened(tx, entity, kind, payload, graph=task_ops(stored))
    if (row["status"] in CLOSED) != (stored["status"] in CLOSED):
        free_dependents(tx, entity)
    return entity_moved(tx, stored, event)


def _open_steps(tx: Tx, row: Row) -> Conflict:
    task_id = row["task_id"]
    first = tree_of(tx, task_id).first_open()
    suggest = [close_suggestion(tx, first, proofs_of(tx, task_id))] if first else []
    return Conflict(
        f"status: steps not completed: {row['steps_open']} of {task_id} are open",
        recovery="close them with tasks.step.close, or delete them with tasks.delete",
        suggest=suggest,
    )


def _parked_until(tx: Tx, req: Complete, row: Row) -> int | None:
    given = [n for n in ("parked_for_s", "parked_until_ts_ms") if getattr(req, n) is not None]
    if not given:
        return None
    if req.status != "PARKED" or is_plan(row):
        raise InvalidInput(
            f"{given[0]}: only a PARKED task has a timer; fix: leave {given[0]} out",
            recovery="pass status=PARKED with a task",
        )
    if len(given) > 1:
        raise InvalidInput(
            "parked_for_s: expected parked_for_s or parked_until_ts_ms, not both; "
            f"fix: parked_for_s={req.parked_for_s}"
        )
    if req.parked_for_s is not None:
        return tx.now_ms + req.parked_for_s * 1000
    until = req.parked_until_ts_ms or 0
    if not tx.now_ms < until <= tx.now_ms + MAX_PARK_S * 1000:
        raise InvalidInput(
            "parked_until_ts_ms: expected a time within the next year; fix: parked_for_s=86400"
        )
    return until
