"""A plan's own checklist and contract."""

from __future__ import annotations

from longhouse.kernel.errors import InvalidInput
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work.counting import store_plan
from longhouse.work.editing import entity_moved
from longhouse.work.lookup import id_of, plan_row, task_row, touch
from longhouse.work.organism import happened
from longhouse.work.room import room
from longhouse.work.types.changing import EditChecklist, SetContract
from longhouse.work.types.entities import (
    EntityMoved,
    Plan,
    Target,
)

__all__ = []


@room.command(
    "tasks.plan",
    writes=True,
    example=EditChecklist(plan="PLAN-001", steps=["Measure", "Index", "Measure again"]),
)
def edit_checklist(tx: Tx, req: EditChecklist) -> EntityMoved:
    """Set a plan's checklist, move along it with advance=true, or link its document."""
    if req.steps is None and req.current is None and req.doc is None and not req.advance:
        raise InvalidInput("advance: expected something to change; fix: advance=true")
    if req.advance and req.current is not None:
        raise InvalidInput("current: expected current or advance, not both; fix: advance=true")
    row = touch(tx, _plan(tx, req.plan), req.expected_revision)
    before = Plan.from_row(row, tx.workspace)
    items = before.checklist if req.steps is None else req.steps
    at = before.current if req.current is None else req.current
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
        checklist_doc=before.doc if req.doc is None else req.doc or None,
    )
    event = happened(tx, before.id, "plan_updated", {"current": at, "items": len(items)})
    return entity_moved(tx, stored, event)


@room.command(
    "tasks.contract",
    writes=True,
    example=SetContract(plan="PLAN-001", current="Search answers in 50 ms."),
)
def set_contract(tx: Tx, req: SetContract) -> EntityMoved:
    """Set or clear what a plan promises."""
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
    stored = store_plan(tx, row, **fields)
    event = happened(tx, row["plan_id"], "contract_updated", {"cleared": req.clear})
    return entity_moved(tx, stored, event)


def _plan(tx: Tx, plan: str | None) -> Row:
    """The plan that was named, else the focused one, else the focused task's."""
    entity = plan or id_of(tx, Target())
    if entity.startswith("TASK-"):
        entity = task_row(tx, entity)["plan_id"]
    return plan_row(tx, entity)
