"""Requests and results for messages and protocol events."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from longhouse.crew.types.entities import (
    AgentToken,
    BeadId,
    Body,
    Line,
    Message,
    MessageState,
    OwnBeadId,
    OwnName,
    ProtocolEvent,
    Recipient,
    Root,
    ScopeText,
    Subject,
    Urgency,
)
from longhouse.kernel.names import also
from longhouse.kernel.values import Limit, Request, Result, Seq

__all__ = [
    "CATEGORIES",
    "Ack",
    "EventSent",
    "HandOff",
    "Inbox",
    "InboxPage",
    "MessageId",
    "MessageMarked",
    "MessageOpened",
    "Read",
    "ReportBlocked",
    "Send",
    "Sent",
    "Thread",
]

MessageId = Annotated[
    str, Meta(pattern=r"\Amsg_[0-9]{1,16}\Z", examples=["msg_12"]), also("message_id", "id", "msg")
]
Thread = Annotated[str, Meta(min_length=1, max_length=160)]
CATEGORIES = ("HANDOFF", "BLOCKED", "DECISION", "INFO")


class Send(Request["Sent"], frozen=True, kw_only=True):
    """Send a message to an agent, `role:<role>` or `broadcast`."""

    agent: OwnName | None = None
    agent_token: AgentToken | None = None
    to: Recipient
    bead_id: OwnBeadId | None = None
    subject: Subject
    body: Body
    category: Annotated[str, Meta(max_length=64, extra_json_schema={"enum": [*CATEGORIES]})] = (
        "INFO"
    )
    thread: Thread | None = None
    answers: MessageId | None = None
    """The message that this settles; counted from its recipient, a person, or who leads."""


class Sent(Result, frozen=True, kw_only=True):
    messages: list[Message]
    count: int


class Inbox(Request["InboxPage"], frozen=True, kw_only=True):
    """List the messages sent to an agent."""

    agent: OwnName | None = None
    state: Annotated[list[MessageState], Meta(max_length=3)] = []
    bead_id: BeadId | None = None
    thread: Thread | None = None
    text: Annotated[str, Meta(min_length=1, max_length=200, description="search")] | None = None
    cursor: Seq | None = None
    limit: Limit = 50


class InboxPage(Result, frozen=True, kw_only=True):
    agent_id: str
    messages: list[Message]
    count: int
    has_more: bool
    next_cursor: int | None = None


class Read(Request["MessageMarked"], frozen=True, kw_only=True):
    """Mark a message as read."""

    agent: OwnName | None = None
    agent_token: AgentToken | None = None
    message: MessageId


class Ack(Request["MessageMarked"], frozen=True, kw_only=True):
    """Accept a message."""

    agent: OwnName | None = None
    agent_token: AgentToken | None = None
    message: MessageId


class MessageMarked(Result, frozen=True, kw_only=True):
    message: Message
    seq: Seq
    """The end of the log: whoever has read up to it has seen the mark."""


class MessageOpened(Result, frozen=True, kw_only=True):
    kind: Literal["message"]
    id: str
    message: Message


class HandOff(Request["EventSent"], frozen=True, kw_only=True):
    """Hand a work item off."""

    agent: OwnName | None = None
    agent_token: AgentToken | None = None
    to: Recipient
    bead_id: OwnBeadId | None = None
    subject: Subject
    summary: Line
    next_action: Line
    scope: ScopeText | None = None
    root: Root | None = None
    requires_ack: bool = True


class ReportBlocked(Request["EventSent"], frozen=True, kw_only=True):
    """Report that you are blocked and need help."""

    agent: OwnName | None = None
    agent_token: AgentToken | None = None
    to: Recipient
    bead_id: OwnBeadId | None = None
    subject: Subject
    blocker: Line
    requested_action: Line
    urgency: Urgency = "medium"
    scope: ScopeText | None = None
    root: Root | None = None


class EventSent(Result, frozen=True, kw_only=True):
    """One event and one message for each recipient."""

    event: ProtocolEvent
    message: Message
    events: list[ProtocolEvent] = []
    messages: list[Message] = []
