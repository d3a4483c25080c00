"""The crew's background upkeep, and the invariants that `verify` checks."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from longhouse.crew.room import ENDED, room, sql
from longhouse.store.tx import Tx
from longhouse.store.tx import sql as log_sql

__all__ = ["apply", "archive", "counts", "reservations"]

DAY_MS = 24 * 60 * 60_000
PAGE = 1000
SHOWN = 20


@room.every(600)
def archive(tx: Tx) -> None:
    """Archive reservations that expired a day ago and that no one took over."""
    ended = tx.all(sql.reservations_archive, before=tx.now_ms - DAY_MS)
    tx.run(sql.incursions_over)
    if ended:
        tx.count(ENDED["expired"], len(ended))
        tx.append("crew", "crew", "archived", {"reservations": sorted(r["seq"] for r in ended)})


@room.clamps
def clamp_times(tx: Tx) -> None:
    """No reservation outlasts its full length from now, and nobody was seen after now."""
    tx.run(sql.reservations_clamp, now=tx.now_ms)
    tx.run(sql.agents_clamp, now=tx.now_ms)


@room.check("reservations match the log")
def reservations(tx: Tx) -> Iterator[str]:
    """Fold the log again and compare."""
    folded = _fold(tx)
    after = 0
    while rows := tx.all(sql.reservations_states, after=after, limit=PAGE):
        after = rows[-1]["seq"]
        for row in rows:
            said = folded.pop(row["seq"], None)
            if said != row["state"]:
                yield f"res_{row['seq']} is {row['state']}, but {said or 'unknown'} in the log"
    yield from (f"res_{seq} is only in the log" for seq in sorted(folded))
    for state, counter in ENDED.items():
        if (counted := tx.counted(counter)) != (
            real := tx.value(sql.reservations_ended, state=state)
        ):
            yield f"{counted} reservations are counted as {state}, but there are {real}"


def _fold(tx: Tx) -> dict[int, str]:
    """The state of every reservation according to its events."""
    states: dict[int, str] = {}
    after = 0
    while rows := tx.all(log_sql.log_after, after=after, limit=PAGE):
        after = rows[-1]["seq"]
        for row in rows:
            if row["stream"] == "crew":
                apply(states, row["seq"], row["kind"], msgspec.json.decode(row["data"]))
    return states


def apply(states: dict[int, str], seq: int, kind: str, data: dict[str, Any]) -> None:
    """Note in `states` what one event says about reservations."""
    if kind == "reserved":
        states[seq] = "active"
        states |= dict.fromkeys(data["replaced"], "released")
        states |= {one["seq"]: "expired" for one in data["taken_over"]}
    elif kind == "released":
        states[data["reservation"]] = "released"
    elif kind == "retired":
        states |= dict.fromkeys(data["released"], "released")
    elif kind == "archived":
        states |= dict.fromkeys(data["reservations"], "expired")


@room.check("counts of unread and due messages match the messages")
def counts(tx: Tx) -> Iterator[str]:
    for row in tx.all(sql.talk_miscounted, limit=SHOWN):
        yield f"{row['bead_id']} has wrong counts: {row['unread']} unread, {row['due']} due"
