"""The refs of this room that `open` resolves: `msg_…`, `res_…`, `proto_…` and `<item>@<seq>`."""

from __future__ import annotations

import re
from contextlib import suppress

from longhouse.crew.conversation import moment
from longhouse.crew.holdings import reservation_from
from longhouse.crew.items import linked_item
from longhouse.crew.messages import message_from
from longhouse.crew.room import room, sql
from longhouse.crew.types.identity import ListAgents
from longhouse.crew.types.mail import MessageOpened
from longhouse.crew.types.reservations import GetCrewStatus, ReservationOpened
from longhouse.crew.types.sessions import Conversation, Moment, MomentOpened
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.store.tx import LogRow, Tx
from longhouse.store.tx import sql as log_sql

__all__ = ["open_message", "open_moment", "open_protocol_event", "open_reservation"]


@room.opens("message", r"msg_[0-9]{1,16}", "a message", "msg_12")
def open_message(tx: Tx, req: object, match: re.Match[str]) -> MessageOpened:
    """A message with its full text."""
    row = tx.one(sql.message_by_seq, seq=int(match[0].removeprefix("msg_")))
    if row is None:
        raise UnknownId(
            f"id: there is no {match[0]}",
            recovery="copy an id from agents.inbox",
            suggest=[Suggestion(ListAgents(), "list the agents that have an inbox")],
        )
    return MessageOpened(kind="message", id=match[0], message=message_from(row))


@room.opens("reservation", r"res_[0-9]{1,16}", "a reservation", "res_12")
def open_reservation(tx: Tx, req: object, match: re.Match[str]) -> ReservationOpened:
    """A reservation, active or ended."""
    row = tx.one(sql.reservation_by_seq, seq=int(match[0].removeprefix("res_")))
    if row is None:
        raise UnknownId(
            f"id: there is no {match[0]}",
            recovery="copy an id from agents.status",
            suggest=[Suggestion(GetCrewStatus(), "list the current reservations")],
        )
    return ReservationOpened(kind="reservation", id=match[0], reservation=reservation_from(row))


@room.opens(
    "protocol_event",
    r"proto_[0-9]{8}_(?P<seq>[0-9]{3,16})",
    "a protocol event",
    "proto_20270115_012",
)
def open_protocol_event(tx: Tx, req: object, match: re.Match[str]) -> MomentOpened:
    """A protocol event, by the id in its envelope."""
    found = _moment_at(tx, int(match["seq"]))
    if found is None or found.event is None or found.event.id != match[0]:
        raise UnknownId(
            f"id: there is no event {match[0]}",
            recovery="copy a ref from agents.conversation",
            suggest=[Suggestion(GetCrewStatus(), "see who works on what")],
        )
    return MomentOpened(kind="moment", ref=found.ref, moment=found)


@room.opens(
    "item_event",
    r"(?P<item>[^@\s]+)@(?P<seq>[0-9]{1,16})",
    "a message or event about a work item",
    "bb-7@12",
    mention=None,  # in a text, only what is written like an entry is taken for a ref
    general=True,
)
def open_moment(tx: Tx, req: object, match: re.Match[str]) -> MomentOpened:
    """A message, reservation or event as its work item's conversation shows it."""
    found = _moment_at(tx, int(match["seq"]))
    if found is None or found.ref != match[0]:
        raise UnknownId(
            f"id: there is no message or event {match[0]!r}",
            recovery="copy a ref from agents.conversation",
            suggest=[Suggestion(GetCrewStatus(), "see who works on what")],
        )
    with suppress(UnknownId):  # the work item may have been deleted
        item = linked_item(tx, match["item"])
        tx.suggest(Conversation(bead_id=item), "see what came before and after")
    return MomentOpened(kind="moment", ref=found.ref, moment=found)


def _moment_at(tx: Tx, seq: int) -> Moment | None:
    row = tx.one(log_sql.log_one, seq=seq)
    if row is None or row["stream"] != "crew":
        return None
    return moment(LogRow.from_row(row), tx.one(sql.message_by_seq, seq=seq))
