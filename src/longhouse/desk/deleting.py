"""`tasks.delete`: deletes a plan, a task or a step, and settles what depends on a task.

A task may still have unfinished jobs, other agents' leases on its steps, or reservations. The call
is refused and names them, unless `hanging` says whether to end or keep them; leases cannot be
kept.
"""

from __future__ import annotations

import msgspec

from longhouse.crew.holdings import reserved_for
from longhouse.crew.reservations import release_for
from longhouse.desk.room import room
from longhouse.jobs.reading import list_jobs
from longhouse.jobs.steering import cancel_job
from longhouse.jobs.types.jobs import CancelJob, ListJobs
from longhouse.kernel.errors import Conflict, Forbidden, Suggestion
from longhouse.store.tx import Tx
from longhouse.work.deleting import remove
from longhouse.work.leases import free_steps, leases_of_others
from longhouse.work.lookup import id_of
from longhouse.work.types.changing import Delete, Deleted, Hanging

__all__ = ["delete"]

MOST = 200


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
    hanging = _hanging(tx, entity) if whole else []
    if hanging:
        _must_be_settled(tx, req, entity, hanging)
    if req.hanging == "end":
        _end(tx, entity, hanging)
    deleted = remove(tx, req)
    ended = "ended" if req.hanging == "end" else "kept"
    settled = [msgspec.structs.replace(one, outcome=ended) for one in hanging]
    return msgspec.structs.replace(deleted, hanging=settled)


def _hanging(tx: Tx, task: str) -> list[Hanging]:
    jobs = [
        Hanging(kind="job", ref=job.id, what=f"{job.status}: {job.title}")
        for status in ("RUNNING", "QUEUED")
        for job in list_jobs(tx, ListJobs(task=task, status=status, limit=MOST)).jobs
    ]
    leases = [
        Hanging(kind="lease", ref=step_id, what=f"held by {holder}")
        for step_id, holder in leases_of_others(tx, task)
    ]
    reservations = [
        Hanging(kind="reservation", ref=one.scope, what=f"reserved by {one.agent_id}")
        for one in reserved_for(tx, task, MOST)
    ]
    return [*jobs, *leases, *reservations]


def _must_be_settled(tx: Tx, req: Delete, task: str, hanging: list[Hanging]) -> None:
    if req.hanging == "end" and not tx.by.leads:
        raise Forbidden(
            f"hanging: ending what depends on {task} needs the role manager",
            recovery="pass hanging=keep, or ask a manager",
        )
    if req.hanging or all(one.kind == "lease" for one in hanging):
        return  # remove() refuses a step that another agent holds
    named = ", ".join(f"{one.ref} ({one.what[:60]})" for one in hanging[:5])
    more = f" and {len(hanging) - 5} more" if len(hanging) > 5 else ""
    raise Conflict(
        f"hanging: {task} still has {named}{more}; fix: hanging=end",
        recovery="pass hanging=end to cancel and release all of it, or hanging=keep to leave jobs "
        "and reservations without their task; only hanging=end ends a lease of another agent",
        suggest=[Suggestion(ListJobs(task=task), "list its jobs")],
    )


def _end(tx: Tx, task: str, hanging: list[Hanging]) -> None:
    for one in hanging:
        if one.kind == "job":
            cancel_job(tx, CancelJob(job=one.ref, reason=f"{task} was deleted"))
    free_steps(tx, task)
    release_for(tx, task)
