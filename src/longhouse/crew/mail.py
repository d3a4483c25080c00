"""The inbox: messages to one agent, a role or everyone; only the recipient reads and accepts them.

People take part like agents do, with an identity of kind `person`.
"""

from __future__ import annotations

from typing import Any, cast

from longhouse.crew.agents import acting, existing, named_or_own
from longhouse.crew.errors import (
    AckForbidden,
    InvalidCategory,
    MessageNotFound,
    ReadForbidden,
    UnknownSender,
)
from longhouse.crew.identity import TOKEN
from longhouse.crew.items import linked_item, source
from longhouse.crew.messages import deliver, message_from, recipients, said, touch
from longhouse.crew.protocol import NotePayload, protocol_event
from longhouse.crew.room import ENDLESS, room, sql
from longhouse.crew.types.entities import (
    Category,
    MessageState,
)
from longhouse.crew.types.mail import (
    CATEGORIES,
    Ack,
    Inbox,
    InboxPage,
    MessageMarked,
    Read,
    Send,
    Sent,
)
from longhouse.kernel.budget import Clip, Pop
from longhouse.kernel.lines import clip
from longhouse.kernel.redact import redact_text
from longhouse.store.engine import Row
from longhouse.store.queries import Query
from longhouse.store.tx import LogEvent, Tx

__all__ = []

NEEDS_ACK = ("HANDOFF", "BLOCKED")


@room.command(
    "agents.send",
    also="message tell notify dm post mail.send broadcast announce",
    writes=True,
    additive=True,
    example=Send(
        agent="amber-otter",
        agent_token=TOKEN,
        to="cobalt-harbor",
        bead_id="TASK-001",
        subject="Heads up",
        body="I am in src/parser until noon.",
    ),
    trim=[Clip("messages.body", 200), Pop("messages", leave=1)],
)
def send(tx: Tx, req: Send) -> Sent:
    """Send a message to an agent, to a role (role:ui) or to everyone (broadcast)."""
    sender = acting(tx, req.agent, req.agent_token, UnknownSender)["agent_id"]
    names = recipients(tx, sender, req.to)
    bead_id = linked_item(tx, req.bead_id)
    if req.category not in CATEGORIES:
        raise InvalidCategory(f"category: unknown category {req.category!r}")
    category = cast(Category, req.category)
    subject, body = said("subject", req.subject), said("body", req.body)
    thread = req.thread or f"bead:{bead_id}"
    messages = []
    for name in names:
        event = _event(tx, category, sender, name, bead_id, subject, body)
        seq = tx.append(event.stream, event.subject, event.kind, event.data)
        messages.append(
            deliver(
                tx,
                seq=seq,
                sender=sender,
                recipient=name,
                bead_id=bead_id,
                category=category,
                subject=subject,
                body=body,
                requires_ack=category in NEEDS_ACK,
                thread_id=thread,
            )
        )
    if req.answers:
        _settle(tx, req.answers, sender, messages[0].message_id)
    return Sent(messages=messages, count=len(messages))


def _settle(tx: Tx, message: str, sender: str, answer: str) -> None:
    """Record that a reply has settled a message, if the sender may speak for its recipient."""
    seq = int(message.removeprefix("msg_"))
    asked = tx.one(sql.message_by_seq, seq=seq)
    if asked is None:
        raise MessageNotFound(f"answers: there is no {message}")
    known = existing(tx, sender)
    if not (tx.by.leads or sender == asked["to_agent"] or known["kind"] == "person"):
        tx.warn(
            "NOT_SETTLED",
            f"your reply was sent, but {message} still waits for {asked['to_agent']}",
            "only its recipient, a person or a manager settles a request",
        )
        return
    row = tx.one(sql.message_answer, seq=seq, agent_id=sender, now=tx.now_ms)
    if row is None:
        return
    data = {"message_id": message, "agent": sender, "from_agent": row["from_agent"]}
    tx.append("crew", row["bead_id"], "answered", {**data, "answer": answer})
    waited = bool(row["requires_ack"]) and row["acked_at_ms"] is None
    touch(tx, row["bead_id"], sender, due=-int(waited))


def _event(
    tx: Tx, category: Category, sender: str, to: str, bead_id: str, subject: str, body: str
) -> LogEvent:
    """The event that records a message.

    INFO and DECISION are protocol events. Free text with the other two categories is only mail,
    because it lacks the required fields of a handoff or a blocked report.
    """
    snippet = clip(body, 200)
    if category in NEEDS_ACK:
        data = {
            "category": category,
            "from_agent": sender,
            "to_agent": to,
            "subject": subject,
            "snippet": snippet,
        }
        return LogEvent(stream="crew", subject=bead_id, kind="message", data=data)
    note = NotePayload(subject=subject, snippet=snippet)
    return protocol_event(
        tx, category, note, bead_id=bead_id, from_agent=sender, to_agent=to, scope=None
    )


def _inbox_lines(result: dict[str, Any]) -> list[str]:
    rows = [
        f"{m['message_id']} {'!' if m['requires_ack'] and m['state'] != 'acked' else m['state']} "
        f"{m['category']} {m['ref']} from={m['from_agent']} {clip(m['subject'], 80)}"
        for m in result["messages"]
    ]
    return [f"inbox agent={result['agent_id']} count={result['count']}", *rows]


@room.command(
    "agents.inbox",
    also="mail mailbox unread receive agents.check.mail messages",
    example=Inbox(agent="amber-otter", state=["unread"]),
    lines=_inbox_lines,
    trim=[
        Clip("messages.body", 400),
        Pop("messages", cursor="seq", leave=1),
        Clip("messages.body", 80),
    ],
)
def inbox(tx: Tx, req: Inbox) -> InboxPage:
    """List the messages sent to an agent, newest first, by state, work item, thread or text."""
    agent = existing(tx, named_or_own(tx, req.agent))["agent_id"]
    which: dict[str, Any] = {
        "agent_id": agent,
        "bead_id": req.bead_id,
        "thread_id": req.thread,
        "text": _like(req.text),
        "before": req.cursor or ENDLESS,
        "limit": req.limit + 1,
    }
    if set(req.state) == {"unread"}:
        rows = _holding(tx, sql.inbox_unread, which, req.text)
    else:
        states = req.state or ["unread", "read", "acked"]
        asked = {s: int(s in states) for s in ("unread", "read", "acked")}
        rows = _holding(tx, sql.inbox, which | asked, req.text)
    shown = rows[: req.limit]
    more = len(rows) > req.limit
    return InboxPage(
        agent_id=agent,
        messages=[message_from(row) for row in shown],
        count=len(shown),
        has_more=more,
        next_cursor=shown[-1]["seq"] if more else None,
    )


def _holding(tx: Tx, query: Query, which: dict[str, Any], text: str | None) -> list[Row]:
    """The rows whose displayed text contains `text`: a search must not reveal redacted text."""
    found: list[Row] = []
    while True:
        rows = tx.all(query, **which)
        found += [row for row in rows if text is None or _lowered(text) in _shown_text(row)]
        if len(rows) < which["limit"] or len(found) >= which["limit"]:
            return found
        which["before"] = rows[-1]["seq"]


def _shown_text(row: Row) -> str:
    return _lowered(f"{redact_text(row['subject'])} {redact_text(row['body'])}")


def _lowered(text: str) -> str:
    """Lowercase as both databases do: ASCII letters only."""
    return "".join(char.lower() if char.isascii() else char for char in text)


def _like(text: str | None) -> str | None:
    if text is None:
        return None
    lowered = _lowered(text)
    for special in "!%_":
        lowered = lowered.replace(special, f"!{special}")
    return f"%{lowered}%"


@room.command(
    "agents.read",
    also="agents.mark.read seen agents.read.message agents.mark.message.read",
    writes=True,
    additive=True,
    idempotent=True,
    trim=[Clip("message.body", 200)],
    example=Read(agent="amber-otter", agent_token=TOKEN, message="msg_1"),
)
def read(tx: Tx, req: Read) -> MessageMarked:
    """Mark a message as read; only the first time is recorded."""
    return _mark(tx, req, "read", ReadForbidden)


@room.command(
    "agents.ack",
    also="acknowledge accept confirm agents.acknowledge.message agents.ack.message",
    writes=True,
    additive=True,
    idempotent=True,
    trim=[Clip("message.body", 200)],
    example=Ack(agent="amber-otter", agent_token=TOKEN, message="msg_1"),
)
def ack(tx: Tx, req: Ack) -> MessageMarked:
    """Accept a message, which also marks it as read; only the first time is recorded."""
    return _mark(tx, req, "acked", AckForbidden)


def _mark(
    tx: Tx, req: Read | Ack, state: MessageState, forbidden: type[ReadForbidden | AckForbidden]
) -> MessageMarked:
    agent = acting(tx, req.agent, req.agent_token)["agent_id"]
    seq = int(req.message.removeprefix("msg_"))
    before = tx.one(sql.message_by_seq, seq=seq)
    if before is None:
        raise MessageNotFound(f"message: there is no {req.message}")
    row = tx.one(
        sql.message_ack if state == "acked" else sql.message_read,
        seq=seq,
        agent_id=agent,
        now=tx.now_ms,
    )
    if row is None:
        raise forbidden(
            f"message: {req.message} was sent to {before['to_agent']}, not to {agent}",
            recovery=f"ask {before['to_agent']} to do it",
        )
    seen = before["read_at_ms"] is None
    accepted = state == "acked" and before["acked_at_ms"] is None
    if seen or accepted:
        data = {"message_id": req.message, "agent": agent, "from_agent": row["from_agent"]}
        if accepted and seen:
            data["unread"] = True  # until now
        tx.append("crew", row["bead_id"], "accepted" if accepted else "seen", data)
        waited = accepted and bool(row["requires_ack"]) and row["answered_at_ms"] is None
        touch(tx, row["bead_id"], agent, unread=-int(seen), due=-int(waited))
        if accepted and row["category"] == "HANDOFF":
            _take_over(tx, row["bead_id"], row["from_agent"], agent)
    return MessageMarked(message=message_from(row), seq=tx.last_seq())


def _take_over(tx: Tx, bead_id: str, giver: str, taker: str) -> None:
    """Assign the work item to the agent that accepted it, if it was the sender's to hand off."""
    items = source(tx)
    item = items.get(tx, bead_id)
    if item is None or item.done or item.assignee == taker:
        return
    if item.assignee not in (None, giver):
        tx.warn(
            "ASSIGNEE_KEPT",
            f"{bead_id} is assigned to {item.assignee}, so {giver} could not hand it off",
            f"ask {item.assignee}, or assign it: tasks.edit task={bead_id} assignee={taker}",
        )
    elif not items.assign(tx, bead_id, taker):
        tx.warn(
            "ASSIGNEE_KEPT",
            f"{bead_id} keeps its assignee: Longhouse does not change items of {items.name}",
            f"run `bd update {bead_id} --assignee {taker}`" if items.name == "beads" else None,
        )
