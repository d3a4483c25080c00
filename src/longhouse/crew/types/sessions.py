"""Requests and results for the session overview, conversations and tracked items."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.crew.types.entities import Agent, BeadId, Message, ProtocolEvent
from longhouse.kernel.values import Limit, PastRequest, Request, Result, Seq, Value

__all__ = [
    "Communication",
    "Conversation",
    "Epic",
    "Group",
    "ItemChange",
    "ItemsSynced",
    "ListSessions",
    "Moment",
    "MomentOpened",
    "SessionCard",
    "SessionState",
    "Sessions",
    "SyncItems",
    "Timeline",
]

SessionState = Literal[
    "active", "deciding", "needs_input", "completed", "stale", "evicted", "stuck", "dead"
]


class Conversation(PastRequest["Timeline"], frozen=True, kw_only=True):
    """Show the timeline of a work item."""

    bead_id: BeadId
    cursor: Seq | None = None
    limit: Limit = 50


class Moment(Value, frozen=True, kw_only=True):
    """One row of a timeline: a protocol event, a message or an activity."""

    seq: int
    ref: str
    type: Literal["protocol", "message", "activity"]
    kind: str
    label: str
    timestamp: str
    actor: str | None = None
    event: ProtocolEvent | None = None
    message: Message | None = None
    data: dict[str, Any] = {}


class MomentOpened(Result, frozen=True, kw_only=True):
    kind: Literal["moment"]
    ref: str
    moment: Moment


class Timeline(Result, frozen=True, kw_only=True):
    bead_id: str
    thread: list[Moment]
    count: int
    has_more: bool
    next_cursor: int | None = None


class Epic(Value, frozen=True, kw_only=True):
    """The parent of an item."""

    id: str
    title: str
    status: str | None = None


class Communication(Value, frozen=True, kw_only=True):
    """A summary of the messages about an item."""

    unread_count: int
    pending_required: bool
    latest_snippet: str | None = None


class SessionCard(Value, frozen=True, kw_only=True):
    """One work item with its owner and state."""

    id: str
    title: str
    epic: Epic
    status: str
    session_state: SessionState
    owner: str | None = None
    last_actor: str | None = None
    last_activity_at: str
    communication: Communication


class Group(Value, frozen=True, kw_only=True):
    """The owners with one role, and their combined health."""

    role: str
    agents: list[str]
    health: Literal["active", "warning", "critical", "offline"]


class ListSessions(PastRequest["Sessions"], frozen=True, kw_only=True):
    """Show who works on what."""

    open_only: bool = False
    cursor: Annotated[str, Meta(max_length=128)] | None = None
    limit: Limit = 50


class Sessions(Result, frozen=True, kw_only=True):
    sessions: list[SessionCard]
    agents: list[Agent]
    groups: list[Group]
    incursions: list[ProtocolEvent]
    incursions_over: list[str] = []
    """The refs of those incursions whose reservation has ended since."""
    stale_minutes: int
    count: int
    has_more: bool
    next_cursor: str | None = None


class SyncItems(Request["ItemsSynced"], frozen=True, kw_only=True):
    """Record what changed in an external tracker."""


class ItemChange(Value, frozen=True, kw_only=True):
    """A recorded change to an item."""

    ref: str
    bead_id: str
    kind: str


class ItemsSynced(Result, frozen=True, kw_only=True):
    source: str
    items: int
    changes: list[ItemChange]
    count: int
    has_more: bool
