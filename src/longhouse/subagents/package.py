"""Packages what remains of a child run: its result, rebuilt from plain values, and its tool use."""

from __future__ import annotations

import inspect
import logging

from longhouse.subagents.errors import DispatchSubagentError
from longhouse.subagents.events import ToolInvoked
from longhouse.subagents.normalize import concise_ascii
from longhouse.subagents.types import DispatchSubagentResult

__all__ = ["InvalidResult", "ToolUsage", "package"]

logger = logging.getLogger(__name__)


class InvalidResult(DispatchSubagentError):
    """The runner's result cannot be passed to the parent."""


class ToolUsage:
    """Counts a child's tool calls, including failed ones, in first-seen order."""

    __slots__ = ("_counts",)

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}

    def handle(self, event: ToolInvoked) -> None:
        name = _exact(event.name)
        self._counts[name] = self._counts.get(name, 0) + 1

    def names(self) -> tuple[str, ...]:
        return tuple(self._counts)

    def counts(self) -> tuple[tuple[str, int], ...]:
        return tuple(self._counts.items())


def package(raw: object, used: ToolUsage) -> DispatchSubagentResult:
    """The runner's result rebuilt from its parts, so that only plain values reach the parent."""
    if inspect.iscoroutine(raw):
        raw.close()  # otherwise Python warns later that it was never awaited
    if not isinstance(raw, DispatchSubagentResult):
        logger.error("a runner must return DispatchSubagentResult; got %s", type(raw))
        raise InvalidResult("invalid result payload")
    try:
        summary = _exact(raw.message_summary)
        artifacts = _labels(raw.artifacts)
        tools_used = _labels(raw.tools_used) or used.names()
    except Exception as error:
        raise InvalidResult("invalid result payload") from error
    if not summary.strip():
        raise InvalidResult("empty result summary")
    return DispatchSubagentResult(concise_ascii(summary), artifacts, tools_used)


def _exact(text: object) -> str:
    if not isinstance(text, str):
        raise TypeError(f"expected text; got {type(text).__qualname__}")
    return str.__str__(text)  # a subclass could carry extra state


def _labels(values: object) -> tuple[str, ...]:
    if not isinstance(values, (list, tuple)):
        raise TypeError(f"expected a tuple of labels; got {type(values).__qualname__}")
    return tuple([_exact(value) for value in values])
