"""Extracts from an event what a session keeps: its immutable parts."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import is_dataclass, replace

from longhouse.subagents.errors import SliceValueError
from longhouse.subagents.events import PromptExecuted, ToolInvoked
from longhouse.subagents.immutable import flaw
from longhouse.subagents.reducers import PromptData, ToolData
from longhouse.subagents.slices import FROZEN_HINT

__all__ = ["prompt_data", "tool_data"]


def tool_data(event: ToolInvoked) -> tuple[ToolData, SliceValueError | None]:
    """The call, which is always kept, and the error if its payload is mutable and so is not.

    A payload that is not a dataclass was never meant for a slice and is dropped silently.
    """
    payload, refusal = event.result.value, None
    if not _is_instance(payload):
        payload = None
    elif found := flaw(payload):
        refusal = SliceValueError(
            f"tool {event.name} returned {type(payload).__qualname__}{found}; {FROZEN_HINT}"
        )
        payload = None
    return ToolData(payload, _lasting(event)), refusal


def prompt_data(event: PromptExecuted) -> Iterator[PromptData]:
    """One item per dataclass in the output, which may be one or several."""
    output = event.result.output
    items: Iterable[object] = (output,)
    if isinstance(output, Iterable) and not _is_instance(output):
        items = output
    return (PromptData(item, event) for item in items if _is_instance(item))


def _is_instance(value: object) -> bool:
    return is_dataclass(value) and not isinstance(value, type)


def _lasting(event: ToolInvoked) -> ToolInvoked:
    params, result = event.params, event.result
    if flaw(params):
        params = None
    if flaw(result):
        result = replace(result, value=None)
    if params is event.params and result is event.result:
        return event
    return replace(event, params=params, result=result)
