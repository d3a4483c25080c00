"""The values of the jobs room: what its commands take and give."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from longhouse.kernel.values import Json, Request, Result, Title, Value
from longhouse.store.engine import Row
from longhouse.store.tx import LogRow

__all__ = [
    "PRIORITIES",
    "ClaimJob",
    "CompleteJob",
    "CreateJob",
    "Job",
    "JobEvent",
    "JobMoved",
    "JobOpened",
    "ReportJob",
]

JobId = Annotated[str, Meta(pattern=r"\AJOB-[0-9]{3,}\Z")]
RunnerId = Annotated[str, Meta(min_length=1, max_length=128)]
Ref = Annotated[str, Meta(min_length=1, max_length=128)]
Refs = Annotated[list[Ref], Meta(max_length=32)]
Ttl = Annotated[int, Meta(gt=0)]
Priority = Literal["LOW", "MEDIUM", "HIGH", "low", "medium", "high", "normal"]

PRIORITIES = {"LOW": 0, "MEDIUM": 1, "HIGH": 2}


class Job(Value, frozen=True, kw_only=True):
    """A job as it stands: its identity, its state, and who runs it."""

    id: str
    revision: int
    status: Literal["QUEUED", "RUNNING", "DONE", "FAILED", "CANCELED"]
    title: str
    kind: str
    priority: str
    task_id: str | None = None
    anchor_id: str | None = None
    runner: str | None = None
    claim_expires_at_ms: int | None = None
    summary: str | None = None
    refs: list[str] = []
    created_at_ms: int
    updated_at_ms: int
    completed_at_ms: int | None = None
    meta: dict[str, Any] = {}

    @classmethod
    def from_row(cls, row: Row) -> Job:
        names = {rank: name for name, rank in PRIORITIES.items()}
        return cls(
            id=row["job_id"],
            revision=row["revision"],
            status=row["status"],
            title=row["title"],
            kind=row["kind"],
            priority=names[row["priority"]],
            task_id=row["task_id"],
            anchor_id=row["anchor_id"],
            runner=row["runner_id"],
            claim_expires_at_ms=row["claim_expires_at_ms"],
            summary=row["summary"],
            refs=msgspec.json.decode(row["refs"]),
            created_at_ms=row["created_at_ms"],
            updated_at_ms=row["updated_at_ms"],
            completed_at_ms=row["completed_at_ms"],
            meta=msgspec.json.decode(row["spec"]),
        )


class JobEvent(Value, frozen=True, kw_only=True):
    """One event of a job; `ref` opens it."""

    ref: str
    seq: int
    ts_ms: int
    kind: str
    message: str | None = None
    percent: int | None = None
    refs: list[str] = []
    meta: dict[str, Any] = {}

    @classmethod
    def from_log(cls, row: LogRow) -> JobEvent:
        return cls(ref=row.ref, seq=row.seq, ts_ms=row.ts_ms, kind=row.kind, **row.data)


class CreateJob(Request["JobMoved"], frozen=True, kw_only=True):
    """Queue a job for a runner."""

    title: Title
    prompt: Annotated[str, Meta(min_length=1, max_length=50_000)]
    kind: Annotated[str, Meta(min_length=1, max_length=64)] = "codex_cli"
    priority: Priority = "MEDIUM"
    task: Annotated[str, Meta(pattern=r"\ATASK-[0-9]{3,}\Z")] | None = None
    anchor: Annotated[str, Meta(pattern=r"\Aa:[a-z0-9][a-z0-9-]{0,63}\Z")] | None = None
    executor: Literal["codex", "claude_code", "auto"] = "auto"
    executor_profile: Literal["fast", "deep", "audit"] = "fast"
    expected_artifacts: list[Literal["report", "diff", "patch", "bench", "docs_update"]] = []
    meta: Json | None = None


class ClaimJob(Request["JobMoved"], frozen=True, kw_only=True):
    """Take a job for a runner."""

    job: JobId
    runner_id: RunnerId
    lease_ttl_ms: Ttl = 180_000
    allow_stale: bool = False


class ReportJob(Request["JobMoved"], frozen=True, kw_only=True):
    """Tell how a claimed job goes, and renew the claim."""

    job: JobId
    runner_id: RunnerId
    claim_revision: int
    message: Annotated[str, Meta(max_length=400)]
    kind: Annotated[str, Meta(min_length=1, max_length=32)] = "progress"
    percent: Annotated[int, Meta(ge=0, le=100)] | None = None
    refs: Refs = []
    meta: Json | None = None
    lease_ttl_ms: Ttl = 180_000


class CompleteJob(Request["JobMoved"], frozen=True, kw_only=True):
    """End a claimed job."""

    job: JobId
    runner_id: RunnerId
    claim_revision: int
    status: Literal["DONE", "FAILED"]
    summary: Annotated[str, Meta(max_length=800)] | None = None
    refs: Refs = []


class JobMoved(Result, frozen=True, kw_only=True):
    """The job after the change, and the event that records it."""

    job: Job
    event: JobEvent


class JobOpened(Result, frozen=True, kw_only=True):
    kind: Literal["job"]
    id: str
    job: Job
    prompt: str | None = None
    events: list[JobEvent]
    has_more_events: bool
