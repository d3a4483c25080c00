"""Requests and results for runners: heartbeats, and starting one."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.jobs.routing import Artifact, Profile
from longhouse.jobs.types.jobs import JobId, RunnerBootstrap, RunnerId, Ttl
from longhouse.jobs.types.presence import Counts, Runners
from longhouse.jobs.values import RunnerLease
from longhouse.kernel.delegation import Projects
from longhouse.kernel.values import Json, Request, Result

__all__ = [
    "Heard",
    "RunnerHeartbeat",
    "RunnerOpened",
    "RunnerStart",
    "StartRunner",
]


class StartRunner(Request["RunnerStart"], frozen=True, kw_only=True):
    """Start a runner for this workspace."""


class RunnerStart(Result, frozen=True, kw_only=True):
    attempted: bool
    jobs: Counts
    runner: Runners
    runner_bootstrap: RunnerBootstrap


class RunnerOpened(Result, frozen=True, kw_only=True):
    kind: Literal["runner"]
    id: str
    status: Literal["offline", "idle", "live"]
    lease: RunnerLease
    meta: dict[str, Any] | None = None


class RunnerHeartbeat(Request["Heard"], frozen=True, kw_only=True):
    """Report that a runner is online, what it is doing and what it can run."""

    runner_id: RunnerId
    status: Literal["idle", "live"]
    active_job_id: JobId | None = None
    lease_ttl_ms: Ttl = 20_000
    executors: Annotated[list[Annotated[str, Meta(max_length=64)]], Meta(max_length=16)] = []
    available: dict[str, bool] | None = None
    """False for an executor whose program is not on the runner's machine."""
    profiles: list[Profile] | dict[str, list[Profile]] | None = None
    supports_artifacts: Annotated[list[Artifact], Meta(max_length=16)] | None = None
    max_parallel: Annotated[int, Meta(ge=1, le=1_000)] | None = None
    sandbox_policy: Annotated[str, Meta(max_length=64)] | None = None
    meta: Json | None = None
    projects: Projects | None = None


class Heard(Result, frozen=True, kw_only=True):
    lease: RunnerLease
