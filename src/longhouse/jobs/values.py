"""A job, its events and a runner's lease as callers see them, built from rows only here."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from longhouse.jobs.states import ACTIVE, Status
from longhouse.kernel.refs import seq_ref
from longhouse.kernel.values import Value
from longhouse.store.engine import Row
from longhouse.store.tx import LogRow

__all__ = [
    "HELD_MS",
    "PRIORITIES",
    "Attention",
    "Job",
    "JobEvent",
    "JobLimits",
    "JobUsage",
    "ReportedUsage",
    "RunnerLease",
    "attention_of",
    "job_id",
    "job_number",
    "microusd",
    "priority_name",
    "priority_of",
]

HELD_MS = 2**53
"""The `not_before_ms` of a job that is never claimable: its changes are pending, or it is held."""
PRIORITIES = {"LOW": 0, "MEDIUM": 1, "HIGH": 2}
_PRIORITY_NAMES = {rank: name for name, rank in PRIORITIES.items()}
_MICRO = 1_000_000


def job_id(n: int) -> str:
    return f"JOB-{n:03d}"


def job_number(job: str) -> int:
    return int(job.removeprefix("JOB-"))


def priority_name(rank: int) -> str:
    return _PRIORITY_NAMES[rank]


def priority_of(word: str) -> int:
    return PRIORITIES["MEDIUM" if word == "normal" else word.upper()]


def microusd(usd: float) -> int:
    return round(usd * _MICRO)


class JobUsage(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Tokens and cost; in a report, those since the previous report."""

    input_tokens: Annotated[int, Meta(ge=0)] = 0
    output_tokens: Annotated[int, Meta(ge=0)] = 0
    cost_usd: Annotated[float, Meta(ge=0)] | Literal["unknown"] | None = None
    """In a report, omit it or pass `unknown` if the agent does not report its cost."""
    agent: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    """In a report, the agent that used it."""
    cost_is_partial: bool = False
    """In an answer: some usage came from agents that do not report their cost."""

    @property
    def cost_microusd(self) -> int:
        return 0 if isinstance(self.cost_usd, str | None) else microusd(self.cost_usd)

    @property
    def uncosted(self) -> int:
        some = bool(self.input_tokens or self.output_tokens)
        return int(self.cost_usd == "unknown" or (self.cost_usd is None and some))

    @classmethod
    def from_row(cls, row: Row) -> JobUsage | None:
        """The usage in a row; None if it is zero."""
        tokens_in, tokens_out = int(row["input_tokens"]), int(row["output_tokens"])
        cost, uncosted = int(row["cost_microusd"]), bool(row["uncosted"])
        if not (tokens_in or tokens_out or cost or uncosted):
            return None
        return cls(
            input_tokens=tokens_in,
            output_tokens=tokens_out,
            cost_usd="unknown" if uncosted and not cost else cost / _MICRO,
            cost_is_partial=uncosted and cost > 0,
        )


class ReportedUsage(JobUsage, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The usage in one report; each number has an upper bound, their sum does not."""

    input_tokens: Annotated[int, Meta(ge=0, le=10**12)] = 0
    output_tokens: Annotated[int, Meta(ge=0, le=10**12)] = 0
    cost_usd: Annotated[float, Meta(ge=0, le=1_000_000)] | Literal["unknown"] | None = None


class JobLimits(Value, frozen=True, kw_only=True):
    """A job's limits; once one is reached, the job fails instead of starting another slice."""

    deadline_ms: int | None = None
    max_tokens: int | None = None
    max_cost_usd: float | None = None

    @classmethod
    def from_row(cls, row: Row) -> JobLimits | None:
        found = cls(
            deadline_ms=row["deadline_ms"] or None,
            max_tokens=row["max_tokens"] or None,
            max_cost_usd=row["max_cost_microusd"] / _MICRO or None,
        )
        return None if found == cls() else found


class Attention(Value, frozen=True, kw_only=True):
    """Why a job needs attention, derived from its unresolved records, however old they are."""

    marker: Literal["?", "!", "~"] | None = None
    needs_manager: bool
    needs_proof: bool
    has_error: bool
    stale: bool


def attention_of(row: Row, now_ms: int) -> Attention:
    """Compare the newest record of each kind."""
    active = row["status"] in ACTIVE
    needs_manager = active and row["last_question_seq"] > row["last_manager_seq"]
    needs_proof = active and row["last_proof_gate_seq"] > row["last_proof_seq"]
    has_error = row["status"] == "FAILED" or (
        active and row["last_error_seq"] > row["last_claim_seq"]
    )
    stale = row["status"] == "RUNNING" and row["claim_expires_at_ms"] <= now_ms
    marker: Literal["?", "!", "~"] | None = None
    if needs_manager:
        marker = "?"
    elif has_error or needs_proof:
        marker = "!"
    elif stale:
        marker = "~"
    return Attention(
        marker=marker,
        needs_manager=needs_manager,
        needs_proof=needs_proof,
        has_error=has_error,
        stale=stale,
    )


class Job(Value, frozen=True, kw_only=True):
    """A job: its identity, its current state, and its runner."""

    id: str
    revision: int
    status: Status
    title: str
    kind: str
    priority: str
    task_id: str | None = None
    anchor_id: str | None = None
    runner: str | None = None
    claim_expires_at_ms: int | None = None
    last_heartbeat_ms: int | None = None
    waits_for: int = 0
    not_before_ms: int = 0
    changes: str | None = None
    """Why its changes are not in the work tree yet; `longhouse job apply` applies or drops them."""
    held: bool = False
    """It came with an import or a restored backup, and waits for a manager: `longhouse release`."""
    failures: int = 0
    percent: int | None = None
    summary: str | None = None
    refs: list[str] = []
    usage: JobUsage | None = None
    limits: JobLimits | None = None
    last_ref: str
    created_at_ms: int
    updated_at_ms: int
    completed_at_ms: int | None = None
    meta: dict[str, Any] | None = None

    @classmethod
    def from_row(cls, row: Row, *, meta: dict[str, Any] | None = None) -> Job:
        job = job_id(row["n"])
        return cls(
            id=job,
            revision=row["revision"],
            status=row["status"],
            title=row["title"],
            kind=row["kind"],
            priority=priority_name(row["priority"]),
            task_id=row["task_id"],
            anchor_id=row["anchor_id"],
            runner=row["runner_id"],
            claim_expires_at_ms=row["claim_expires_at_ms"],
            last_heartbeat_ms=row["last_heartbeat_ms"],
            waits_for=row["waits"],
            not_before_ms=0 if row["not_before_ms"] >= HELD_MS else row["not_before_ms"],
            changes=row["changes"],
            held=row["status"] == "QUEUED"
            and row["changes"] is None
            and row["not_before_ms"] >= HELD_MS,
            failures=row["failures"],
            percent=row["percent"],
            summary=row["summary"],
            refs=msgspec.json.decode(row["refs"]),
            usage=JobUsage.from_row(row),
            limits=JobLimits.from_row(row),
            last_ref=seq_ref(job, row["last_seq"]),
            created_at_ms=row["created_at_ms"],
            updated_at_ms=row["updated_at_ms"],
            completed_at_ms=row["completed_at_ms"],
            meta=meta,
        )


class JobEvent(Value, frozen=True, kw_only=True):
    """One event of a job; `ref` opens it."""

    ref: str
    seq: int
    ts_ms: int
    kind: str
    by: str | None = None
    message: str | None = None
    percent: int | None = None
    refs: list[str] = []
    meta: dict[str, Any] = {}

    @classmethod
    def from_log(cls, row: LogRow) -> JobEvent:
        data = row.data
        return cls(
            ref=row.ref,
            seq=row.seq,
            ts_ms=row.ts_ms,
            kind=row.kind,
            by=row.actor,
            message=data.get("message"),
            percent=data.get("percent"),
            refs=data.get("refs", []),
            meta=data.get("meta", {}),
        )


class RunnerLease(Value, frozen=True, kw_only=True):
    """A runner's lease: it is online until the lease expires."""

    runner_id: str
    status: Literal["idle", "live"]
    active_job_id: str | None = None
    lease_expires_at_ms: int
    created_at_ms: int
    updated_at_ms: int
    lease_active: bool
    expires_in_ms: int
    offers: dict[str, Any] = {}
    unsandboxed: list[str] = []
    """The agents whose commands may do all that the runner's user may."""

    @classmethod
    def from_row(cls, row: Row, now_ms: int) -> RunnerLease:
        expires = row["lease_expires_at_ms"]
        return cls(
            runner_id=row["runner_id"],
            status=row["status"],
            active_job_id=row["active_job_id"],
            lease_expires_at_ms=expires,
            created_at_ms=row["created_at_ms"],
            updated_at_ms=row["updated_at_ms"],
            lease_active=expires > now_ms,
            expires_in_ms=max(0, expires - now_ms),
            offers=msgspec.json.decode(row["offers"]),
            unsandboxed=_unsandboxed(row["meta"]),
        )


def _unsandboxed(meta: str) -> list[str]:
    """What the runner says about itself; any JSON may stand there."""
    said = msgspec.json.decode(meta).get("unsandboxed")
    names = said if isinstance(said, list) else []
    return [name[:64] for name in names[:16] if isinstance(name, str)]
