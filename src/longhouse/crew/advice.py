"""What `status` tells an agent about the crew: that there is mail for it."""

from __future__ import annotations

from longhouse.crew.room import room, sql
from longhouse.kernel.advice import Advice
from longhouse.kernel.errors import Suggestion
from longhouse.store.tx import Tx

__all__ = ["mail_waits"]

MOST = 100


@room.advises
def mail_waits(tx: Tx) -> Advice:
    """Whoever asks under a name of the crew hears of its unread messages."""
    if not tx.actor or not tx.one(sql.agent_by_id, agent_id=tx.actor):
        return Advice()
    unread = int(tx.value(sql.unread_counted, agent_id=tx.actor, limit=MOST))
    if not unread:
        return Advice()
    from longhouse.crew.types.mail import Inbox  # few calls of `status` come this far

    return Advice(
        f"inbox(unread={unread})",
        {"inbox": {"agent_id": tx.actor, "unread": unread}},
        [Suggestion(Inbox(agent=tx.actor, state=["unread"]), "read what you were sent")],
    )
