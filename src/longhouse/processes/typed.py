"""Holds typed input from the call until it has reached its terminal; it is stored nowhere else.

The record of an operation only has its length. The bytes themselves are in this server's memory or,
if several servers share a store, in a table that the database does not log. If they are lost before
a runner has fetched them, the operation fails with that reason.
"""

from __future__ import annotations

import threading
from base64 import b64decode, b64encode
from typing import TYPE_CHECKING, NamedTuple

from longhouse.processes.room import sql
from longhouse.store.tx import Tx

if TYPE_CHECKING:
    from longhouse.facts import HouseFacts

__all__ = ["Typed", "forget", "keep", "kept"]


class Typed(NamedTuple):
    """Bytes to type, and the bytes for application-key mode if they differ."""

    plain: bytes
    application: bytes = b""


class _Memory:
    """One house's typed input in memory, by workspace, task and operation."""

    def __init__(self, *, shared: bool) -> None:
        self.shared = shared
        self._lock = threading.Lock()
        self._typed: dict[tuple[int, int], dict[int, Typed]] = {}

    @classmethod
    def from_house(cls, house: HouseFacts) -> _Memory:
        return cls(shared=house.engine == "postgres")

    def put(self, ws: int, n: int, k: int, typed: Typed) -> None:
        with self._lock:
            self._typed.setdefault((ws, n), {})[k] = typed

    def get(self, ws: int, n: int, k: int) -> Typed | None:
        return self._typed.get((ws, n), {}).get(k)

    def forget(self, ws: int, n: int, k: int | None) -> None:
        with self._lock:
            if k is None or self._typed.get((ws, n), {}).keys() <= {k}:
                self._typed.pop((ws, n), None)
            else:
                self._typed[ws, n].pop(k, None)


def keep(tx: Tx, n: int, k: int, typed: Typed) -> None:
    """Hold the input of an operation."""
    memory = tx.facts.of(_Memory)
    if memory.shared:
        plain, application = (b64encode(data).decode() for data in typed)
        tx.run(sql.typed_add, n=n, k=k, plain=plain, application=application)
    else:
        memory.put(tx.ws, n, k, typed)


def kept(tx: Tx, n: int, k: int) -> Typed | None:
    """The input of an operation; None if the server that held it is gone."""
    memory: _Memory = tx.facts.of(_Memory)
    if not memory.shared:
        return memory.get(tx.ws, n, k)
    row = tx.one(sql.typed_one, n=n, k=k)
    return Typed(b64decode(row["plain"]), b64decode(row["application"])) if row else None


def forget(tx: Tx, n: int, k: int | None = None) -> None:
    """Drop the input of one operation or, without `k`, of the whole task."""
    memory = tx.facts.of(_Memory)
    if not memory.shared:
        memory.forget(tx.ws, n, k)
    elif k is None:
        tx.run(sql.typed_over, n=n)
    else:
        tx.run(sql.typed_gone, n=n, k=k)
