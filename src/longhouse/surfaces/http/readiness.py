"""The state of the store, for `/readyz` and `/metrics`, which must never wait long for it.

All callers share one query. A caller that has waited too long is told that the store is down, with
the figures from the last answer.
"""

from __future__ import annotations

import asyncio
from typing import NamedTuple

from longhouse.house import House
from longhouse.kernel.errors import LonghouseError
from longhouse.store.tx import Call, Tx, sql

__all__ = ["ANSWER_S", "StoreState", "StoreWatch"]

ANSWER_S = 2.0


class StoreState(NamedTuple):
    """Whether the store answers, and what it holds."""

    trouble: str | None = "the store has not answered yet"
    bytes: int = 0
    seqs: dict[str, int] = {}


class StoreWatch:
    """Queries the state of the store; create it in the event loop that serves it."""

    def __init__(self, house: House) -> None:
        self._house = house
        self._last = StoreState()
        self._asking: asyncio.Task[StoreState] | None = None

    async def look(self) -> StoreState:
        """The state of the store, within two seconds."""
        if self._asking is None or self._asking.done():
            self._asking = asyncio.create_task(self._ask())
        done, _ = await asyncio.wait({self._asking}, timeout=ANSWER_S)
        if not done:
            return self._last._replace(trouble=f"no answer from the store in {ANSWER_S:.0f} s")
        return self._asking.result()

    async def _ask(self) -> StoreState:
        db, ids = self._house.db, self._house.dispatcher.ids
        try:
            seqs = await db.read_async("", _seqs, Call(ids=ids))
            size = await asyncio.to_thread(db.engine.size_bytes)
        except LonghouseError as error:
            return self._last._replace(trouble=error.message)
        self._last = StoreState(None, size, seqs)
        return self._last


def _seqs(tx: Tx) -> dict[str, int]:
    return {row["name"]: row["seq"] for row in tx.all(sql.workspace_names, limit=500)}
