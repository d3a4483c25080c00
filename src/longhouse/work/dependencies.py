"""What a task waits for. A task is ready when everything it waits for is closed; no circles."""

from __future__ import annotations

from longhouse.kernel.errors import Conflict, InvalidInput, Suggestion
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work.counting import store_task
from longhouse.work.lookup import task_row
from longhouse.work.room import sql
from longhouse.work.states import CLOSED

__all__ = ["depend", "free_dependents", "waits_for"]


def depend(tx: Tx, task_id: str, wanted: list[str]) -> int:
    """Wait for exactly these tasks; the number of them that are open."""
    open_ones = 0
    for other in dict.fromkeys(wanted):
        open_ones += task_row(tx, other, "depends_on")["status"] not in CLOSED
        if other == task_id:
            raise InvalidInput(f"depends_on: {task_id} cannot wait for itself; fix: depends_on=[]")
        if tx.one(sql.dependency_reaches, start=other, goal=task_id):
            raise _circle(task_id, other)
    tx.run(sql.dependencies_clear, task_id=task_id)
    rows = [{"task_id": task_id, "depends_on": other} for other in dict.fromkeys(wanted)]
    if rows:
        tx.many(sql.dependency_add, rows)
    return open_ones


def _circle(task_id: str, other: str) -> Conflict:
    from longhouse.work.types.views import GetRadar

    return Conflict(
        f"depends_on: {other} waits for {task_id}, so {task_id} cannot wait for {other}",
        recovery="leave it out, or free the other first with tasks.edit depends_on=[]",
        suggest=[Suggestion(GetRadar(task=other), f"see what {other} waits for")],
    )


def waits_for(tx: Tx, task_id: str) -> list[str]:
    """The open tasks that a task waits for."""
    rows = tx.all(sql.dependencies_of, task_id=task_id)
    return [row["depends_on"] for row in rows if row["status"] not in CLOSED]


def free_dependents(tx: Tx, task_id: str) -> None:
    """A task was closed or taken up again: count anew for those that wait for it."""
    waiting: list[Row] = tx.all(sql.dependents_of, task_id=task_id)
    for row in waiting:
        store_task(tx, row, waits_for=len(waits_for(tx, row["task_id"])))
