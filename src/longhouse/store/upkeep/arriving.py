"""What an import or a restore brings is disarmed in the transaction that brings it.

Each room disarms its own rows (`@room.arrives`); this module does it for the store's own tables.
"""

from __future__ import annotations

from collections.abc import Sequence

from longhouse.kernel.contributions import Arrival, Arriver, HeldBack
from longhouse.store.projects import close_workspace
from longhouse.store.tx import Tx
from longhouse.store.upkeep.tables import sql

__all__ = ["arrived", "disowned"]


def arrived(tx: Tx, rooms: Sequence[Arriver], arrival: Arrival) -> list[HeldBack]:
    """Disarm a workspace that has just come, and return what was held; without rooms, nothing."""
    if arrival.foreign and rooms:
        tx.run(sql.keys_forget)
        close_workspace(tx, tx.ws)
    return [held for disarm in rooms for held in disarm(tx, arrival)]


def disowned(tx: Tx) -> list[HeldBack]:
    """Revoke what a foreign backup says about access to the whole store: its tokens."""
    revoked = tx.all(sql.tokens_revoke, now=tx.now_ms)
    return [HeldBack("token", row["token_id"], row["name"]) for row in revoked]
