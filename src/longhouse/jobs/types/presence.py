"""Counts of jobs and runners. `status` shows both, so this module imports very little."""

from __future__ import annotations

from typing import Literal

from longhouse.kernel.values import Value

__all__ = ["Counts", "Runners", "Waiting"]


class Counts(Value, frozen=True, kw_only=True):
    queued: int
    running: int


class Waiting(Value, frozen=True, kw_only=True):
    """Why a queued job does not run, and what would help."""

    code: Literal[
        "after",
        "busy",
        "changes",
        "declined",
        "full",
        "held",
        "later",
        "no_agent",
        "no_runner",
        "runner_fails",
        "starting",
    ]
    why: str
    fix: str | None = None


class Runners(Value, frozen=True, kw_only=True):
    """Runner counts; `status` is live if any runner is, else idle if any is, else offline."""

    status: Literal["offline", "idle", "live"]
    live_count: int
    idle_count: int
    offline_count: int
