"""Reducers, which turn events into state, and selectors, which read it.

A reducer takes the current values of a slice and one event, and returns the next values. It changes
nothing in place and has no side effects. Equal reducers count as one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from longhouse.subagents.events import PromptExecuted, ToolInvoked

if TYPE_CHECKING:
    from longhouse.subagents.session import Session

__all__ = [
    "DataEvent",
    "PromptData",
    "Reducer",
    "ToolData",
    "append",
    "append_all",
    "append_call",
    "replace_latest",
    "select_all",
    "select_latest",
    "select_where",
    "upsert_by",
]

T = TypeVar("T")


@dataclass(slots=True, frozen=True)
class ToolData:
    """One tool call as a session keeps it: the payload if it is a dataclass, and the call."""

    value: Any
    source: ToolInvoked


@dataclass(slots=True, frozen=True)
class PromptData:
    """One dataclass that a prompt returned as its output, or as one item of it."""

    value: Any
    source: PromptExecuted


DataEvent = ToolData | PromptData


class Reducer(Protocol):
    def __call__(self, values: tuple[Any, ...], event: DataEvent, /) -> Iterable[Any]: ...


def append_all(values: tuple[Any, ...], event: DataEvent) -> tuple[Any, ...]:
    """Keep every value; the default for a type without reducers."""
    return (*values, event.value)


def append(values: tuple[Any, ...], event: DataEvent) -> tuple[Any, ...]:
    """Keep a value unless the slice already has an equal one."""
    return values if event.value in values else (*values, event.value)


def append_call(values: tuple[Any, ...], event: DataEvent) -> tuple[Any, ...]:
    """Keep every tool call itself; the default for `ToolData`."""
    return (*values, event) if isinstance(event, ToolData) else values


def replace_latest(values: tuple[Any, ...], event: DataEvent) -> tuple[Any, ...]:
    """Keep only the latest value."""
    return (event.value,)


@dataclass(slots=True, frozen=True)
class _UpsertBy:
    key: Callable[[Any], object]

    def __call__(self, values: tuple[Any, ...], event: DataEvent) -> tuple[Any, ...]:
        wanted = self.key(event.value)
        kept: list[Any] = []
        placed = False
        for value in values:
            if self.key(value) != wanted:
                kept.append(value)
            elif not placed:
                kept.append(event.value)
                placed = True
        if not placed:
            kept.append(event.value)
        return tuple(kept)


def upsert_by(key: Callable[[Any], object]) -> Reducer:
    """Replace the first value with the same key and drop the others; append if there is none."""
    return _UpsertBy(key)


def select_all(session: Session, slice_type: type[T]) -> tuple[T, ...]:
    return session.select_all(slice_type)


def select_latest(session: Session, slice_type: type[T]) -> T | None:
    values = session.select_all(slice_type)
    return values[-1] if values else None


def select_where(
    session: Session, slice_type: type[T], predicate: Callable[[T], bool]
) -> tuple[T, ...]:
    return tuple(value for value in session.select_all(slice_type) if predicate(value))
