"""Reads as of an earlier seq: the rooms' tables as they were, in a small database of their own.

A room that `rewinds` its tables derives their rows at a seq from today's rows and the log. They go
into a SQLite database in memory, whichever database the store uses. Queries of these tables run
there, queries of the log see it only up to that seq, and all others see today. A handler therefore
answers for the past with the code that answers for now.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from functools import cache
from typing import Any

import apsw

from longhouse.kernel.clock import SystemClock
from longhouse.kernel.contributions import Rewinder, Then
from longhouse.kernel.errors import InternalError
from longhouse.store import migrate
from longhouse.store.engine import Connection, Params, PendingQuery, Row
from longhouse.store.queries import Query
from longhouse.store.sqlite import SqliteConnection
from longhouse.store.tx import Tx, sql

__all__ = ["Moments"]

MOST_KEPT = 3
MOST_BYTES = 192 * 2**20
"""How many moments are kept for the next reads, and how large they may be together."""
PAGE = 500


@cache
def _empty() -> bytes:
    """An empty store, to copy."""
    db = apsw.Connection(":memory:")
    for _, script in migrate.scripts("sqlite", after=0):
        for _ in db.execute(script):
            pass
    return db.serialize("main")


class PastTables:
    """The tables of one workspace as of one seq, filled room by room when a query needs them."""

    def __init__(self, then: Then) -> None:
        self.then = then
        self.lock = threading.RLock()
        self._db = apsw.Connection(":memory:")
        self._db.deserialize("main", _empty())
        self._tables = SqliteConnection(self._db, SystemClock(), None)  # type: ignore[arg-type]
        self._filled: set[Rewinder] = set()

    @property
    def size(self) -> int:
        return int(self._db.pragma("page_count")) * int(self._db.pragma("page_size"))

    def fill(self, rewinder: Rewinder, tx: Tx) -> None:
        """Derive a room's rows, once; one that is too much work leaves nothing."""
        if rewinder in self._filled:
            return
        with self._db:
            waiting: dict[str, list[Row]] = {}
            for table, row in rewinder.rows(tx, self.then):
                rows = waiting.setdefault(table, [])
                rows.append(row)
                if len(rows) >= PAGE:
                    self._insert(table, waiting.pop(table))
            for table, rows in waiting.items():
                self._insert(table, rows)
        self._filled.add(rewinder)

    def rows(self, query: Query, params: Params) -> list[Row]:
        return self._tables.rows(query, params)

    def _insert(self, table: str, rows: list[Row]) -> None:
        names = list(rows[0])
        places = ", ".join(f":{name}" for name in names)
        into = f"INSERT INTO {table} ({', '.join(names)}) VALUES ({places})"  # noqa: S608
        self._db.executemany(into, rows)


class PastConnection:
    """A connection that sees one moment: what a read of the past runs on, and nothing else."""

    def __init__(
        self, moment: PastTables, tx: Tx, connection: Connection, rewinders: Sequence[Rewinder]
    ) -> None:
        self._moment = moment
        self._tx = tx
        self._connection = connection
        self._rewinders = rewinders

    def rows(self, query: Query, params: Params) -> list[Row]:
        needed = [one for one in self._rewinders if one.tables & query.tables]
        if not needed:
            return self._connection.rows(query.upto, {**params, "as_of": self._moment.then.seq})
        if others := query.tables.difference(*(one.tables for one in needed)):
            raise InternalError(f"{query.name} reads {sorted(others)}, which nobody rewinds")
        with self._moment.lock:
            for one in needed:
                self._moment.fill(one, self._tx)
            return self._moment.rows(query, params)

    def ask(self, query: Query, params: Params) -> PendingQuery:
        return PendingQuery(self.rows(query, params))

    def settle(self) -> None:
        """Nothing to do: `ask` runs its statement immediately."""


class Moments:
    """The moments that were read last."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: OrderedDict[tuple[int, int], PastTables] = OrderedDict()

    def at(self, tx: Tx, seq: int, rewinders: Sequence[Rewinder]) -> Tx:
        """The transaction as of a seq; the same one if nothing has happened since."""
        if seq >= tx.last_seq():
            return tx
        moment = self._moment(tx, seq)

        def to(connection: Connection) -> Any:
            return PastConnection(moment, tx, connection, rewinders)

        return tx.rewound(to, seq, moment.then.now_ms)

    def _moment(self, tx: Tx, seq: int) -> PastTables:
        key = tx.ws, seq
        with self._lock:
            if key in self._kept:
                self._kept.move_to_end(key)
                return self._kept[key]
        found = tx.one(sql.log_time, upto=seq)
        made = PastTables(Then(seq, found["ts_ms"] if found else 0))
        with self._lock:
            kept = self._kept.setdefault(key, made)
            while len(self._kept) > 1 and (
                len(self._kept) > MOST_KEPT
                or sum(one.size for one in self._kept.values()) > MOST_BYTES
            ):
                self._kept.popitem(last=False)
        return kept
