"""The request and result of the workspace's history."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from longhouse.kernel.names import also
from longhouse.kernel.values import Request, Result, Seq
from longhouse.store.log import LogRow

__all__ = ["EventsFound", "FindEvents"]

Name = Annotated[str, Meta(min_length=1, max_length=200)]


class FindEvents(Request["EventsFound"], frozen=True, kw_only=True):
    """Find what happened in the workspace, newest first."""

    actor: Annotated[Name, also("by", "who", "agent_name")] | None = None
    """Part of the name of who did it."""
    subject: Annotated[Name, also("about", "item", "ref")] | None = None
    """What it is about, such as TASK-001."""
    stream: Annotated[Name, also("room")] | None = None
    kind: Annotated[Name, also("type", "event")] | None = None
    """Part of the kind, with spaces or underscores: `step done`."""
    since_ms: Annotated[int, Meta(ge=0, le=2**53)] | None = None
    output: bool = False
    """Include each piece of output of background processes."""
    before: Seq | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


class EventsFound(Result, frozen=True, kw_only=True):
    """The events found; the search went back to `searched_to`."""

    rows: list[LogRow]
    count: int
    has_more: bool
    next_before: int | None = None
    """The `before` with which the search goes on, whether or not anything was found so far."""
    searched_to: int
