"""Runs subagents on any OpenAI-compatible endpoint; needs the extra `longhouse[openai]`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

try:
    from openai import APIError, OpenAI
    from openai.types.chat import ChatCompletion
except ImportError as error:
    raise ImportError(
        "longhouse.subagents.openai_runner needs the OpenAI SDK: pip install 'longhouse[openai]'"
    ) from error

from longhouse.subagents.errors import DispatchSubagentError, describe
from longhouse.subagents.loop import MAX_TURNS, Message, ModelCall, ModelTurn
from longhouse.subagents.prompts import Section
from longhouse.subagents.runners import PromptRunner
from longhouse.subagents.schema import parameters_schema
from longhouse.subagents.tools import Tool

__all__ = ["OpenAIModel", "OpenAIRunner"]

CUT_NOTE = " [cut by the model's length limit]"


class OpenAIModel:
    """Chat completions of one model, through a client configured by the caller."""

    def __init__(self, client: OpenAI, *, model: str) -> None:
        self._client = client
        self._model = model

    @property
    def name(self) -> str:
        return f"openai:{self._model}"

    def complete(
        self,
        messages: Sequence[Message],
        tools: Sequence[Tool[Any, Any]],
        *,
        seconds: float | None,
    ) -> ModelTurn:
        given: dict[str, Any] = {"messages": [_message(message) for message in messages]}
        if tools:
            given["tools"] = [_tool(tool) for tool in tools]
        if seconds is not None:
            given["timeout"] = seconds
        try:
            answer = self._client.chat.completions.create(model=self._model, **given)
        except APIError as error:
            raise DispatchSubagentError(f"the model request failed: {describe(error)}") from error
        try:
            return _turn(answer)
        except (AttributeError, IndexError, TypeError) as error:
            # The SDK does not validate an endpoint's response.
            raise DispatchSubagentError("the endpoint sent no chat completion") from error


class OpenAIRunner(PromptRunner):
    """A ready runner: `OpenAIRunner(OpenAI(), model="...")`."""

    def __init__(
        self,
        client: OpenAI,
        *,
        model: str,
        sections: Iterable[Section] = (),
        max_turns: int = MAX_TURNS,
    ) -> None:
        super().__init__(OpenAIModel(client, model=model), sections=sections, max_turns=max_turns)


def _turn(answer: ChatCompletion) -> ModelTurn:
    choice = answer.choices[0]
    text = choice.message.content or choice.message.refusal or ""
    if choice.finish_reason == "length":
        text += CUT_NOTE
    calls = tuple(
        ModelCall(call.id, call.function.name, call.function.arguments)
        for call in choice.message.tool_calls or ()
        if call.type == "function"
    )
    return ModelTurn(text, calls, answer.usage.total_tokens if answer.usage else 0)


def _tool(tool: Tool[Any, Any]) -> Any:
    return {
        "type": "function",
        "function": {
            "name": tool.name,
            "description": tool.description,
            "parameters": parameters_schema(tool),
        },
    }


def _message(message: Message) -> Any:
    plain: dict[str, object] = {"role": message.role, "content": message.text}
    if message.calls:
        plain["content"] = message.text or None
        plain["tool_calls"] = [
            {
                "id": call.call_id,
                "type": "function",
                "function": {"name": call.name, "arguments": call.arguments},
            }
            for call in message.calls
        ]
    if message.call_id is not None:
        plain["tool_call_id"] = message.call_id
    return plain
