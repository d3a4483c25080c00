"""Requests and results of the jobs room's commands."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.jobs.routing import Artifact, Choice, ExecutorOrAuto, Policy, Profile
from longhouse.jobs.states import Status
from longhouse.jobs.types.presence import Waiting
from longhouse.jobs.values import Attention, Job, JobEvent, JobUsage, ReportedUsage
from longhouse.kernel.changes import ChangedFiles
from longhouse.kernel.delegation import (
    JOB_ID,
    MAX_MESSAGE,
    MAX_PATH,
    MAX_REASON,
    MAX_REF,
    MAX_REFS,
    MAX_SUMMARY,
    REPORT_KIND,
    RUNNER_ID,
    Projects,
)
from longhouse.kernel.names import also
from longhouse.kernel.values import Json, Limit, PastRequest, Request, Result, Seq, Title, Value

JobId = Annotated[
    str,
    Meta(
        pattern=JOB_ID,
        title="an id like JOB-001",
        examples=["JOB-001"],
    ),
]
TaskId = Annotated[
    str,
    Meta(
        pattern=r"\ATASK-[0-9]{3,}\Z",
        title="an id like TASK-001",
        examples=["TASK-001"],
    ),
]
AnchorId = Annotated[
    str,
    Meta(
        pattern=r"\Aa:[a-z0-9][a-z0-9-]{0,63}\Z",
        title="an anchor like a:core",
        examples=["a:core"],
    ),
]
JobArg = Annotated[JobId, also("job_id", "id", "ref")]
_MESSAGE = also("text", "body", "content", "note", "question", "answer", "reply")
_RUNNER = also("runner", "agent", "worker", "agent_name")
_WHY = also("why", "message", "note", "comment")
RunnerId = Annotated[str, Meta(pattern=RUNNER_ID)]
Ref = Annotated[str, Meta(min_length=1, max_length=MAX_REF)]
Refs = Annotated[list[Ref], Meta(max_length=MAX_REFS)]
Ttl = Annotated[int, Meta(ge=1, description="clamped to 1000..300000")]
Kind = Annotated[str, Meta(pattern=REPORT_KIND)]
AgentDigest = Annotated[
    str,
    Meta(
        pattern=r"\A[0-9a-f]{64}\Z",
        title="64 hexadecimal digits",
        description="the SHA-256 of a token that the runner generated for the job's agent: it is "
        "valid in this workspace, with the agent role, while the claim holds",
        examples=["3f9a1c07e2b84d55" * 4],
    ),
]
JobKind = Annotated[str, Meta(min_length=1, max_length=64)]
Message = Annotated[str, Meta(min_length=1, max_length=MAX_MESSAGE)]
Reason = Annotated[str, Meta(min_length=1, max_length=MAX_REASON)]
Prompt = Annotated[str, Meta(min_length=1, max_length=50_000)]
Path = Annotated[str, Meta(min_length=1, max_length=MAX_PATH, examples=["src/parser/*"])]
Priority = Literal["LOW", "MEDIUM", "HIGH", "low", "medium", "high", "normal"]
Revision = Annotated[int, Meta(ge=0, le=2**53)]

Deadline = Annotated[
    int, Meta(ge=0, le=2**53, description="no slice starts after this time (ms since 1970)")
]
MaxTokens = Annotated[
    int, Meta(ge=0, le=10**12, description="no slice starts once this many tokens are used")
]
MaxCost = Annotated[
    float, Meta(ge=0, le=1_000_000, description="no slice starts once this much is spent")
]
Paths = Annotated[
    list[Path],
    Meta(max_length=50, description="files or folders that only this job may change while it runs"),
]

CLAIM_TTL_MS = 180_000
DEFAULT_KIND = "codex_cli"


class CreateJob(Request["JobCreated"], frozen=True, kw_only=True):
    """Queue a job for a runner."""

    title: Annotated[Title, also("name", "subject", "job_title", "summary")]
    prompt: Annotated[
        Prompt, also("description", "body", "instructions", "text", "task_prompt", "content")
    ]
    kind: JobKind = DEFAULT_KIND
    priority: Priority = "MEDIUM"
    task: Annotated[TaskId, also("task_id", "target", "parent")] | None = None
    anchor: Annotated[AnchorId, also("anchor_id", "area")] | None = None
    executor: Annotated[ExecutorOrAuto, also("agent", "runner", "cli")] = "auto"
    executor_profile: Profile = "fast"
    policy: Policy | None = None
    expected_artifacts: Annotated[list[Artifact], Meta(max_length=5)] = []
    after: Annotated[
        list[JobId], Meta(max_length=50), also("depends_on", "waits_for", "dependencies", "needs")
    ] = []
    paths: Annotated[Paths, also("files", "scope", "scopes", "reserve")] = []
    require_proof: bool = False
    max_attempts: Annotated[int, Meta(ge=1, le=20), also("attempts")] = 1
    retry_backoff_ms: Annotated[int, Meta(ge=0, le=3_600_000)] = 30_000
    not_before_ms: Annotated[int, Meta(ge=0, le=2**53)] = 0
    deadline_ms: Deadline = 0
    max_tokens: MaxTokens = 0
    max_cost_usd: MaxCost = 0.0
    meta: Json | None = None


class UpdateJob(Request["Moved"], frozen=True, kw_only=True):
    """Change a queued job; a limit of 0 removes that limit."""

    job: JobId
    title: Title | None = None
    prompt: Prompt | None = None
    priority: Priority | None = None
    executor: ExecutorOrAuto | None = None
    executor_profile: Profile | None = None
    paths: Annotated[Paths, also("files", "scope", "scopes", "reserve")] | None = None
    deadline_ms: Deadline | None = None
    max_tokens: MaxTokens | None = None
    max_cost_usd: MaxCost | None = None
    reason: Reason | None = None


class ClaimJob(Request["Claimed"], frozen=True, kw_only=True):
    """Claim a job for a runner: the named one or, without `job`, the next one it may run."""

    job: JobArg | None = None
    runner_id: Annotated[RunnerId, _RUNNER]
    lease_ttl_ms: Ttl = CLAIM_TTL_MS
    allow_stale: bool = False
    agent_digest: AgentDigest | None = None
    projects: Projects | None = None


class ReleaseJob(Request["Moved"], frozen=True, kw_only=True):
    """Return a claimed job to the queue."""

    job: JobArg
    runner_id: Annotated[RunnerId, _RUNNER]
    claim_revision: Annotated[Revision, also("revision", "claim", "token", "fence")]
    reason: Annotated[Reason, _WHY]
    decline: Annotated[bool, Meta(description="this runner cannot run it: stop offering it")] = (
        False
    )


class ReportJob(Request["Reported"], frozen=True, kw_only=True):
    """Report progress on a claimed job and renew the claim."""

    job: JobArg
    runner_id: Annotated[RunnerId, _RUNNER]
    claim_revision: Annotated[Revision, also("revision", "claim", "token", "fence")]
    message: Annotated[str, Meta(max_length=MAX_MESSAGE), _MESSAGE]
    kind: Kind = "progress"
    percent: Annotated[int, Meta(ge=0, le=100), also("progress", "pct", "percentage")] | None = None
    refs: Annotated[Refs, also("proof", "evidence", "links", "references", "artifacts")] = []
    usage: ReportedUsage | None = None
    meta: Json | None = None
    changed: ChangedFiles | None = None
    lease_ttl_ms: Ttl = CLAIM_TTL_MS


class AskManager(Request["Reported"], frozen=True, kw_only=True):
    """Ask the manager about a claimed job and renew the claim."""

    job: JobArg
    runner_id: Annotated[RunnerId, _RUNNER]
    claim_revision: Annotated[Revision, also("revision", "claim", "token", "fence")]
    message: Annotated[Message, _MESSAGE]
    refs: Annotated[Refs, also("proof", "evidence", "links", "references", "artifacts")] = []


class CompleteJob(Request["Moved"], frozen=True, kw_only=True):
    """Finish a claimed job."""

    job: JobArg
    runner_id: Annotated[RunnerId, _RUNNER]
    claim_revision: Annotated[Revision, also("revision", "claim", "token", "fence")]
    status: Annotated[Literal["DONE", "FAILED"], also("outcome", "state", "success")]
    summary: (
        Annotated[str, Meta(max_length=MAX_SUMMARY), also("result", "message", "output", "text")]
        | None
    ) = None
    refs: Annotated[Refs, also("proof", "evidence", "links", "references", "artifacts")] = []
    usage: ReportedUsage | None = None
    meta: Json | None = None
    changes: (
        Annotated[
            Message,
            Meta(description="why its changes are not in the work tree; jobs.apply finishes it"),
        ]
        | None
    ) = None


class ApplyChanges(Request["Moved"], frozen=True, kw_only=True):
    """Finish a job with pending changes, now that they were applied or dropped."""

    job: JobArg
    outcome: Annotated[
        Literal["applied", "dropped"],
        Meta(description="what was done with them; this call itself changes no file"),
    ] = "applied"
    reason: Annotated[Reason, _WHY] | None = None
    changed: ChangedFiles | None = None


class AccountSlice(Request["Reported"], frozen=True, kw_only=True):
    """Count the usage of a slice whose runner died or lost the claim."""

    job: JobArg
    claim_revision: Annotated[Revision, also("revision", "claim", "token", "fence")]
    slice: Annotated[int, Meta(ge=1, le=10**6)]
    usage: ReportedUsage | None = None
    refs: Annotated[Refs, also("proof", "evidence", "links", "references", "artifacts")] = []


class MessageJob(Request["Moved"], frozen=True, kw_only=True):
    """Answer or steer an unfinished job."""

    job: JobArg
    message: Annotated[Message, _MESSAGE]
    refs: Annotated[Refs, also("proof", "evidence", "links", "references", "artifacts")] = []


class CancelJob(Request["Moved"], frozen=True, kw_only=True):
    """Cancel an unfinished job."""

    job: JobArg
    reason: Annotated[Reason, _WHY] | None = None


class RequeueJob(Request["Moved"], frozen=True, kw_only=True):
    """Run a finished job again, or reoffer a queued one that was declined or delayed."""

    job: JobArg
    reason: Annotated[Reason, _WHY] | None = None
    refs: Annotated[Refs, also("proof", "evidence", "links", "references", "artifacts")] = []


class ShowUsage(Request["UsageShown"], frozen=True, kw_only=True):
    """Show what jobs have used."""

    by: Literal["day", "task", "agent"] = "day"
    days: Annotated[int, Meta(ge=1, le=3_660)] = 30
    limit: Limit = 100


class Used(JobUsage, frozen=True, kw_only=True):
    """What one day, task or agent has used."""

    what: str
    jobs: int


class UsageShown(Result, frozen=True, kw_only=True):
    by: str
    since: str
    total: JobUsage | None
    used: list[Used]
    count: int


class ListJobs(PastRequest["JobList"], frozen=True, kw_only=True):
    """List jobs, newest first; with status=QUEUED, oldest first."""

    status: Annotated[Status, also("state", "filter")] | None = None
    task: Annotated[TaskId, also("task_id", "target", "parent")] | None = None
    anchor: Annotated[AnchorId, also("anchor_id", "area")] | None = None
    limit: Annotated[Limit, also("count", "n", "max", "page_size")] = 25
    cursor: JobId | None = None


class OpenJob(PastRequest["JobView"], frozen=True, kw_only=True):
    """Read a job and its newest events."""

    job: JobArg
    include_prompt: bool = False
    include_events: bool = True
    include_meta: bool = False
    max_events: Annotated[int, Meta(ge=0, le=200), also("limit", "events", "events_limit")] = 10
    before_seq: Annotated[int, Meta(ge=1, le=2**53)] | None = None


class TailJob(Request["JobTail"], frozen=True, kw_only=True):
    """Read a job's events after a cursor."""

    job: JobArg
    after_seq: Annotated[Seq, also("since", "cursor", "from_seq")] = 0
    limit: Annotated[int, Meta(ge=1, le=200), also("tail", "lines", "tail_lines")] = 50


class WaitJobs(Request["Waited"], frozen=True, kw_only=True):
    """Wait for events of jobs or, with `runner_id`, for work that this runner may claim."""

    job: JobArg | None = None
    jobs: Annotated[list[JobId], Meta(max_length=50)] = []
    runner_id: RunnerId | None = None
    allow_stale: bool = False
    after_seq: Annotated[Seq, also("since", "cursor", "from_seq")] | None = None
    until: Literal["event", "end"] = "event"
    limit: Annotated[int, Meta(ge=1, le=200)] = 50
    timeout_ms: Annotated[int, Meta(ge=0, le=25_000), also("timeout", "wait")] = 25_000


class Moved(Result, frozen=True, kw_only=True):
    """The job after the change, and the event that records it."""

    job: Job
    event: JobEvent


class Reported(Result, frozen=True, kw_only=True):
    """The job after the report; a heartbeat leaves no event."""

    job: Job
    event: JobEvent | None


class RunnerBootstrap(Value, frozen=True, kw_only=True):
    """The command that starts a runner."""

    cmd: str


class RunnerAutostart(Value, frozen=True, kw_only=True):
    enabled: bool


class JobCreated(Result, frozen=True, kw_only=True):
    job: Job
    event: JobEvent
    routing: Choice | None = None
    waiting: Waiting | None = None
    runner_autostart: RunnerAutostart
    runner_bootstrap: RunnerBootstrap | None = None


class Claimed(Result, frozen=True, kw_only=True):
    """The job, its claim token (`job.revision`) and its spec; null when nothing can be claimed."""

    job: Job | None
    event: JobEvent | None


class JobList(Result, frozen=True, kw_only=True):
    jobs: list[Job]
    count: int
    has_more: bool
    cursor: str | None = None
    next_cursor: str | None = None
    usage: JobUsage | None = None


class JobView(Result, frozen=True, kw_only=True):
    """A job with its newest events, newest first."""

    job: Job
    attention: Attention
    after: list[str] = []
    holds: list[str] = []
    """The paths it has reserved."""
    waiting: Waiting | None = None
    """Why it does not run, if it is queued and no runner is about to claim it."""
    yours: bool = True
    """Whether you may answer and cancel it."""
    prompt: str | None = None
    prompt_chars: int
    meta: dict[str, Any] | None = None
    runtime: dict[str, Any] | None = None
    events: list[JobEvent]
    count: int
    has_more_events: bool


class JobTail(Result, frozen=True, kw_only=True):
    """A page of events, oldest first; `next_cursor` is the next after_seq."""

    job_id: str
    status: Status
    events: list[JobEvent]
    count: int
    has_more: bool
    cursor: int
    next_cursor: int


class Claimable(Value, frozen=True, kw_only=True):
    id: str
    status: Status
    title: str
    priority: str


class News(Value, frozen=True, kw_only=True):
    """The current state of a job."""

    id: str
    status: Status
    ref: str
    summary: str | None = None


class Waited(Result, frozen=True, kw_only=True):
    """What was waited for, or nothing after a timeout; `next_cursor` is the next after_seq."""

    timed_out: bool
    jobs: list[News] = []
    claimable: Claimable | None = None
    events: list[JobEvent]
    count: int
    has_more: bool
    cursor: int
    next_cursor: int


class JobOpened(Result, frozen=True, kw_only=True):
    kind: Literal["job"]
    id: str
    job: Job
    prompt: str | None = None
    events: list[JobEvent]
    has_more_events: bool


class Around(Value, frozen=True, kw_only=True):
    """The events before and after one, oldest first."""

    events: list[JobEvent]
    has_more_events: bool


class JobEventOpened(Result, frozen=True, kw_only=True):
    kind: Literal["job_event"]
    ref: str
    job: Job
    event: JobEvent
    context: Around
