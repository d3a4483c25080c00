"""Identities and reservations that an import or a foreign backup brought: names without a key.

Their history stays, but no token of another store proves an identity here, and none of them holds a
file. A manager, or an agent with evidence, continues such an identity with `agents.adopt`.
"""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.crew.room import ENDED, room, sql
from longhouse.kernel.contributions import Arrival, HeldBack
from longhouse.store.tx import Tx

__all__ = ["arrive"]


@room.arrives
def arrive(tx: Tx, arrival: Arrival) -> Iterator[HeldBack]:
    """Void the tokens of all identities, and release what they reserved."""
    if not arrival.foreign:
        return
    for row in sorted(tx.all(sql.agents_void, now=tx.now_ms), key=lambda one: one["agent_id"]):
        name = row["agent_id"]
        for held in tx.all(sql.reservations_release_all, agent_id=name, now=tx.now_ms):
            tx.count(ENDED["released"])
            tx.append("crew", name, "released", {"agent": name, "reservation": held["seq"]})
        if row["retired_at_ms"] is None:
            tx.append("crew", name, "voided", {"agent": name, "why": arrival.how})
            yield HeldBack("identity", name)
