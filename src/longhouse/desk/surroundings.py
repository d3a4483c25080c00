"""The context of the work in focus: its active job, and who holds its step and paths."""

from __future__ import annotations

from longhouse.crew import held_by, reserved_for
from longhouse.desk.types.status import Held, JobLine
from longhouse.store.tx import Tx
from longhouse.work.types.views import StepFocus

__all__ = ["active_job", "holders"]

MOST = 6


def active_job(tx: Tx, task: str) -> JobLine | None:
    """The active job of a task, or None."""
    from longhouse.jobs import active_job_of  # most workspaces have no jobs

    found = active_job_of(tx, task)
    if found is None:
        return None
    job = found.job
    return JobLine(
        id=job.id,
        status=job.status,
        title=job.title,
        runner=job.runner,
        percent=job.percent,
        marker=found.marker,
        said=found.said,
        ref=job.last_ref,
    )


def holders(tx: Tx, me: str | None, target: str, step: StepFocus | None) -> list[Held]:
    """The lease on the step in focus, reservations for the work, and the caller's own."""
    found = []
    if step is not None and step.lease is not None:
        who = step.lease.holder
        found.append(Held(what=step.path, by=who, mine=who == me, ref=step.step_id))
    reserved = [*reserved_for(tx, target, MOST), *(held_by(tx, me, MOST) if me else [])]
    found += [
        Held(what=one.scope, by=one.agent_id, mine=one.agent_id == me, ref=one.reservation_id)
        for one in {one.seq: one for one in reserved}.values()
    ]
    return found[:MOST]
