"""Every error of the library, in one tree.

    ValueError
    ├── ToolValidationError            the call is wrong as written: mend the named field
    └── PromptValidationError          a prompt or section is wrong as built
    TypeError
    └── SliceValueError                a value that could change may not enter a session
    RuntimeError
    ├── DispatchSubagentError          the run went wrong; reported as success=False
    │   ├── LimitReached               … turns, tokens, children or depth are used up
    │   ├── DeadlineExceeded           … time is used up
    │   └── DispatchCancelled          … someone called it off
    ├── SnapshotSerializationError     the state cannot be captured or written
    ├── SnapshotRestoreError           the snapshot does not fit, or does not read
    └── SessionClosedError             the session has ended
    ExceptionGroup
    └── ReducerErrors                  what reducers raised at one event; the others ran

The first two groups are the caller's mistakes; the others depend on what happens.
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
    """A tool call is wrong as written; the message names the field."""


class PromptValidationError(ValueError):
    """A prompt or section is wrong as built."""

    def __init__(self, message: str, *, section_path: tuple[str, ...] = ()) -> None:
        where = f"section {'/'.join(section_path)}: " if section_path else ""
        super().__init__(where + message)
        self.section_path = section_path


class SliceValueError(TypeError):
    """A value that could change, or that is no dataclass instance, was kept out of a slice."""


class DispatchSubagentError(RuntimeError):
    """A child run went wrong; the parent gets its text as a failed result."""


class LimitReached(DispatchSubagentError):
    """Turns, tokens, children or depth of a dispatch tree are used up."""

    def __init__(self, limit: str, allowed: int) -> None:
        subagents = limit in ("children", "depth")
        advice = "go on without further subagents" if subagents else "ask for less or raise it"
        super().__init__(f"limit reached: {limit} ({allowed}); {advice}")
        self.limit = limit
        self.allowed = allowed


class DeadlineExceeded(DispatchSubagentError):
    """The time of a dispatch is used up."""

    def __init__(self) -> None:
        super().__init__("deadline exceeded")


class DispatchCancelled(DispatchSubagentError):
    """Someone called the dispatch, or the tree above it, off."""

    def __init__(self, reason: str) -> None:
        super().__init__(f"cancelled: {reason}")
        self.reason = reason


class SnapshotSerializationError(RuntimeError):
    """The state cannot be captured, or a snapshot cannot be written as JSON."""


class SnapshotRestoreError(RuntimeError):
    """A snapshot names slices the session lacks, or its JSON does not read."""


class SessionClosedError(RuntimeError):
    """The session has ended; nothing more can be read from it or written to it."""


class ReducerErrors(ExceptionGroup[Exception]):
    """Reducers failed at one event; their slices are as before."""

    def derive(self, excs: Sequence[Exception], /) -> ReducerErrors:  # type: ignore[override]
        return ReducerErrors(self.message, excs)


def describe(error: BaseException) -> str:
    """The text of an error, or its class name when it has none or fails to give it."""
    try:
        text = str(error).strip()
    except Exception:  # an error of a hostile runner must not break the answer about it
        text = ""
    return text or type(error).__name__
