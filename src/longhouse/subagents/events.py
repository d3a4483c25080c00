"""The events of a run and the in-process bus that carries them.

Delivery is synchronous, on the publishing thread, in the order of subscription, by the exact type
of the event. Publishing never raises for a failing handler: it returns the errors.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from longhouse.subagents.errors import SessionClosedError
from longhouse.subagents.tools import ToolResult

__all__ = [
    "EventBus",
    "HandlerFailure",
    "InProcessEventBus",
    "NullEventBus",
    "PromptExecuted",
    "PromptResponse",
    "PublishResult",
    "ToolInvoked",
]

logger = logging.getLogger(__name__)

E = TypeVar("E")
EventHandler = Callable[[Any], object]


@dataclass(slots=True, frozen=True)
class ToolInvoked:
    """A tool handler ran, successfully or not."""

    prompt_name: str
    adapter: str
    name: str
    params: object
    result: ToolResult[Any]
    call_id: str | None = None


@dataclass(slots=True, frozen=True)
class PromptResponse:
    """The result of evaluating a prompt."""

    prompt_name: str
    text: str
    output: object = None
    """Structured output: one dataclass or several; a session keeps them in their slices."""


@dataclass(slots=True, frozen=True)
class PromptExecuted:
    """A prompt was evaluated completely, including all its tool calls."""

    prompt_name: str
    adapter: str
    result: PromptResponse


@dataclass(slots=True, frozen=True)
class HandlerFailure:
    handler: EventHandler
    error: Exception

    def __str__(self) -> str:
        return f"{self.handler!r} -> {self.error!r}"


@dataclass(slots=True, frozen=True)
class PublishResult:
    """Which handlers received an event, and which failed."""

    event: object
    handlers_invoked: tuple[EventHandler, ...] = ()
    errors: tuple[HandlerFailure, ...] = ()
    handled_count: int = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "handled_count", len(self.handlers_invoked))

    @property
    def ok(self) -> bool:
        return not self.errors

    def raise_if_errors(self) -> None:
        if self.errors:
            failures = ", ".join(str(failure) for failure in self.errors)
            raise ExceptionGroup(
                f"handlers of {type(self.event).__name__} failed: {failures}",
                [failure.error for failure in self.errors],
            )


class EventBus(Protocol):
    def subscribe(self, event_type: type[E], handler: Callable[[E], object]) -> None: ...

    def unsubscribe(self, event_type: type[E], handler: Callable[[E], object]) -> bool: ...

    def publish(self, event: object) -> PublishResult: ...


class NullEventBus:
    """Delivers nothing."""

    def subscribe(self, event_type: type[E], handler: Callable[[E], object]) -> None:
        """Ignore the handler."""

    def unsubscribe(self, event_type: type[E], handler: Callable[[E], object]) -> bool:  # noqa: ARG002
        return False

    def publish(self, event: object) -> PublishResult:
        return PublishResult(event)


class InProcessEventBus:
    """Calls every handler in turn. Safe to share between threads."""

    __slots__ = ("__weakref__", "_closed", "_handlers", "_lock")

    def __init__(self) -> None:
        # Replaced, never changed in place: publish reads it without the lock.
        self._handlers: dict[type, tuple[EventHandler, ...]] = {}
        self._lock = threading.Lock()
        self._closed = False

    def subscribe(self, event_type: type[E], handler: Callable[[E], object]) -> None:
        with self._lock:
            if self._closed:
                raise SessionClosedError(
                    "this event bus was closed with its session; subscribe to an open one"
                )
            present = self._handlers.get(event_type, ())
            self._handlers = {**self._handlers, event_type: (*present, handler)}

    def unsubscribe(self, event_type: type[E], handler: Callable[[E], object]) -> bool:
        """Remove the handler once; returns whether it was subscribed."""
        found = _among(self._handlers.get(event_type, ()), handler)
        with self._lock:
            present = self._handlers.get(event_type, ())
            for position, one in enumerate(present):
                if one is found:
                    rest = present[:position] + present[position + 1 :]
                    self._handlers = {**self._handlers, event_type: rest}
                    return True
            return False

    def listeners(self, event_type: type[object]) -> int:
        """How many handlers are subscribed to this event type."""
        return len(self._handlers.get(event_type, ()))

    def publish(self, event: object) -> PublishResult:
        handlers = self._handlers.get(type(event), ())
        errors: list[HandlerFailure] = []
        for handler in handlers:
            try:
                handler(event)
            except Exception as error:
                logger.exception("handler %r of %s failed", handler, type(event).__name__)
                errors.append(HandlerFailure(handler, error))
        return PublishResult(event, handlers, tuple(errors))

    def close(self) -> None:
        """Drop all handlers and accept no more."""
        with self._lock:
            self._closed = True
            self._handlers = {}


def _among(handlers: tuple[EventHandler, ...], wanted: EventHandler) -> EventHandler | None:
    """The first handler that is `wanted`, or else the first that equals it.

    Called without the lock, since a comparison may run a foreign handler's code.
    """
    for one in handlers:
        if one is wanted:
            return one
    return next((one for one in handlers if one == wanted), None)
