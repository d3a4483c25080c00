"""What `open` finds in this room: `msg_…` and `res_…`."""

from __future__ import annotations

import re

from longhouse.crew.messages import message_from
from longhouse.crew.reservations import reservation_from
from longhouse.crew.room import room, sql
from longhouse.crew.types.identity import ListAgents
from longhouse.crew.types.mail import MessageOpened
from longhouse.crew.types.reservations import GetCrewStatus, ReservationOpened
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.store.tx import Tx

__all__ = ["open_message", "open_reservation"]


@room.opens(r"msg_[0-9]{1,16}", "a message, like msg_12")
def open_message(tx: Tx, req: object, match: re.Match[str]) -> MessageOpened:
    """A message, whole."""
    row = tx.one(sql.message_by_seq, seq=int(match[0].removeprefix("msg_")))
    if row is None:
        raise UnknownId(
            f"id: there is no {match[0]}",
            recovery="copy an id from agents.inbox",
            suggest=[Suggestion(ListAgents(), "see whose inbox there is")],
        )
    return MessageOpened(kind="message", id=match[0], message=message_from(row))


@room.opens(r"res_[0-9]{1,16}", "a reservation, like res_12")
def open_reservation(tx: Tx, req: object, match: re.Match[str]) -> ReservationOpened:
    """Who reserved what, for which work, until when; also when it is over."""
    row = tx.one(sql.reservation_by_seq, seq=int(match[0].removeprefix("res_")))
    if row is None:
        raise UnknownId(
            f"id: there is no {match[0]}",
            recovery="copy an id from agents.status",
            suggest=[Suggestion(GetCrewStatus(), "see what is reserved now")],
        )
    return ReservationOpened(kind="reservation", id=match[0], reservation=reservation_from(row))
