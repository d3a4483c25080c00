"""What hangs on a task when it is deleted or canceled: jobs, processes, leases, reservations.

The call is refused and names them, unless `hanging` says whether to end or keep them. All of it is
settled in the transaction of the call.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import msgspec

from longhouse.crew import release_for, reserved_for
from longhouse.jobs import cancel_job, list_jobs, may_end
from longhouse.jobs.types.jobs import CancelJob, ListJobs
from longhouse.kernel.errors import Conflict, Forbidden, Suggestion
from longhouse.processes import cancel_process, list_tasks
from longhouse.processes.types.tasks import CancelTask, ListTasks, TaskView
from longhouse.store.tx import Tx
from longhouse.work import free_steps, leases_of_others, tree_of
from longhouse.work.types.entities import Hanging

__all__ = ["settle"]

MOST = 200


class _Found(NamedTuple):
    """One thing that hangs on the task; `mine` if the caller may end it without leading."""

    shown: Hanging
    mine: bool


def settle(tx: Tx, task: str, how: str | None, why: str) -> list[Hanging]:
    """End or keep what hangs on the task, as the caller says; `why` is the reason to record."""
    found = [*_jobs(tx, task), *_processes(tx, task), *_held(tx, task)]
    if not found:
        return []
    _must_be_settled(tx, task, how, found)
    if how == "end":
        _end(tx, task, [one.shown for one in found], why)
    outcome: Literal["ended", "kept"] = "ended" if how == "end" else "kept"
    return [msgspec.structs.replace(one.shown, outcome=outcome) for one in found]


def _jobs(tx: Tx, task: str) -> list[_Found]:
    return [
        _Found(
            Hanging(kind="job", ref=job.id, what=f"{job.status}: {job.title}"),
            may_end(tx, job.id),
        )
        for status in ("RUNNING", "QUEUED")
        for job in list_jobs(tx, ListJobs(task=task, status=status, limit=MOST)).jobs
    ]


def _processes(tx: Tx, task: str) -> list[_Found]:
    """The unfinished processes that were started for the task's jobs or steps."""
    active = list_tasks(tx, ListTasks(status="active", limit=MOST)).tasks
    if not active:
        return []
    jobs = {job.id for job in list_jobs(tx, ListJobs(task=task, limit=MOST)).jobs}
    steps = {*tree_of(tx, task).paths, task}
    return [
        _Found(
            Hanging(kind="process", ref=one.task_id, what=f"{one.status}: {_named(one)}"), one.yours
        )
        for one in active
        if one.job in jobs or one.step in steps
    ]


def _named(process: TaskView) -> str:
    return process.name or process.title or process.tool


def _held(tx: Tx, task: str) -> list[_Found]:
    leases = [
        _Found(Hanging(kind="lease", ref=step_id, what=f"held by {holder}"), mine=False)
        for step_id, holder in leases_of_others(tx, task)
    ]
    me = tx.by.who if tx.by.named else None
    reservations = [
        _Found(
            Hanging(kind="reservation", ref=one.scope, what=f"reserved by {one.agent_id}"),
            one.agent_id == me,
        )
        for one in reserved_for(tx, task, MOST)
    ]
    return [*leases, *reservations]


def _must_be_settled(tx: Tx, task: str, how: str | None, found: list[_Found]) -> None:
    if how == "end" and not tx.by.leads and (others := [one for one in found if not one.mine]):
        raise Forbidden(
            f"hanging: ending {_said([one.shown for one in others])} needs the role manager",
            recovery="pass hanging=keep, or ask a manager",
        ).asking("role:manager")
    if how or all(one.shown.kind == "lease" for one in found):
        return  # to delete a step that another agent holds is refused elsewhere
    raise Conflict(
        f"hanging: {task} still has {_said([one.shown for one in found])}; fix: hanging=end",
        recovery="pass hanging=end to cancel and release all of it, or hanging=keep to leave it; "
        "only hanging=end ends a lease of another agent",
        suggest=[Suggestion(ListJobs(task=task), "list its jobs")],
    )


def _said(hanging: list[Hanging]) -> str:
    more = f" and {len(hanging) - 5} more" if len(hanging) > 5 else ""
    return ", ".join(f"{one.ref} ({one.what[:60]})" for one in hanging[:5]) + more


def _end(tx: Tx, task: str, hanging: list[Hanging], why: str) -> None:
    for one in hanging:
        if one.kind == "job":
            cancel_job(tx, CancelJob(job=one.ref, reason=why))
        elif one.kind == "process":
            cancel_process(tx, CancelTask(task_id=one.ref, reason=why))
    free_steps(tx, task)
    release_for(tx, task)
