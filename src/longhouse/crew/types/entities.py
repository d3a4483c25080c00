"""Values that the crew room's requests and results share."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.crew.liveness import Liveness
from longhouse.kernel.names import also
from longhouse.kernel.values import ANY_TEXT, Value

__all__ = ["Agent", "Message", "ProtocolEvent", "Reservation"]

AgentName = Annotated[
    str,
    Meta(min_length=1, max_length=200),
    also("agent", "name", "agent_name", "me", "from", "sender", "id"),
]
OwnName = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        description="default: the identity that this connection registered or proved to be",
    ),
    also("agent", "name", "agent_name", "me", "from", "sender", "id"),
]
AgentToken = Annotated[
    str, Meta(min_length=1, max_length=200, description="proves the identity; from agents.register")
]
BeadId = Annotated[
    str,
    Meta(max_length=128, description="the work item, called a bead: a task's id"),
    also("task", "task_id", "bead", "item", "ticket", "issue"),
]
OwnBeadId = Annotated[
    str,
    Meta(
        max_length=128,
        description="the work item, called a bead: a task's id (default: the task in focus, else "
        "the one assigned to you)",
    ),
    also("task", "task_id", "bead", "item", "ticket", "issue"),
]
ScopeText = Annotated[
    str,
    Meta(min_length=1, max_length=1024),
    also("path", "paths", "file", "files", "pattern", "glob"),
]
Root = Annotated[
    str, Meta(min_length=1, max_length=1024, description="your checkout, if not the server's")
]
Recipient = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        pattern=ANY_TEXT,
        description="an agent, role:<role> or broadcast",
    ),
    also("recipient", "to_agent", "recipients"),
]
Subject = Annotated[str, Meta(max_length=200), also("title", "topic")]
Line = Annotated[str, Meta(max_length=4000)]
Body = Annotated[str, Meta(max_length=60_000), also("text", "message", "content", "msg", "body_md")]
Category = Literal["HANDOFF", "BLOCKED", "DECISION", "INFO"]
Kind = Literal["agent", "person"]
Status = Literal["idle", "spawning", "running", "working", "stuck", "done", "stopped", "dead"]
Urgency = Literal["low", "medium", "high"]
MessageState = Literal["unread", "read", "acked"]
EventType = Literal["HANDOFF", "BLOCKED", "INCURSION", "RESUME", "INFO", "DECISION"]
Reason = Literal["uncommitted_scope", "in_progress_ownership", "prior_token", "confirmed"]


class Agent(Value, frozen=True, kw_only=True):
    """An identity, with its current liveness."""

    agent_id: str
    session_agent_id: str
    logical_agent_id: str
    kind: Literal["agent", "person", "job"]
    display_name: str
    role: str
    status: str
    liveness: Liveness
    created_at: str
    last_seen_at: str
    rig: str | None = None
    retired_at: str | None = None


class Reservation(Value, frozen=True, kw_only=True):
    """Files held by an agent for a work item until a given time."""

    reservation_id: str
    seq: int
    ref: str
    scope: str
    mode: Literal["exclusive", "shared"]
    agent_id: str
    bead_id: str
    state: Literal["active", "released", "expired"]
    created_at: str
    expires_at: str
    released_at: str | None = None
    taken_over_by: str | None = None
    owner_liveness: Liveness | None = None


class Message(Value, frozen=True, kw_only=True):
    """One message to one recipient."""

    message_id: str
    seq: int
    ref: str
    thread_id: str
    bead_id: str
    from_agent: str
    to_agent: str
    category: Category
    subject: str
    body: str
    state: MessageState
    requires_ack: bool
    created_at: str
    read_at: str | None
    acked_at: str | None
    answered_by: str | None = None
    """Whose reply settled it; only its recipient accepts it."""
    answered_at: str | None = None


class ProtocolEvent(Value, frozen=True, kw_only=True):
    """The stable envelope of a coordination event."""

    id: str
    version: Literal["v1"]
    event_type: EventType
    project_root: str
    bead_id: str | None
    from_agent: str | None
    to_agent: str | None
    scope: str | None
    created_at: str
    payload: dict[str, Any]
    ref: str
