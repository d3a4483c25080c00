"""The outcome of a dispatch, and the interface through which dispatches are recorded.

A recorder is called before a dispatch starts and again when it ends, on every path. A call with
invalid parameters is not a dispatch and is not recorded.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Protocol

from longhouse.subagents.limits import Usage
from longhouse.subagents.snapshots import Snapshot
from longhouse.subagents.types import DispatchSubagent

__all__ = [
    "DispatchFinished",
    "DispatchStarted",
    "NullRecorder",
    "Outcome",
    "Recorder",
]


class Outcome(StrEnum):
    COMPLETED = "completed"
    CAPTURE_FAILED = "capture_failed"
    """The parent's state could not be captured."""
    HYDRATE_FAILED = "hydrate_failed"
    """The captured state could not be loaded into the child."""
    RUNNER_REJECTED = "runner_rejected"
    """The runner raised ToolValidationError: the request is invalid."""
    FAILED = "failed"
    """The runner raised anything else."""
    BAD_RESULT = "bad_result"
    """The runner returned something other than a valid DispatchSubagentResult."""
    DEADLINE = "deadline"
    BUDGET = "budget"
    """Turns, tokens, children or depth were used up."""
    CANCELLED = "cancelled"
    """`Scope.cancel` was called."""
    INTERRUPTED = "interrupted"
    """The program was interrupted: KeyboardInterrupt, a cancelled task, a crash."""


@dataclass(slots=True, frozen=True)
class DispatchStarted:
    dispatch_id: str
    parent_id: str | None
    """The dispatch whose child dispatched this one; None at the root."""
    session_id: str | None
    depth: int
    params: DispatchSubagent
    snapshot: Snapshot | None
    """The child's initial state; `snapshot.digest()` identifies it. None if capturing failed."""
    started_at: datetime


@dataclass(slots=True, frozen=True)
class DispatchFinished:
    dispatch_id: str
    outcome: Outcome
    message: str
    """The summary, or why there is none."""
    tools: tuple[tuple[str, int], ...]
    """Tools the child called, in first-seen order, and how often; also kept on failure."""
    usage: Usage
    artifacts: tuple[str, ...]
    missing_artifacts: tuple[str, ...]
    error_type: str | None
    finished_at: datetime


class Recorder(Protocol):
    def started(self, start: DispatchStarted, /) -> None:
        """Record that a dispatch is about to start; if this raises, the dispatch does not start."""
        ...

    def finished(self, finish: DispatchFinished, /) -> None:
        """Finish the record; if this raises, the error is logged and the result still counts."""
        ...


class NullRecorder:
    """Records nothing."""

    def started(self, start: DispatchStarted, /) -> None:
        """Nothing to do."""

    def finished(self, finish: DispatchFinished, /) -> None:
        """Nothing to do."""
