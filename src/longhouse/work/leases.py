"""Step leases: one agent per step, enforced on every change of a step.

A lease expires after a number of task events in its workspace, so a busy workspace soon frees
forgotten steps, and neither other workspaces nor other rooms shorten it. A wall-clock limit frees
steps in a quiet workspace.
"""

from __future__ import annotations

from typing import Any

from longhouse.kernel.errors import InvalidInput, Suggestion
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work.errors import StepLeaseHeld, StepLeaseNotHeld
from longhouse.work.events import happened
from longhouse.work.lookup import step_of, task_of, tree_of
from longhouse.work.projections import clock
from longhouse.work.room import room, sql
from longhouse.work.types.entities import Event, Step, StepTarget
from longhouse.work.types.leases import (
    TTL_SEQ,
    ClaimLease,
    GetLease,
    LeaseShown,
    ReleaseLease,
    RenewLease,
    StepLease,
)

__all__ = [
    "free_steps",
    "guard",
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
    return _lease(row) if row else None


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
            raise _held(tx, step)


def leases_of_others(tx: Tx, task_id: str) -> list[tuple[str, str]]:
    """The steps of a task that other agents hold, with the holders."""
    rows = tx.all(sql.leases_of_task, task_id=task_id, now=tx.now_ms, now_event=clock(tx))
    return [(row["step_id"], row["holder"]) for row in rows if row["holder"] != tx.actor]


def free_steps(tx: Tx, task_id: str) -> None:
    """End every lease on the steps of a task that is being deleted."""
    for row in tx.all(sql.leases_of_task, task_id=task_id, now=tx.now_ms, now_event=clock(tx)):
        tx.run(sql.step_lease_delete, step_id=row["step_id"])


def _held(tx: Tx, step: Step) -> StepLeaseHeld:
    lease = lease_of(tx, step.step_id)
    said = f"{lease.holder} until event {lease.expires_seq}" if lease else "another agent"
    return StepLeaseHeld(
        f"step: {step.step_id} is held by {said}",
        recovery="work on another step, wait, or take it with tasks.step.lease.claim force=true",
        suggest=[Suggestion(GetLease(task=step.task_id, step_id=step.step_id), "see who holds it")],
    )


@room.command(
    "tasks.step.lease.get",
    also="tasks.step.lease tasks.lease.get tasks.step.owner lease",
    example=GetLease(task="TASK-001", path="s:0"),
)
def get_lease(tx: Tx, req: GetLease) -> LeaseShown:
    """Show who holds a step."""
    step, path = _step(tx, req)
    return _shown(tx, step, path, lease_of(tx, step.step_id))


@room.command(
    "tasks.step.lease.claim",
    also="claim take lock lease tasks.step.claim tasks.step.lock tasks.step.take",
    writes=True,
    additive=True,
    example=ClaimLease(task="TASK-001"),
    idempotent=True,
)
def claim_lease(tx: Tx, req: ClaimLease) -> LeaseShown:
    """Hold a step while you work on it; force=true takes it over or restarts your own lease."""
    holder = _holder(tx)
    step, path = _step(tx, req)
    now = clock(tx)
    before = lease_of(tx, step.step_id, now)
    if before is not None and before.holder == holder and not req.force:
        return _shown(tx, step, path, before)
    row = tx.one(
        sql.lease_take,
        step_id=step.step_id,
        holder=holder,
        now=tx.now_ms,
        now_event=now,
        force=int(req.force),
        **_until(tx, now, req.ttl_seq),
    )
    if row is None:
        raise _held(tx, step)
    taken = before is not None and before.holder != holder
    event = happened(
        tx,
        step.task_id,
        "step_lease_taken_over" if taken else "step_lease_claimed",
        {"holder": holder, "previous": before.holder if before else None},
        path=path,
        step=step,
    )
    return _shown(tx, step, path, _lease(row), event)


@room.command(
    "tasks.step.lease.renew",
    also="renew tasks.lease.renew tasks.step.renew",
    writes=True,
    additive=True,
    example=RenewLease(task="TASK-001"),
)
def renew_lease(tx: Tx, req: RenewLease) -> LeaseShown:
    """Extend your lease on a step."""
    holder = _holder(tx)
    step, path = _step(tx, req)
    now = clock(tx)
    row = tx.one(
        sql.lease_renew,
        step_id=step.step_id,
        holder=holder,
        now=tx.now_ms,
        now_event=now,
        **_until(tx, now, req.ttl_seq),
    )
    if row is None:
        raise _not_held(tx, step, holder)
    event = happened(
        tx, step.task_id, "step_lease_renewed", {"holder": holder}, path=path, step=step
    )
    return _shown(tx, step, path, _lease(row), event)


@room.command(
    "tasks.step.lease.release",
    also="release unlock tasks.step.release tasks.lease.release tasks.step.unlock",
    writes=True,
    example=ReleaseLease(task="TASK-001"),
)
def release_lease(tx: Tx, req: ReleaseLease) -> LeaseShown:
    """Release your lease on a step."""
    holder = _holder(tx)
    step, path = _step(tx, req)
    if tx.one(sql.lease_release, step_id=step.step_id, holder=holder) is None:
        raise _not_held(tx, step, holder)
    event = happened(
        tx, step.task_id, "step_lease_released", {"holder": holder}, path=path, step=step
    )
    return _shown(tx, step, path, None, event)


def _holder(tx: Tx) -> str:
    if not tx.actor:
        raise InvalidInput(
            "agent_id: expected the holder",
            recovery="pass agent_id, or set LONGHOUSE_AGENT_ID",
        )
    return tx.actor


def _step(tx: Tx, req: StepTarget[Any]) -> tuple[Step, str]:
    task = task_of(tx, req)
    tree = tree_of(tx, task["task_id"])
    step = step_of(tree, task["task_id"], req)
    return step, tree.paths[step.step_id]


def _until(tx: Tx, now: int, ttl_seq: int) -> dict[str, int]:
    length = ttl_seq if ttl_seq > 0 else TTL_SEQ
    return {"expires_event": now + length, "expires_at_ms": tx.now_ms + TTL_MS}


def _not_held(tx: Tx, step: Step, holder: str) -> StepLeaseNotHeld:
    lease = lease_of(tx, step.step_id)
    said = f"{lease.holder} does" if lease else "no one does"
    return StepLeaseNotHeld(
        f"step: {holder} does not hold {step.step_id}, {said}",
        recovery="claim it with tasks.step.lease.claim",
        suggest=[Suggestion(GetLease(task=step.task_id, step_id=step.step_id), "see who holds it")],
    )


def _lease(row: Row) -> StepLease:
    return StepLease(
        holder=row["holder"],
        claimed_seq=row["claimed_event"],
        expires_seq=row["expires_event"],
        expires_at_ms=row["expires_at_ms"],
    )


def _shown(
    tx: Tx, step: Step, path: str, lease: StepLease | None, event: Event | None = None
) -> LeaseShown:
    return LeaseShown(
        task=step.task_id,
        step=step.step_id,
        path=path,
        lease=lease,
        event=event,
        now_seq=clock(tx),
    )
