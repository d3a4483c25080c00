"""The interface of a database engine: internal, small, tested by one conformance suite.

An engine provides connections. A connection runs named queries inside one transaction at a time.
Everything above (group commit, seq, log, rooms) is the same on every engine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, NamedTuple, Protocol

from longhouse.kernel.clock import SystemClock
from longhouse.kernel.errors import LonghouseError, StoreError
from longhouse.store.queries import Query

__all__ = [
    "CommitSignal",
    "Connection",
    "LockedWorkspace",
    "Lost",
    "Params",
    "PendingQuery",
    "Row",
    "SignalCounts",
    "StoreEngine",
    "StoreFull",
]

Row = dict[str, Any]
Params = Mapping[str, Any]


class StoreFull(StoreError):
    """The disk is full; nothing was written."""

    fix = "free up disk space, then repeat the call; reads still work"


class Lost(Exception):
    """The transaction ended without an answer; `error` is the error for its callers.

    `again` means that nothing was written and the same work may succeed on a new connection. If
    COMMIT had been sent, `committed` finds out whether it succeeded; None means it is unknown.
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
    """A statement sent or queued; `rows` is set once the connection has settled."""

    __slots__ = ("rows",)

    def __init__(self, rows: list[Row] | None = None) -> None:
        self.rows = rows

    @property
    def result(self) -> list[Row]:
        assert self.rows is not None, "not settled yet"
        return self.rows


class LockedWorkspace(NamedTuple):
    """What is read when a workspace is locked: its row if it exists, the time, stored answers.

    `ts_ms` is the time of the newest row of its log.
    """

    row: Row | None
    now_ms: int
    ts_ms: int | None
    answers: list[Row]


class Connection(Protocol):
    """One database connection, used by one thread at a time."""

    def rows(self, query: Query, params: Params) -> list[Row]: ...

    def ask(self, query: Query, params: Params) -> PendingQuery:
        """Queue a statement, in order with all others; `settle` fetches its rows."""

    def settle(self) -> None:
        """Send what is queued and wait for all rows."""

    def enter(self, workspace: str, keys: str | None) -> LockedWorkspace:
        """Lock a workspace to write in it, and read what every write needs, in one round trip.

        `keys` is a JSON list of idempotency keys.
        """

    def now_ms(self) -> int:
        """The store's time, cheap and approximate; for reads, which decide nothing."""

    def run(self, query: Query, params: Params) -> None:
        """Run a statement and discard its rows; an error may surface only at a later statement."""

    def many(self, query: Query, params: Sequence[Params]) -> None:
        """The same for many rows."""

    def begin(self, *, write: bool) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None:
        """Leave the transaction, if there is one; never raises."""

    def savepoint(self) -> None: ...

    def release(self) -> None: ...

    def undo(self) -> None:
        """Roll back to the savepoint and remove it."""


class SignalCounts(NamedTuple):
    """Two numbers: one changes when another process commits, one when it knocks."""

    commits: int
    knocks: int


class CommitSignal(Protocol):
    """How a process notices the commits of others: the descriptor becomes readable."""

    def heard(self) -> SignalCounts:
        """What was announced until now."""

    def fileno(self) -> int: ...

    def drain(self) -> None:
        """Consume what was signaled, so that the next commit is noticed."""

    def close(self) -> None: ...


class StoreEngine(Protocol):
    """A database that holds one store."""

    name: str
    lanes: int
    """How many lanes may commit at the same time."""
    local: bool
    """Whether a read stays in this process, without waiting for a server."""
    clock: SystemClock
    """This process's view of the time, for what is not decided in a transaction."""

    def began_anew(self) -> bool:
        """Whether times in the store may lie ahead of its clock: it no longer continues the old."""

    def looked_through(self) -> None:
        """Note, for other processes too, that none do."""

    def lane(self, workspace: str) -> str:
        """The workspace's lane: its writes share commits, and lanes do not wait for each other."""

    def writer(self, lane: str) -> AbstractContextManager[Connection]:
        """A connection for one write transaction; writers take turns."""

    def reader(self) -> AbstractContextManager[Connection]:
        """A connection for one read transaction."""

    def announce(self, *, knock: bool = False) -> None:
        """Notify other processes soon, and cheaply, of a commit; called where the writer is held.

        A `knock` means that they should look at more than the log.
        """

    def others(self) -> SignalCounts | None:
        """What other processes have announced, if that is known at once; else None."""

    def signal(self) -> CommitSignal:
        """A signal for the commits that other processes announce."""

    def leader(self) -> AbstractContextManager[Callable[[], bool]]:
        """A function that says whether this process leads; called before each maintenance round."""

    def tidy(self) -> None:
        """The database's own maintenance, called from time to time."""

    def schema_version(self) -> int: ...

    def size_bytes(self) -> int: ...

    def close(self) -> None: ...
