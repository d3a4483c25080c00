"""What `open` finds in this room: `msg_…`."""

from __future__ import annotations

import re

from longhouse.crew.errors import MessageNotFound
from longhouse.crew.messages import message_from
from longhouse.crew.room import room, sql
from longhouse.crew.types.identity import ListAgents
from longhouse.crew.types.mail import MessageOpened
from longhouse.kernel.errors import Suggestion
from longhouse.store.tx import Tx

__all__ = [
    "open_message",
]


@room.opens(r"msg_[0-9]{1,16}", "a message, like msg_12")
def open_message(tx: Tx, req: object, match: re.Match[str]) -> MessageOpened:
    """A message, whole."""
    row = tx.one(sql.message_by_seq, seq=int(match[0].removeprefix("msg_")))
    if row is None:
        raise MessageNotFound(
            f"id: there is no {match[0]}",
            suggest=[Suggestion(ListAgents(), "see whose inbox there is")],
        )
    return MessageOpened(kind="message", id=match[0], message=message_from(row))
