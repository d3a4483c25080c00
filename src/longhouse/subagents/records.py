"""How a dispatch ended, and the seam where it is recorded.

A recorder hears of a dispatch before it starts and once more when it ends, on every path. A call
with invalid parameters is no dispatch and is not heard of.
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
    """The child could not take the captured state."""
    RUNNER_REJECTED = "runner_rejected"
    """The runner raised ToolValidationError: the request is at fault."""
    FAILED = "failed"
    """The runner raised anything else."""
    BAD_RESULT = "bad_result"
    """The runner returned something that is no proper DispatchSubagentResult."""
    DEADLINE = "deadline"
    BUDGET = "budget"
    """Turns, tokens, children or depth were used up."""
    CANCELLED = "cancelled"
    """Someone called `Scope.cancel`."""
    INTERRUPTED = "interrupted"
    """The program was: KeyboardInterrupt, a cancelled task, a crash."""


@dataclass(slots=True, frozen=True)
class DispatchStarted:
    dispatch_id: str
    parent_id: str | None
    """The dispatch whose child dispatched this one; None at the root."""
    session_id: str | None
    depth: int
    params: DispatchSubagent
    snapshot: Snapshot | None
    """What the child starts from; `snapshot.digest()` names it. None if capturing failed."""
    started_at: datetime


@dataclass(slots=True, frozen=True)
class DispatchFinished:
    dispatch_id: str
    outcome: Outcome
    message: str
    """The summary, or why there is none."""
    tools: tuple[tuple[str, int], ...]
    """Tools the child called, in first-seen order, and how often; kept on failure too."""
    usage: Usage
    artifacts: tuple[str, ...]
    missing_artifacts: tuple[str, ...]
    error_type: str | None
    finished_at: datetime


class Recorder(Protocol):
    def started(self, start: DispatchStarted, /) -> None:
        """Record that a dispatch is about to start; if this raises, it does not start."""
        ...

    def finished(self, finish: DispatchFinished, /) -> None:
        """Close the record; if this raises, it is logged and the result still stands."""
        ...


class NullRecorder:
    """Keeps nothing."""

    def started(self, start: DispatchStarted, /) -> None:
        """Nothing to do."""

    def finished(self, finish: DispatchFinished, /) -> None:
        """Nothing to do."""
