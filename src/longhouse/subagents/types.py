"""The values that cross the dispatch boundary, and the protocol of a runner.

Both payloads are deeply frozen, so that reducers and records can keep them without copying.
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
    """Everything a child session returns."""

    message_summary: str
    artifacts: tuple[str, ...] = field(default_factory=tuple)
    tools_used: tuple[str, ...] = field(default_factory=tuple)

    def missing(self, request: DispatchSubagent) -> tuple[str, ...]:
        """The requested artifacts that were not delivered, in the order requested."""
        delivered = frozenset(self.artifacts)
        return tuple(label for label in request.expected_artifacts if label not in delivered)


class SubagentRunner(Protocol):
    """Builds the child prompt from `params` and evaluates it on the child's session and bus.

    `session.scope` holds what the child may use: tools, turns, tokens, time. A runner raises
    `ToolValidationError` if the request is invalid and `DispatchSubagentError` if the run fails.
    A runner whose children do not have their parent's tools says so to the parent's model in a
    sentence, in an attribute `guidance`.
    """

    def __call__(
        self, *, session: Session, bus: EventBus, params: DispatchSubagent
    ) -> DispatchSubagentResult: ...
