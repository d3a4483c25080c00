"""The seam that a database engine implements; internal, small, held by one conformance suite.

An engine hands out connections. A connection runs named queries inside one transaction at a time.
Everything above (group commit, seq, log, rooms) is the same on every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from longhouse.kernel.errors import LonghouseError, StoreError
from longhouse.store.queries import Query

__all__ = [
    "CommitSignal",
    "Connection",
    "Lost",
    "Params",
    "PendingQuery",
    "Row",
    "StoreEngine",
    "StoreFull",
]

Row = dict[str, Any]
Params = Mapping[str, Any]


class StoreFull(StoreError):
    """The disk is full; nothing was written."""

    fix = "make room on the disk, then repeat the call; reads go on meanwhile"


class Lost(Exception):
    """The transaction ended without an answer; `error` is what its callers are told.

    `again` says that nothing was written and the same work may succeed on a fresh connection. If
    COMMIT was under way, `committed` finds out whether it happened; None means nobody can tell.
    """

    def __init__(
        self,
        error: LonghouseError,
        *,
        again: bool = False,
        committed: Callable[[], bool | None] | None = None,
    ) -> None:
        super().__init__(error.message)
        self.error = error
        self.again = again
        self.committed = committed


class PendingQuery:
    """A question to the database; `rows` are there once it is settled."""

    __slots__ = ("rows",)

    def __init__(self, rows: list[Row] | None = None) -> None:
        self.rows = rows

    @property
    def result(self) -> list[Row]:
        assert self.rows is not None, "not settled yet"
        return self.rows


class Connection(Protocol):
    """One database connection, used by one thread at a time."""

    def rows(self, query: Query, params: Params) -> list[Row]: ...

    def ask(self, query: Query, params: Params) -> PendingQuery:
        """Ask without waiting: in its place among all statements, answered by `settle`."""

    def settle(self) -> None:
        """Wait for the answers to everything that was asked."""

    def ask_time(self, workspace: str) -> PendingQuery:
        """Ask, under its lock, for the time (`now_ms`) and that of its newest log row (`ts_ms`)."""

    def now_ms(self) -> int:
        """The store's time, at little cost: for reads, which decide nothing."""

    def run(self, query: Query, params: Params) -> None:
        """Run a statement whose rows nobody wants; it may fail only at the next one."""

    def many(self, query: Query, params: Sequence[Params]) -> None:
        """The same for many rows."""

    def begin(self, *, write: bool) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """Leave the transaction, if there is one; never raises."""

    def savepoint(self) -> None: ...

    def release(self) -> None: ...

    def undo(self) -> None:
        """Back to the savepoint, which is gone then."""


class CommitSignal(Protocol):
    """How one process hears of the commits of others: its descriptor becomes readable."""

    def fileno(self) -> int: ...

    def drain(self) -> None:
        """Take what was signalled, so that the next commit is heard."""

    def close(self) -> None: ...


class StoreEngine(Protocol):
    """A database that holds one store."""

    name: str
    lanes: int
    """How many lanes may commit at the same time."""
    local: bool
    """Whether a read stays in this process, without a wait for another."""

    def lane(self, workspace: str) -> str:
        """Writers of one lane are grouped into one commit; lanes do not wait for each other."""

    def writer(self, lane: str) -> AbstractContextManager[Connection]:
        """A connection for one write transaction, gated so that writers take turns."""

    def reader(self) -> AbstractContextManager[Connection]:
        """A connection for one read transaction."""

    def announce(self) -> None:
        """Tell other processes, soon and at little cost, that something was committed."""

    def signal(self) -> CommitSignal:
        """Hears what other processes announce."""

    def leader(self) -> AbstractContextManager[Callable[[], bool]]:
        """Whether this process may run the store's maintenance: asked before each round."""

    def tidy(self) -> None:
        """The database's own upkeep, from time to time."""

    def schema_version(self) -> int: ...

    def size_bytes(self) -> int: ...

    def close(self) -> None: ...
