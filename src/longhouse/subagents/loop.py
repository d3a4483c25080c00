"""Evaluates a prompt on a model: ask, call the tools it requests, ask again, until it is done.

The session's scope admits every turn first, so that no loop exceeds its time, tokens or turns. A
model's mistake in a tool call is answered, not fatal.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Protocol

from longhouse.subagents.calls import ToolCall, call_tools
from longhouse.subagents.errors import LimitReached, ToolValidationError, describe
from longhouse.subagents.events import PromptExecuted, PromptResponse
from longhouse.subagents.prompts import Prompt
from longhouse.subagents.schema import parse_arguments, result_text
from longhouse.subagents.session import Session
from longhouse.subagents.tools import Tool, ToolContext, ToolResult

__all__ = ["MAX_TURNS", "Message", "Model", "ModelCall", "ModelTurn", "evaluate"]

MAX_TURNS = 50


@dataclass(slots=True, frozen=True)
class ModelCall:
    """A tool call as a model writes it: arguments are JSON text, valid or not."""

    call_id: str
    name: str
    arguments: str


@dataclass(slots=True, frozen=True)
class ModelTurn:
    """One answer from a model; without calls it is the last."""

    text: str
    calls: tuple[ModelCall, ...] = ()
    tokens: int = 0


@dataclass(slots=True, frozen=True)
class Message:
    role: Literal["system", "user", "assistant", "tool"]
    text: str
    calls: tuple[ModelCall, ...] = ()
    call_id: str | None = None


class Model(Protocol):
    """A chat model of any provider. It raises DispatchSubagentError if it cannot answer."""

    @property
    def name(self) -> str: ...

    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool[Any, Any]],
        *,
        seconds: float | None,
    ) -> ModelTurn: ...


def evaluate(
    prompt: Prompt, request: str, *, model: Model, session: Session, max_turns: int = MAX_TURNS
) -> PromptResponse:
    """Run the loop for `request` under `prompt`; its events go to the session's bus."""
    rendered = prompt.render()
    tools = {tool.name: tool for tool in rendered.tools}
    context = ToolContext(
        session, tools=rendered.tools, prompt_name=prompt.name, adapter=model.name
    )
    messages = [Message("system", rendered.text), Message("user", request)]
    for _ in range(max_turns):
        session.scope.start_turn()
        turn = model.complete(messages, rendered.tools, seconds=session.scope.seconds_left())
        session.scope.spend(turn.tokens)
        if not turn.calls:
            response = PromptResponse(prompt.name, turn.text)
            session.bus.publish(PromptExecuted(prompt.name, model.name, response))
            return response
        messages.append(Message("assistant", turn.text, calls=turn.calls))
        for call, result in zip(turn.calls, _answer(turn.calls, tools, context), strict=True):
            messages.append(Message("tool", result_text(result), call_id=call.call_id))
    raise LimitReached("turns", max_turns)


def _answer(
    calls: Sequence[ModelCall], tools: Mapping[str, Tool[Any, Any]], context: ToolContext
) -> list[ToolResult[Any]]:
    """The results of one turn's calls, in order; invalid calls get an error result."""
    understood = [_understand(call, tools) for call in calls]
    results = iter(
        call_tools([one for one in understood if isinstance(one, ToolCall)], context=context)
    )
    return [next(results) if isinstance(one, ToolCall) else one for one in understood]


def _understand(call: ModelCall, tools: Mapping[str, Tool[Any, Any]]) -> ToolCall | ToolResult[Any]:
    tool = tools.get(call.name)
    if tool is None:
        known = ", ".join(sorted(tools)) or "none"
        return ToolResult(f"Unknown tool '{call.name}'. Tools: {known}.", None, success=False)
    try:
        return ToolCall(tool, parse_arguments(tool, call.arguments), call.call_id)
    except ToolValidationError as error:
        return ToolResult(f"Tool validation failed: {describe(error)}", None, success=False)
