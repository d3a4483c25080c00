"""Commands that show, claim, renew and release the lease on a step (`leases`)."""

from __future__ import annotations

from longhouse.kernel.errors import InvalidInput, Suggestion
from longhouse.store.tx import Tx
from longhouse.work.errors import StepLeaseNotHeld
from longhouse.work.events import happened
from longhouse.work.leases import TTL_MS, held_by_another, lease_from, lease_of
from longhouse.work.lookup import step_named
from longhouse.work.projections import clock
from longhouse.work.room import room, sql
from longhouse.work.types.entities import Event, Step
from longhouse.work.types.leases import (
    TTL_SEQ,
    ClaimLease,
    GetLease,
    LeaseShown,
    ReleaseLease,
    RenewLease,
    StepLease,
)

__all__ = ["claim_lease", "get_lease", "release_lease", "renew_lease"]


@room.command(
    "tasks.step.lease.get",
    also="tasks.step.lease tasks.lease.get tasks.step.owner lease",
    example=GetLease(task="TASK-001", path="s:0"),
)
def get_lease(tx: Tx, req: GetLease) -> LeaseShown:
    """Show who holds a step."""
    _, step, path = step_named(tx, req)
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
    _, step, path = step_named(tx, req)
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
        raise held_by_another(tx, step)
    taken = before is not None and before.holder != holder
    event = happened(
        tx,
        step.task_id,
        "step_lease_taken_over" if taken else "step_lease_claimed",
        {"holder": holder, "previous": before.holder if before else None},
        path=path,
        step=step,
    )
    return _shown(tx, step, path, lease_from(row), event)


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
    _, step, path = step_named(tx, req)
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
    return _shown(tx, step, path, lease_from(row), event)


@room.command(
    "tasks.step.lease.release",
    also="release unlock tasks.step.release tasks.lease.release tasks.step.unlock",
    writes=True,
    example=ReleaseLease(task="TASK-001"),
)
def release_lease(tx: Tx, req: ReleaseLease) -> LeaseShown:
    """Release your lease on a step."""
    holder = _holder(tx)
    _, step, path = step_named(tx, req)
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
