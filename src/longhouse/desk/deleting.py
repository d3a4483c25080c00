"""`tasks.delete` and `tasks.complete`: delete or close work, and settle what hangs on it.

A deleted or canceled task may still have jobs, processes, leases or reservations (`hanging.py`).
"""

from __future__ import annotations

import msgspec

from longhouse.desk.hanging import settle
from longhouse.desk.room import room
from longhouse.store.tx import Tx
from longhouse.work import entity_row, id_of, move, remove
from longhouse.work.types.changing import Complete, Delete, Deleted
from longhouse.work.types.entities import EntityMoved

__all__ = ["complete", "delete"]


@room.command(
    "tasks.delete",
    also="remove rm drop tasks.plan.delete tasks.step.delete tasks.task.delete",
    writes=True,
    destructive=True,
    example=Delete(task="TASK-001", path="s:2"),
)
def delete(tx: Tx, req: Delete) -> Deleted:
    """Delete an empty plan, a task, or a step and everything below it; the history stays."""
    entity = id_of(tx, req)
    whole = req.step_id is None and req.path is None and entity.startswith("TASK-")
    settled = settle(tx, entity, req.hanging, f"{entity} was deleted") if whole else []
    return msgspec.structs.replace(remove(tx, req), hanging=settled)


@room.command(
    "tasks.complete",
    also=(
        "finish close end tasks.set.status tasks.task.close resolve cancel:status=CANCELED "
        "park:status=PARKED reopen:status=ACTIVE transition update tasks.mark.done "
        "tasks.mark.complete tasks.task.finish pause:status=PARKED defer:status=PARKED "
        "snooze:status=PARKED tasks.plan.close "
        "activate:status=ACTIVE wontfix:status=CANCELED abandon:status=CANCELED"
    ),
    writes=True,
    example=Complete(task="TASK-001"),
)
def complete(tx: Tx, req: Complete) -> EntityMoved:
    """Move a plan or task to another state; a task with open steps cannot be DONE."""
    entity = id_of(tx, req)
    settled = []
    canceled = req.status == "CANCELED" and entity.startswith("TASK-")
    if canceled and entity_row(tx, entity)["status"] != "CANCELED":
        settled = settle(tx, entity, req.hanging, f"{entity} was canceled")
    return msgspec.structs.replace(move(tx, req), hanging=settled)
