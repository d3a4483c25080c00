"""Step leases: one agent per step, enforced on every change of a step.

A lease expires after a number of task events in its workspace, so a busy workspace soon frees
forgotten steps, and neither other workspaces nor other rooms shorten it. A wall-clock limit frees
steps in a quiet workspace.
"""

from __future__ import annotations

from longhouse.kernel.errors import Suggestion
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work.errors import StepLeaseHeld
from longhouse.work.projections import clock
from longhouse.work.room import room, sql
from longhouse.work.types.entities import Step
from longhouse.work.types.leases import (
    GetLease,
    StepLease,
)

__all__ = [
    "TTL_MS",
    "free_steps",
    "guard",
    "held_by_another",
    "lease_from",
    "lease_of",
    "leases_of_others",
]

TTL_MS = 30 * 60_000


@room.clamps
def clamp_leases(tx: Tx) -> None:
    """No lease lasts longer than its full length from now."""
    tx.run(sql.leases_clamp, longest=tx.now_ms + TTL_MS)


def lease_of(tx: Tx, step_id: str, now: int | None = None) -> StepLease | None:
    """The step's current lease; an expired one does not count."""
    row = tx.one(
        sql.lease_get, step_id=step_id, now=tx.now_ms, now_event=clock(tx) if now is None else now
    )
    return lease_from(row) if row else None


def guard(tx: Tx, *steps: Step) -> None:
    """Refuse if another agent holds one of these steps of a task."""
    if not steps:
        return
    held = {
        row["step_id"]: row["holder"]
        for row in tx.all(
            sql.leases_of_task, task_id=steps[0].task_id, now=tx.now_ms, now_event=clock(tx)
        )
    }
    for step in steps:
        if held.get(step.step_id, tx.actor) != tx.actor:
            raise held_by_another(tx, step)


def leases_of_others(tx: Tx, task_id: str) -> list[tuple[str, str]]:
    """The steps of a task that other agents hold, with the holders."""
    rows = tx.all(sql.leases_of_task, task_id=task_id, now=tx.now_ms, now_event=clock(tx))
    return [(row["step_id"], row["holder"]) for row in rows if row["holder"] != tx.actor]


def free_steps(tx: Tx, task_id: str) -> None:
    """End every lease on the steps of a task that is being deleted."""
    for row in tx.all(sql.leases_of_task, task_id=task_id, now=tx.now_ms, now_event=clock(tx)):
        tx.run(sql.step_lease_delete, step_id=row["step_id"])


def held_by_another(tx: Tx, step: Step) -> StepLeaseHeld:
    """The refusal of a change to a step that another agent holds."""
    lease = lease_of(tx, step.step_id)
    said = f"{lease.holder} until event {lease.expires_seq}" if lease else "another agent"
    return StepLeaseHeld(
        f"step: {step.step_id} is held by {said}",
        recovery="work on another step, wait, or take it with tasks.step.lease.claim force=true",
        suggest=[Suggestion(GetLease(task=step.task_id, step_id=step.step_id), "see who holds it")],
    )


def lease_from(row: Row) -> StepLease:
    """The lease in a row."""
    return StepLease(
        holder=row["holder"],
        claimed_seq=row["claimed_event"],
        expires_seq=row["expires_event"],
        expires_at_ms=row["expires_at_ms"],
    )
