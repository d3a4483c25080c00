"""The crew's part of `status`: who else is here, and mail: one's own, or what is unanswered."""

from __future__ import annotations

from typing import Any

from longhouse.crew.room import room, sql
from longhouse.kernel.advice import Advice
from longhouse.kernel.errors import Suggestion
from longhouse.store.tx import Tx

__all__ = ["inbox_of", "mail_waits", "who_is_here"]

MOST = 100
MOST_HERE = 8


@room.advises
def who_is_here(tx: Tx) -> Advice:
    """Name the other identities that are active."""
    minutes = tx.facts.settings.agent_stale_minutes
    since = tx.now_ms - minutes * 60_000
    rows = tx.all(sql.agents_here, since=since, me=tx.actor, limit=MOST_HERE)
    return Advice(shown={"here": [row["agent_id"] for row in rows]} if rows else {})


@room.advises
def mail_waits(tx: Tx) -> Advice:
    """Report an agent's own messages, or to other callers those that wait to be accepted."""
    known = tx.one(sql.agent_by_id, agent_id=tx.actor) if tx.actor else None
    if known is None or not tx.actor:
        return _of_everybody(tx)
    inbox = inbox_of(tx, tx.actor)
    if inbox is None:
        return Advice()
    from longhouse.crew.types.mail import Inbox  # `status` rarely needs it

    bound = tx.by.connection is not None and known["connection"] == tx.by.connection
    own = None if bound else tx.actor  # a connection knows who it is
    return Advice(
        f"inbox(unread={inbox['unread']},due={inbox['due']})",
        {"inbox": inbox},
        [
            Suggestion(
                Inbox(agent=own, state=["unread", "read"] if inbox["due"] else ["unread"]),
                "answer your messages" if inbox["due"] else "read your messages",
            )
        ],
    )


def inbox_of(tx: Tx, agent: str) -> dict[str, Any] | None:
    """How many messages an agent has not read and not accepted; None if there are none."""
    unread = int(tx.value(sql.unread_counted, agent_id=agent, limit=MOST))
    due = int(tx.value(sql.messages_due_counted, agent_id=agent, bead_id=None))
    return {"agent_id": agent, "unread": unread, "due": due} if unread or due else None


def _of_everybody(tx: Tx) -> Advice:
    """All messages that wait to be accepted; any caller may see them, and managers should."""
    due = int(tx.value(sql.messages_due_counted, agent_id=None, bead_id=None) or 0)
    if not due:
        return Advice()
    from longhouse.crew.types.reservations import GetCrewStatus

    return Advice(
        f"inbox(due={due})",
        {"inbox": {"due": due}},
        [Suggestion(GetCrewStatus(), "see which messages are unanswered", priority="low")],
    )
