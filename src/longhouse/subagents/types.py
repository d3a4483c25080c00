"""The values that cross the dispatch boundary, and the runner that the caller supplies.

Both payloads are frozen all the way down, so that reducers and records keep them without copying.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

if TYPE_CHECKING:
    from longhouse.subagents.events import EventBus
    from longhouse.subagents.session import Session

__all__ = [
    "DISPATCH_TOOL",
    "DispatchSubagent",
    "DispatchSubagentResult",
    "SubagentMode",
    "SubagentRunner",
]

DISPATCH_TOOL = "dispatch_subagent"

SubagentMode = Literal["plan_step", "ad_hoc"]


@dataclass(slots=True, frozen=True)
class DispatchSubagent:
    """A bounded task for a throwaway child session."""

    mode: SubagentMode
    prompt_ns: str
    prompt_key: str
    instructions: str
    expected_artifacts: tuple[str, ...] = field(default_factory=tuple)
    plan_step_id: str | None = None


@dataclass(slots=True, frozen=True)
class DispatchSubagentResult:
    """All that comes back from a child session."""

    message_summary: str
    artifacts: tuple[str, ...] = field(default_factory=tuple)
    tools_used: tuple[str, ...] = field(default_factory=tuple)

    def missing(self, request: DispatchSubagent) -> tuple[str, ...]:
        """The artifacts that were asked for and not delivered, in the order asked."""
        delivered = frozenset(self.artifacts)
        return tuple(label for label in request.expected_artifacts if label not in delivered)


class SubagentRunner(Protocol):
    """Builds the child prompt from `params` and evaluates it on the child's session and bus.

    What the child may use (tools, turns, tokens, time) stands in `session.scope`. A runner raises
    `ToolValidationError` when the request is at fault and `DispatchSubagentError` when the run is.
    One whose children have other tools than their parent has an attribute `guidance` that tells
    the parent's model so, in a sentence.
    """

    def __call__(
        self, *, session: Session, bus: EventBus, params: DispatchSubagent
    ) -> DispatchSubagentResult: ...
