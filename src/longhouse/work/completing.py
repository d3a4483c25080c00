"""Moving plans and tasks between their states."""

from __future__ import annotations

from longhouse.kernel.errors import Conflict, InvalidInput
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work.closing import close_suggestion
from longhouse.work.counting import store_plan, store_task
from longhouse.work.dependencies import free_dependents
from longhouse.work.editing import entity_moved
from longhouse.work.lookup import entity_of, is_plan, touch, tree_of
from longhouse.work.organism import happened, task_ops
from longhouse.work.receipts import proofs_of
from longhouse.work.room import room
from longhouse.work.states import CLOSED
from longhouse.work.types.changing import MAX_PARK_S, Complete
from longhouse.work.types.entities import EntityMoved

__all__ = [
    "complete",
]


@room.command("tasks.complete", writes=True, example=Complete(task="TASK-001"))
def complete(tx: Tx, req: Complete) -> EntityMoved:
    """Move a plan or task to another state; a task is DONE only without open steps."""
    row = entity_of(tx, req)
    entity = row["plan_id"] if is_plan(row) else row["task_id"]
    until = _parked_until(tx, req, row)
    if row["status"] == req.status and until == row.get("parked_until_ts_ms"):
        tx.warn("ALREADY_STATUS", f"{entity} is {req.status} already; nothing was written")
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
        recovery="close them with tasks.step.close, or remove them with tasks.delete",
        suggest=suggest,
    )


def _parked_until(tx: Tx, req: Complete, row: Row) -> int | None:
    given = [n for n in ("parked_for_s", "parked_until_ts_ms") if getattr(req, n) is not None]
    if not given:
        return None
    if req.status != "PARKED" or is_plan(row):
        raise InvalidInput(
            f"{given[0]}: only a task that is PARKED has a timer; fix: leave {given[0]} out",
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
