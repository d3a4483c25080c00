"""Requests and results of fan-out and merge."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from longhouse.jobs.types.jobs import AnchorId, JobId, JobKind, Priority, Prompt, TaskId
from longhouse.kernel.values import Request, Result, Title, Value

__all__ = ["FanOut", "FannedJob", "FannedOut", "MergeReport", "Merged", "MergedJob"]


class FanOut(Request["FannedOut"], frozen=True, kw_only=True):
    """Create one job per anchor from one prompt."""

    anchors: Annotated[list[AnchorId], Meta(min_length=1)]
    prompt: Prompt
    task: TaskId | None = None
    title_prefix: Annotated[str, Meta(min_length=1, max_length=120)] | None = None
    job_kind: JobKind = "codex_cli"
    job_priority: Priority = "MEDIUM"


class FannedJob(Value, frozen=True, kw_only=True):
    job_id: str
    anchor: str
    created_ref: str


class FannedOut(Result, frozen=True, kw_only=True):
    task_id: str | None = None
    count: int
    jobs: list[FannedJob]


class MergeReport(Request["Merged"], frozen=True, kw_only=True):
    """Merge the results of jobs into one report."""

    jobs: Annotated[list[JobId], Meta(min_length=1, max_length=50)]
    task: TaskId | None = None
    title: Title | None = None
    pin: bool = True


class MergedJob(Value, frozen=True, kw_only=True):
    job_id: str
    status: str
    anchor: str | None = None
    last_ref: str
    completion_refs: list[str]
    missing_proof: bool


class Merged(Result, frozen=True, kw_only=True):
    ref: str
    title: str
    pinned: bool
    task_id: str | None = None
    count: int
    jobs: list[MergedJob]
    report: str
