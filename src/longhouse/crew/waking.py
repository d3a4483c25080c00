"""How the processes room notifies an agent: with a message to its inbox."""

from __future__ import annotations

from longhouse.crew.messages import recipients
from longhouse.crew.protocol import inform
from longhouse.crew.room import room
from longhouse.store.tx import Tx

__all__ = ["AgentInbox"]


@room.provides("processes.agent_inbox")
class AgentInbox:
    """The inbox of an agent, by name, or of all agents with a role."""

    def check(self, tx: Tx, who: str) -> None:
        recipients(tx, "", who)

    def tell(self, tx: Tx, who: str, sender: str, text: str, about: str) -> str:
        subject = text.partition("\n")[0]
        told = [inform(tx, sender, name, about, subject, text) for name in recipients(tx, "", who)]
        return ", ".join(message.message_id for message in told)
