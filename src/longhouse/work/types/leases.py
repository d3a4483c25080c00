"""Requests and results of step leases."""

from __future__ import annotations

from typing import Annotated, Generic

from msgspec import Meta

from longhouse.kernel.values import Result, ResultT, Value
from longhouse.work.types.entities import Event, StepTarget

__all__ = [
    "MAX_TTL_SEQ",
    "TTL_SEQ",
    "ClaimLease",
    "GetLease",
    "LeaseShown",
    "LeaseTarget",
    "ReleaseLease",
    "RenewLease",
    "StepLease",
]

TTL_SEQ = 200
MAX_TTL_SEQ = 10_000


class StepLease(Value, frozen=True, kw_only=True):
    """Who holds a step, and when the lease expires, by event count and by time."""

    holder: str
    claimed_seq: int
    expires_seq: int
    expires_at_ms: int


class LeaseTarget(StepTarget[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    ttl_seq: Annotated[
        int, Meta(ge=-(2**53), le=MAX_TTL_SEQ, description="lifetime in task events")
    ] = TTL_SEQ


class GetLease(StepTarget["LeaseShown"], frozen=True, kw_only=True):
    """Show who holds a step."""


class ClaimLease(LeaseTarget["LeaseShown"], frozen=True, kw_only=True):
    """Hold a step while you work on it."""

    force: bool = False


class RenewLease(LeaseTarget["LeaseShown"], frozen=True, kw_only=True):
    """Extend your lease on a step."""


class ReleaseLease(StepTarget["LeaseShown"], frozen=True, kw_only=True):
    """Release your lease on a step."""


class LeaseShown(Result, frozen=True, kw_only=True):
    task: str
    step: str
    path: str
    lease: StepLease | None
    event: Event | None = None
    now_seq: int
