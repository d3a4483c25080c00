"""Deleting a plan, a task or a step. Its history, trace and notes stay."""

from __future__ import annotations

import msgspec

from longhouse.kernel.errors import Conflict, Suggestion
from longhouse.memory import leave_focus
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work.events import gone_task_ops, happened
from longhouse.work.leases import guard
from longhouse.work.lookup import entity_of, is_plan, touch, tree_of
from longhouse.work.projections import counts, depends_on, drop_plan, drop_task
from longhouse.work.room import sql
from longhouse.work.steps import remove_steps, rows_of, step_change
from longhouse.work.types.changing import Delete, Deleted

__all__ = ["remove"]


def remove(tx: Tx, req: Delete) -> Deleted:
    """Delete the plan, task or step; the caller settles what other rooms hold for the task."""
    if req.step_id is not None or req.path is not None:
        change = step_change(tx, req)
        event = remove_steps(tx, change)
        return Deleted(
            id=change.step.step_id,
            kind="step",
            task=change.step.task_id,
            revision=change.task["revision"],
            event=event,
        )
    row = touch(tx, entity_of(tx, req), req.expected_revision)
    return _delete_plan(tx, row) if is_plan(row) else _delete_task(tx, row)


def _delete_plan(tx: Tx, row: Row) -> Deleted:
    from longhouse.work.types.views import GetContext

    plan_id = row["plan_id"]
    if tasks := sum(counts(tx, plan_id).values()):
        look = GetContext(tasks_parent=plan_id, include_all=True)
        raise Conflict(
            f"plan: {plan_id} has {tasks} tasks",
            recovery="delete its tasks first, or close it with tasks.complete status=CANCELED",
            suggest=[Suggestion(look, "list its tasks")],
        )
    tx.run(sql.plan_delete, plan_id=plan_id)
    drop_plan(tx, row)
    event = happened(tx, plan_id, "plan_deleted", {"title": row["title"], "before": {"plan": row}})
    _unfocus(tx, plan_id)
    return Deleted(id=plan_id, kind="plan", revision=row["revision"], event=event)


def _delete_task(tx: Tx, row: Row) -> Deleted:
    task_id = row["task_id"]
    if waiting := tx.all(sql.dependents_of, task_id=task_id):
        from longhouse.work.types.changing import Edit

        first = waiting[0]["task_id"]
        others = [
            one["depends_on"]
            for one in tx.all(sql.dependencies_of, task_id=first)
            if one["depends_on"] != task_id
        ]
        raise Conflict(
            f"task: {first} waits for {task_id}",
            recovery=f"remove the dependency first: tasks.edit task={first} depends_on="
            + msgspec.json.encode(others).decode(),
            suggest=[
                Suggestion(Edit(task=first, depends_on=others), f"let {first} no longer wait")
            ],
        )
    steps = list(tree_of(tx, task_id).working_order())
    guard(tx, *steps)
    lost = {"task": row, **rows_of(tx, task_id), "depends_on": depends_on(tx, task_id)}
    for step in steps:
        for query in (sql.step_proofs_delete, sql.step_lease_delete, sql.step_delete):
            tx.run(query, step_id=step.step_id)
    tx.run(sql.dependencies_clear, task_id=task_id)
    tx.run(sql.task_delete, task_id=task_id)
    drop_task(tx, row)
    event = happened(
        tx,
        task_id,
        "task_deleted",
        {"title": row["title"], "plan": row["plan_id"], "before": lost},
        graph=gone_task_ops(task_id, steps),
    )
    _unfocus(tx, task_id)
    return Deleted(id=task_id, kind="task", revision=row["revision"], event=event)


def _unfocus(tx: Tx, entity: str) -> None:
    """Clear the focus: one on a deleted entity would make every call without a target fail."""
    if leave_focus(tx, entity):
        tx.warn("FOCUS_CLEARED", f"{entity} was in focus", "set a new one: tasks.focus.set")
