"""Every error of the library, in one tree.

    ValueError
    ├── ToolValidationError            a tool call is invalid; the message names the field
    └── PromptValidationError          a prompt or section is invalid
    TypeError
    └── SliceValueError                a mutable value may not enter a session
    RuntimeError
    ├── DispatchSubagentError          the run failed; reported as success=False
    │   ├── LimitReached               … turns, tokens, children or depth are used up
    │   ├── DeadlineExceeded           … time is used up
    │   └── DispatchCancelled          … it was cancelled
    ├── SnapshotSerializationError     the state cannot be captured or written
    ├── SnapshotRestoreError           the snapshot does not fit, or cannot be read
    └── SessionClosedError             the session is closed
    ExceptionGroup
    └── ReducerErrors                  what reducers raised for one event; the others ran

The first two groups are the caller's mistakes; the others happen at run time.
"""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "DeadlineExceeded",
    "DispatchCancelled",
    "DispatchSubagentError",
    "LimitReached",
    "PromptValidationError",
    "ReducerErrors",
    "SessionClosedError",
    "SliceValueError",
    "SnapshotRestoreError",
    "SnapshotSerializationError",
    "ToolValidationError",
    "describe",
]


class ToolValidationError(ValueError):
    """A tool call is invalid; the message names the field."""


class PromptValidationError(ValueError):
    """A prompt or section is invalid."""

    def __init__(self, message: str, *, section_path: tuple[str, ...] = ()) -> None:
        where = f"section {'/'.join(section_path)}: " if section_path else ""
        super().__init__(where + message)
        self.section_path = section_path


class SliceValueError(TypeError):
    """A slice refused a value that is mutable or not a dataclass instance."""


class DispatchSubagentError(RuntimeError):
    """A child run failed; the parent gets its text as a failed result."""


class LimitReached(DispatchSubagentError):
    """The turns, tokens, children or depth of a dispatch tree are used up."""

    def __init__(self, limit: str, allowed: int) -> None:
        subagents = limit in ("children", "depth")
        advice = "continue without more subagents" if subagents else "ask for less or raise it"
        super().__init__(f"limit reached: {limit} ({allowed}); {advice}")
        self.limit = limit
        self.allowed = allowed


class DeadlineExceeded(DispatchSubagentError):
    """The time of a dispatch is used up."""

    def __init__(self) -> None:
        super().__init__("deadline exceeded")


class DispatchCancelled(DispatchSubagentError):
    """The dispatch, or the tree above it, was cancelled."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"cancelled: {reason}")
        self.reason = reason


class SnapshotSerializationError(RuntimeError):
    """The state cannot be captured, or a snapshot cannot be written as JSON."""


class SnapshotRestoreError(RuntimeError):
    """A snapshot names slices the session does not have, or its JSON cannot be read."""


class SessionClosedError(RuntimeError):
    """The session is closed and can no longer be read or written."""


class ReducerErrors(ExceptionGroup[Exception]):
    """Reducers failed for one event; their slices are unchanged."""

    def derive(self, excs: Sequence[Exception], /) -> ReducerErrors:  # type: ignore[override]
        return ReducerErrors(self.message, excs)


def describe(error: BaseException) -> str:
    """The text of an error, or its class name if it has none or `str` fails."""
    try:
        text = str(error).strip()
    except Exception:  # a hostile runner's error must not break the report about it
        text = ""
    return text or type(error).__name__
