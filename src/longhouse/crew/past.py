"""The crew as of an earlier seq: what its rows say today, without what the log says came later.

Reservations end by the fold that `verify` uses. Signs of life and renewals leave no event: an
identity was last seen when it last wrote something, and a reservation that nobody ended was held.
"""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.crew.protocol import EVENT_TYPES
from longhouse.crew.room import ENDED, room, sql
from longhouse.crew.upkeep import apply
from longhouse.kernel.contributions import Then
from longhouse.store.engine import Row
from longhouse.store.history import events_of, newest_of, rows_after
from longhouse.store.tx import LogRow, Tx
from longhouse.store.tx import sql as log_sql

__all__ = ["crew_then"]

PAGE = 500
IDENTITY = ("registered", "updated", "retired")
UNTOUCHED = ("RESUME",)
"""Kinds of events about a work item that are not activity on it."""


class _Since:
    """What happened to the crew after that seq."""

    def __init__(self, tx: Tx, then: Then) -> None:
        self.ended: dict[int, str] = {}
        """What became of reservations."""
        self.unseen: set[int] = set()
        self.unaccepted: set[int] = set()
        """The messages that were read, or accepted, only later."""
        self.unanswered: set[int] = set()
        self.subjects: set[str] = set()
        for row in rows_after(tx, "crew", then.seq):
            apply(self.ended, row.seq, row.kind, row.data)
            self.subjects.add(row.subject)
            if row.kind in ("seen", "accepted", "answered"):
                self._noticed(row)

    def _noticed(self, row: LogRow) -> None:
        message = int(row.data["message_id"].removeprefix("msg_"))
        if row.kind == "seen" or row.data.get("unread"):
            self.unseen.add(message)
        if row.kind == "accepted":
            self.unaccepted.add(message)
        if row.kind == "answered":
            self.unanswered.add(message)


@room.rewinds("agents", "reservations", "messages", "item_talk", "counters")
def crew_then(tx: Tx, then: Then) -> Iterator[tuple[str, Row]]:
    """The identities, reservations and messages that existed then."""
    since = _Since(tx, then)
    yield from (("agents", row) for row in _agents(tx, then, since))
    ended = dict.fromkeys(ENDED, 0)
    for row in _reservations(tx, then, since):
        if row["state"] in ended:
            ended[row["state"]] += 1
        yield "reservations", row
    for state, name in ENDED.items():
        yield "counters", {"ws": tx.ws, "name": name, "value": ended[state]}
    talk: dict[str, Row] = {}
    for row in _messages(tx, then, since):
        about = talk.setdefault(row["bead_id"], {"unread": 0, "due": 0})
        about["unread"] += row["read_at_ms"] is None
        settled = row["acked_at_ms"] is not None or row["answered_at_ms"] is not None
        about["due"] += bool(row["requires_ack"]) and not settled
        about["latest_subject"] = row["subject"]
        yield "messages", row
    yield from (("item_talk", row) for row in _talk(tx, then, since, talk))


def _agents(tx: Tx, then: Then, since: _Since) -> Iterator[Row]:
    seen = {row["actor"]: row["ts_ms"] for row in tx.all(log_sql.log_actors, upto=then.seq)}
    everyone = {"role": None, "status": None, "retired": 1, "limit": PAGE}
    after = ""
    while rows := tx.all(sql.agents_after, after=after, **everyone):
        after = rows[-1]["agent_id"]
        moved = [row["agent_id"] for row in rows if row["agent_id"] in since.subjects]
        before = events_of(tx, "crew", moved, upto=then.seq)
        later = events_of(tx, "crew", moved, after=then.seq)
        for row in rows:
            name, at = row["agent_id"], row["last_seen_at_ms"]
            known = _identity(row, before.get(name, []), later[name]) if name in moved else row
            if known is not None:
                lately = at if at <= then.now_ms else seen.get(name, row["created_at_ms"])
                yield {**known, "last_seen_at_ms": lately, "connection": None}


def _identity(row: Row, before: list[LogRow], later: list[LogRow]) -> Row | None:
    """An identity after these events; None if it did not exist."""
    told = [event for event in before if event.kind in IDENTITY]
    if not told:
        return None
    found = {**row, "retired_at_ms": None}
    for event in told:
        found |= {
            name: event.data[name] for name in ("role", "kind", "status") if name in event.data
        }
        found["retired_at_ms"] = event.ts_ms if event.kind == "retired" else None
    changed = next((event for event in later if event.kind == "updated"), None)
    return found | (changed.data.get("before", {}) if changed else {})


def _reservations(tx: Tx, then: Then, since: _Since) -> Iterator[Row]:
    after = 0
    while rows := tx.all(sql.reservations_after, after=after, upto=then.seq, limit=PAGE):
        after = rows[-1]["seq"]
        for row in rows:
            if row["seq"] in since.ended:
                unended = {"state": "active", "released_at_ms": None, "taken_over_by": None}
                row = {**row, **unended}
            if row["state"] == "active":
                ends = row["expires_at_ms"]
                held = ends if ends > then.now_ms else then.now_ms + 1
                longest = then.now_ms + row["ttl_ms"]
                row = {**row, "expires_at_ms": min(held, longest)}
            yield row


def _messages(tx: Tx, then: Then, since: _Since) -> Iterator[Row]:
    after = 0
    while rows := tx.all(sql.messages_after, after=after, upto=then.seq, limit=PAGE):
        after = rows[-1]["seq"]
        for row in rows:
            if row["seq"] in since.unseen:
                row = {**row, "read_at_ms": None}
            if row["seq"] in since.unaccepted:
                row = {**row, "acked_at_ms": None}
            if row["seq"] in since.unanswered:
                row = {**row, "answered_by": None, "answered_at_ms": None}
            yield row


def _talk(tx: Tx, then: Then, since: _Since, talk: dict[str, Row]) -> Iterator[Row]:
    """The counts of each work item's messages, and its last activity."""
    after = ""
    while rows := tx.all(sql.talk_after, after=after, limit=PAGE):
        after = rows[-1]["bead_id"]
        moved = [row["bead_id"] for row in rows if row["bead_id"] in since.subjects]
        last = _last(tx, moved, then)
        for row in rows:
            item = row["bead_id"]
            if item not in since.subjects:
                yield row
            elif item in last:
                said = {"unread": 0, "due": 0, "latest_subject": None, **talk.get(item, {})}
                yield {**row, **said, **last[item]}


def _last(tx: Tx, items: list[str], then: Then) -> dict[str, Row]:
    """The last activity on each of these work items, if there was any."""
    found = newest_of(tx, "crew", items, then.seq)
    if any(event.kind in UNTOUCHED for event in found.values()):
        every = events_of(tx, "crew", found, upto=then.seq, without=UNTOUCHED)
        found = {item: events[-1] for item, events in every.items()}
    return {
        item: {"last_at_ms": event.ts_ms, "last_actor": _actor(event)}
        for item, event in found.items()
    }


def _actor(event: LogRow) -> str | None:
    said = event.kind == "message" or event.kind in EVENT_TYPES
    actor: str | None = event.data.get("from_agent" if said else "agent") or event.actor
    return actor
