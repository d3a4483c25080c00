"""The prompt section that offers `dispatch_subagent`: guidance for the model, and the tool."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from longhouse.subagents.calls import MAX_PARALLEL, ToolCall, run_together
from longhouse.subagents.dispatch import dispatch, innermost
from longhouse.subagents.limits import Limits
from longhouse.subagents.normalize import INSTRUCTIONS_LIMIT
from longhouse.subagents.prompts import Section
from longhouse.subagents.records import Recorder
from longhouse.subagents.session import Session
from longhouse.subagents.tools import Tool, ToolContext, ToolResult
from longhouse.subagents.types import (
    DISPATCH_TOOL,
    DispatchSubagent,
    DispatchSubagentResult,
    SubagentRunner,
)

__all__ = ["PromptSubagentToolsSection"]

GUIDANCE = f"""\
Delegate work to `{DISPATCH_TOOL}` when it would crowd this conversation and only its outcome \
matters here: deep research, large drafting, or one step of a plan.

- Make `instructions` specific and complete: ASCII, at most {INSTRUCTIONS_LIMIT:,} characters.
- Enumerate in `expected_artifacts` what you want delivered, one short label each.
- For a step of a plan, set `mode` to `plan_step` and pass its `plan_step_id`; for anything else, \
use `ad_hoc`.
- `prompt_ns` and `prompt_key` are only labels for the subagent's prompt.
- {{tools}}
- You get back only its summary, the artifacts it delivered and the names of the tools it used.
- For several independent tasks, call the tool several times in one turn. They run in parallel."""

INHERITS = """\
The subagent sees the state of this session but not this conversation. It inherits the full tool \
set and works on its own copy of the state; what it changes there is discarded."""


class PromptSubagentToolsSection(Section):
    """Offers `dispatch_subagent` on a session, with a runner that evaluates the child prompt.

    `limits` apply to each child and everything below it, within what `session.scope` leaves. The
    tool works on the session of the call's context, so that a child can use it too; without a
    context, on `session`, or on the child of it whose runner makes the call.
    """

    def __init__(
        self,
        *,
        session: Session,
        runner: SubagentRunner,
        limits: Limits | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        super().__init__(title="Prompt Subagent Dispatch", key="prompt-subagent.tools")
        if not isinstance(session, Session):
            raise TypeError(f"session must be the parent Session; got {type(session).__qualname__}")
        if not callable(runner):
            raise TypeError("runner must be callable as runner(session=..., bus=..., params=...)")
        self._session = session
        self._runner = runner
        self._limits = Limits() if limits is None else limits
        self._recorder = recorder
        self._tool = Tool(
            name=DISPATCH_TOOL,
            description="Run a prompt in an isolated child session.",
            params_type=DispatchSubagent,
            result_type=DispatchSubagentResult,
            handler=self._dispatch,
            concurrent=True,
        )

    def body(self) -> str:
        return GUIDANCE.format(tools=getattr(self._runner, "guidance", INHERITS))

    def tools(self) -> tuple[Tool[Any, Any], ...]:
        return (self._tool,)

    def dispatch_all(
        self,
        requests: Iterable[DispatchSubagent],
        *,
        context: ToolContext | None = None,
        max_parallel: int = MAX_PARALLEL,
    ) -> tuple[ToolResult[DispatchSubagentResult], ...]:
        """Dispatch in parallel, all from one snapshot; results are in order, failures included."""
        return run_together(
            [ToolCall(self._tool, request) for request in requests],
            context=ToolContext(innermost(self._session)) if context is None else context,
            max_parallel=max_parallel,
        )

    def _dispatch(
        self, params: DispatchSubagent, *, context: ToolContext | None = None
    ) -> ToolResult[DispatchSubagentResult]:
        if context is None:
            context = ToolContext(innermost(self._session))
        return dispatch(
            params,
            session=context.session,
            runner=self._runner,
            recorder=self._recorder,
            limits=self._limits,
            tools=context.tools or context.session.scope.tools,
            snapshot=context.snapshot,
        )
