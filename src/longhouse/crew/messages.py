"""Messages as rows, and the message counts of their work items."""

from __future__ import annotations

from longhouse.crew.agents import existing
from longhouse.crew.documenting import message_text
from longhouse.crew.errors import InvalidMessage, UnknownRecipient
from longhouse.crew.room import ENDLESS, sql
from longhouse.crew.types.entities import Category, Message
from longhouse.kernel.clock import rfc3339
from longhouse.store.engine import Row
from longhouse.store.recall.index import index_text
from longhouse.store.tx import Tx

__all__ = [
    "MOST_RECIPIENTS",
    "deliver",
    "message_from",
    "recipients",
    "said",
    "touch",
    "waiting_for",
]

MOST_RECIPIENTS = 500


def said(name: str, text: str) -> str:
    """The trimmed text, which must not be empty."""
    if not text.strip():
        raise InvalidMessage(f"{name}: is empty", recovery=f"write some text in {name}")
    return text.strip()


def recipients(tx: Tx, sender: str, to: str) -> list[str]:
    """One agent, or everyone in a group except the sender."""
    to = to.strip()
    if to == "broadcast":
        rows = tx.all(sql.agents_all, limit=MOST_RECIPIENTS + 2)
    elif to.startswith("role:"):
        role = to.removeprefix("role:").strip()
        rows = tx.all(sql.agents_of_role, role=role, limit=MOST_RECIPIENTS + 2)
        if not rows and role in ("manager", "operator"):
            raise UnknownRecipient(
                f"to: no agent here is registered with role {role!r}",
                recovery="tell the person who runs this store: they have that role",
            )
        if not rows:
            raise UnknownRecipient(f"to: no agents found with role {role[:80]!r}")
    else:
        found = existing(tx, to, UnknownRecipient, "to")
        if found["retired_at_ms"] is not None:
            raise UnknownRecipient(f"to: {found['agent_id']} has retired")
        return [found["agent_id"]]
    others = [row["agent_id"] for row in rows if row["agent_id"] != sender]
    if not others:
        raise UnknownRecipient(f"to: all recipients were excluded: {to[:80]!r} reaches only you")
    if len(others) > MOST_RECIPIENTS:
        raise InvalidMessage(
            f"to: {to[:80]!r} has more than {MOST_RECIPIENTS} recipients",
            recovery="send to a smaller role, or retire unused identities",
        )
    return others


def deliver(
    tx: Tx,
    *,
    seq: int,
    sender: str,
    recipient: str,
    bead_id: str,
    category: Category,
    subject: str,
    body: str,
    requires_ack: bool,
    thread_id: str,
) -> Message:
    """Deliver one message, whose event has `seq`, to one inbox."""
    row = tx.one(
        sql.message_add,
        seq=seq,
        thread_id=thread_id,
        bead_id=bead_id,
        from_agent=sender,
        to_agent=recipient,
        category=category,
        subject=subject,
        body=body,
        requires_ack=int(requires_ack),
        now=tx.now_ms,
    )
    assert row is not None
    index_text(tx, message_text(row))
    touch(tx, bead_id, sender, unread=1, due=int(requires_ack), subject=subject)
    return message_from(row)


def touch(
    tx: Tx, bead_id: str, actor: str, *, unread: int = 0, due: int = 0, subject: str | None = None
) -> None:
    """Update the counts and the last activity of a work item."""
    tx.run(
        sql.talk_add,
        bead_id=bead_id,
        actor=actor,
        unread=unread,
        due=due,
        subject=subject,
        now=tx.now_ms,
    )


def waiting_for(tx: Tx, agent: str, limit: int) -> list[Message]:
    """The messages an agent has not read or must still accept; those to accept first."""
    unread = tx.all(
        sql.inbox_unread,
        agent_id=agent,
        bead_id=None,
        thread_id=None,
        text=None,
        before=ENDLESS,
        limit=limit,
    )
    due = tx.all(sql.messages_due, agent_id=agent, bead_id=None, limit=limit)
    rows = {row["seq"]: row for row in (*due, *unread)}
    urgent = sorted(rows.values(), key=lambda row: (not row["requires_ack"], -row["seq"]))
    return [message_from(row) for row in urgent[:limit]]


def message_from(row: Row) -> Message:
    read, acked = row["read_at_ms"], row["acked_at_ms"]
    return Message(
        message_id=f"msg_{row['seq']}",
        seq=row["seq"],
        ref=f"{row['bead_id']}@{row['seq']}",
        thread_id=row["thread_id"],
        bead_id=row["bead_id"],
        from_agent=row["from_agent"],
        to_agent=row["to_agent"],
        category=row["category"],
        subject=row["subject"],
        body=row["body"],
        state="acked" if acked is not None else "read" if read is not None else "unread",
        requires_ack=bool(row["requires_ack"]),
        created_at=rfc3339(row["created_at_ms"]),
        read_at=rfc3339(read) if read is not None else None,
        acked_at=rfc3339(acked) if acked is not None else None,
        answered_by=row["answered_by"],
        answered_at=rfc3339(row["answered_at_ms"]) if row["answered_by"] else None,
    )
