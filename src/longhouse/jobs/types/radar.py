"""Requests and results of the job radar."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.jobs.states import Status
from longhouse.jobs.types.jobs import AnchorId, JobId, Message, Refs, RunnerBootstrap, TaskId
from longhouse.jobs.types.presence import Runners, Waiting
from longhouse.jobs.values import Attention, JobEvent, JobUsage, RunnerLease
from longhouse.kernel.values import PastRequest, Result, Value

__all__ = [
    "Asked",
    "Diagnostics",
    "Echo",
    "JobRadar",
    "Last",
    "Leases",
    "RadarIssue",
    "RadarRow",
    "RunnerState",
    "ShowRadar",
    "Unapplied",
]

_Few = Annotated[int, Meta(ge=1, le=50)]
RunnerState = Literal["offline", "idle", "live"]


class RadarIssue(Value, frozen=True, kw_only=True):
    """One inconsistency, with the runner and the job it concerns."""

    severity: Literal["error", "stale"]
    kind: str
    runner_id: str | None = None
    job_id: str | None = None


class ShowRadar(PastRequest["JobRadar"], frozen=True, kw_only=True):
    """Show unfinished jobs, those that need attention first, and optionally reply to one."""

    status: Status | None = None
    task: TaskId | None = None
    anchor: AnchorId | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 25
    runners_limit: _Few = 10
    runners_status: Literal["idle", "live"] | None = None
    offline_limit: Annotated[int, Meta(ge=0, le=50)] = 3
    stale_after_s: Annotated[int, Meta(ge=60, le=86_400)] | None = None
    """Flag running jobs that have been silent for this many seconds; the default is 600."""
    reply_job: JobId | None = None
    reply_message: Message | None = None
    reply_refs: Refs = []


class Last(Value, frozen=True, kw_only=True):
    """The newest event of a job."""

    ref: str
    kind: str
    message: str | None = None


class Asked(Value, frozen=True, kw_only=True):
    """The agent's question; `reply` is the call that answers it, once its message is written.

    A caller that may not answer is told whom to `ask`.
    """

    ref: str
    text: str
    reply: dict[str, Any] | None = None
    ask: str | None = None


class Unapplied(Value, frozen=True, kw_only=True):
    """Changes not in the work tree yet, and the command lines that apply or drop them."""

    why: str
    apply: str
    drop: str


class RadarRow(Value, frozen=True, kw_only=True):
    """One job, summarized; its ref comes first."""

    ref: str
    id: str
    status: Status
    title: str
    attention: Attention
    runner: str | None = None
    runner_state: RunnerState | None = None
    task_id: str | None = None
    anchor_id: str | None = None
    percent: int | None = None
    waits_for: int = 0
    waiting: Waiting | None = None
    """Why it does not run, if it is queued and no runner is about to claim it."""
    yours: bool = True
    """Whether you may answer and cancel it."""
    frees: int = 0
    """How many queued jobs wait for this one, directly or not; set if it needs attention."""
    updated_at_ms: int
    since_ms: int | None = None
    """Since when it needs attention: the time of its question, error or failure."""
    quiet_s: int | None = None
    """How long a running job has sent only heartbeats; set once that reaches `stale_after_s`."""
    last: Last | None = None
    holds: list[str] = []
    """The paths it has reserved."""
    question: Asked | None = None
    changes: Unapplied | None = None


class Leases(Value, frozen=True, kw_only=True):
    runners: list[RunnerLease]
    count: int
    has_more: bool


class Diagnostics(Value, frozen=True, kw_only=True):
    issues: list[RadarIssue]
    count: int
    has_more: bool


class Echo(Value, frozen=True, kw_only=True):
    """The filters in effect."""

    status: str | None = None
    task: str | None = None
    anchor: str | None = None
    stale_after_s: int | None = None


class JobRadar(Result, frozen=True, kw_only=True):
    workspace: str | None = None
    filter: Echo
    runner_status: Runners
    runner_leases: Leases
    runner_leases_offline: Leases
    runner_diagnostics: Diagnostics
    runner_bootstrap: RunnerBootstrap | None = None
    jobs: list[RadarRow]
    count: int
    has_more: bool
    usage: JobUsage | None = None
    reply: JobEvent | None = None
