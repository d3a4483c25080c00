"""How the room of background processes tells an agent something: by a message in its inbox."""

from __future__ import annotations

from longhouse.crew.messages import deliver, recipients
from longhouse.crew.protocol import NotePayload, protocol_event
from longhouse.crew.room import room
from longhouse.kernel.lines import clip
from longhouse.store.tx import Tx

__all__ = ["AgentInbox"]


@room.provides("processes.agent_inbox")
class AgentInbox:
    """The inbox of an agent, by its name, or of all of a role."""

    def check(self, tx: Tx, who: str) -> None:
        recipients(tx, "", who)

    def tell(self, tx: Tx, who: str, sender: str, text: str, about: str) -> str:
        names = recipients(tx, "", who)
        return ", ".join(_delivered(tx, name, sender, text, about) for name in names)


def _delivered(tx: Tx, name: str, sender: str, text: str, about: str) -> str:
    subject = text.partition("\n")[0]
    event = protocol_event(
        tx,
        "INFO",
        NotePayload(subject=subject, snippet=clip(text, 200)),
        bead_id=about,
        from_agent=sender,
        to_agent=name,
        scope=None,
    )
    seq = tx.append(event.stream, event.subject, event.kind, event.data)
    message = deliver(
        tx,
        seq=seq,
        sender=sender,
        recipient=name,
        bead_id=about,
        category="INFO",
        subject=subject,
        body=text,
        requires_ack=False,
        thread_id=f"bead:{about}",
    )
    return message.message_id
