"""Protocol events: validated payloads in a stable envelope, stored in the log.

An event is a log row of stream `crew` whose subject is the work item; the envelope is built from
the row, so even a refused call can record an event (INCURSION).
"""

from __future__ import annotations

import time
from typing import Any, Literal

import msgspec

from longhouse.crew.agents import acting
from longhouse.crew.errors import UnknownSender
from longhouse.crew.facts import CrewFacts
from longhouse.crew.identity import TOKEN
from longhouse.crew.items import linked_item
from longhouse.crew.liveness import Liveness
from longhouse.crew.messages import deliver, recipients, said
from longhouse.crew.room import room
from longhouse.crew.scopes import scope_in
from longhouse.crew.types.entities import (
    EventType,
    Message,
    ProtocolEvent,
    Reason,
    Urgency,
)
from longhouse.crew.types.mail import EventSent, HandOff, ReportBlocked
from longhouse.kernel.budget import Clip, Pop
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.lines import clip
from longhouse.kernel.values import Value
from longhouse.store.tx import LogEvent, LogRow, Tx

__all__ = [
    "EVENT_TYPES",
    "Incursion",
    "NotePayload",
    "Payload",
    "ResumePayload",
    "event_from",
    "inform",
    "protocol_event",
    "record",
]

EVENT_TYPES = ("HANDOFF", "BLOCKED", "INCURSION", "RESUME", "INFO", "DECISION")
NO_ITEM = "crew"
"""The subject of events without a work item."""


class Payload(Value, frozen=True, kw_only=True, omit_defaults=False):
    """The part of an event that depends on its type."""


class HandoffPayload(Payload, frozen=True, kw_only=True):
    subject: str
    summary: str
    next_action: str
    requires_ack: bool = True


class Blocked(Payload, frozen=True, kw_only=True):
    subject: str
    blocker: str
    requested_action: str
    urgency: Urgency
    requires_ack: Literal[True] = True


class Incursion(Payload, frozen=True, kw_only=True):
    incursion_kind: Literal["exact", "partial"]
    owner_agent: str
    incoming_agent: str
    owner_liveness: Liveness
    resolution_hint: str


class ResumePayload(Payload, frozen=True, kw_only=True):
    """`checked_by` is the server's id of the token that vouched for the evidence."""

    resume_reason: Reason
    prior_session_agent: str
    adopted_agent: str
    evidence: str
    checked_by: str


class NotePayload(Payload, frozen=True, kw_only=True):
    """The payload of INFO and DECISION; the full text is in the message."""

    subject: str
    snippet: str
    requires_ack: bool = False


def protocol_event(
    tx: Tx,
    event_type: EventType,
    payload: Payload,
    *,
    bead_id: str | None,
    from_agent: str | None,
    to_agent: str | None,
    scope: str | None,
) -> LogEvent:
    """The event, ready to append."""
    return LogEvent(
        stream="crew",
        subject=bead_id or NO_ITEM,
        kind=event_type,
        data={
            "project_root": tx.facts.of(CrewFacts).project_root,
            "bead_id": bead_id,
            "from_agent": from_agent,
            "to_agent": to_agent,
            "scope": scope,
            "payload": msgspec.to_builtins(payload),
        },
    )


def record(tx: Tx, event: LogEvent) -> ProtocolEvent:
    """Append the event and return it in its envelope."""
    seq = tx.append(event.stream, event.subject, event.kind, event.data)
    return event_from(
        LogRow(
            seq=seq,
            ts_ms=tx.now_ms,
            stream=event.stream,
            subject=event.subject,
            kind=event.kind,
            actor=tx.actor,
            data=event.data,
        )
    )


def inform(tx: Tx, sender: str, recipient: str, item: str, subject: str, body: str) -> Message:
    """Send an agent an INFO event about a work item, delivered to its inbox."""
    subject = clip(subject, 200)
    event = protocol_event(
        tx,
        "INFO",
        NotePayload(subject=subject, snippet=clip(body, 200)),
        bead_id=item,
        from_agent=sender,
        to_agent=recipient,
        scope=None,
    )
    return deliver(
        tx,
        seq=tx.append(event.stream, event.subject, event.kind, event.data),
        sender=sender,
        recipient=recipient,
        bead_id=item,
        category="INFO",
        subject=subject,
        body=body,
        requires_ack=False,
        thread_id=f"bead:{item}",
    )


def event_from(row: LogRow) -> ProtocolEvent:
    """The envelope of a logged event; its id contains the day and the seq."""
    day = time.strftime("%Y%m%d", time.gmtime(row.ts_ms // 1000))
    return ProtocolEvent(
        id=f"proto_{day}_{row.seq:03d}",
        version="v1",
        event_type=row.kind,  # type: ignore[arg-type]
        created_at=rfc3339(row.ts_ms),
        ref=row.ref,
        **{name: row.data[name] for name in _ENVELOPE},
    )


_ENVELOPE = ("project_root", "bead_id", "from_agent", "to_agent", "scope", "payload")


_TRIM: list[Any] = [
    Clip("messages.body", 200),
    Pop("messages"),
    Pop("events"),
    Clip("message.body", 200),
]


@room.command(
    "agents.handoff",
    also="agents.hand.off agents.hand.over handover pass transfer",
    writes=True,
    additive=True,
    trim=_TRIM,
    example=HandOff(
        agent="amber-otter",
        agent_token=TOKEN,
        to="cobalt-harbor",
        bead_id="TASK-001",
        subject="Parser",
        summary="The parser reads v2.",
        next_action="Write the tests for v1.",
    ),
)
def hand_off(tx: Tx, req: HandOff) -> EventSent:
    """Hand a work item off to another agent, who must accept it."""
    sender = acting(tx, req.agent, req.agent_token, UnknownSender)["agent_id"]
    payload = HandoffPayload(
        subject=said("subject", req.subject),
        summary=said("summary", req.summary),
        next_action=said("next_action", req.next_action),
        requires_ack=req.requires_ack,
    )
    body = f"{payload.summary}\n\nNext: {payload.next_action}"
    return _send(tx, req, sender, "HANDOFF", payload, body)


@room.command(
    "agents.blocked",
    also="block stuck escalate",
    writes=True,
    additive=True,
    trim=_TRIM,
    example=ReportBlocked(
        agent="amber-otter",
        agent_token=TOKEN,
        to="cobalt-harbor",
        bead_id="TASK-001",
        subject="Need a key",
        blocker="No access to the registry.",
        requested_action="Grant read access.",
    ),
)
def report_blocked(tx: Tx, req: ReportBlocked) -> EventSent:
    """Report that you are blocked, by what, and what you need."""
    sender = acting(tx, req.agent, req.agent_token, UnknownSender)["agent_id"]
    payload = Blocked(
        subject=said("subject", req.subject),
        blocker=said("blocker", req.blocker),
        requested_action=said("requested_action", req.requested_action),
        urgency=req.urgency,
    )
    body = f"{payload.blocker}\n\nAsked: {payload.requested_action} (urgency {payload.urgency})"
    return _send(tx, req, sender, "BLOCKED", payload, body)


def _send(
    tx: Tx,
    req: HandOff | ReportBlocked,
    sender: str,
    kind: Literal["HANDOFF", "BLOCKED"],
    payload: HandoffPayload | Blocked,
    body: str,
) -> EventSent:
    """Record and deliver to each recipient; an event and its message share one seq."""
    names = recipients(tx, sender, req.to)
    bead_id = linked_item(tx, req.bead_id)
    scope = str(scope_in(tx, req.scope, req.root)) if req.scope else None
    events, messages = [], []
    for name in names:
        event = record(
            tx,
            protocol_event(
                tx, kind, payload, bead_id=bead_id, from_agent=sender, to_agent=name, scope=scope
            ),
        )
        events.append(event)
        messages.append(
            deliver(
                tx,
                seq=int(event.ref.rpartition("@")[2]),
                sender=sender,
                recipient=name,
                bead_id=bead_id,
                category=kind,
                subject=payload.subject,
                body=body,
                requires_ack=payload.requires_ack,
                thread_id=f"bead:{bead_id}",
            )
        )
    return EventSent(event=events[0], message=messages[0], events=events[1:], messages=messages[1:])
