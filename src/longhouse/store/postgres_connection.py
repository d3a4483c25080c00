"""One connection to PostgreSQL: statements are prepared once, and sent together where possible.

A statement whose rows are not needed is queued ("owed") and sent with the next one whose rows are,
because a round trip costs more than the statement. If a queued write fails, the error surfaces when
the queue is sent: at the latest when its savepoint is released or its transaction commits.

A connection that does not answer within `ANSWER_S` is closed.

Statements go through psycopg's libpq wrapper (`psycopg.pq`): for statements as small as ours, a
psycopg cursor takes three times as long as the server.
"""

from __future__ import annotations

import select
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Any

import psycopg
from psycopg.pq import ConnStatus, ExecStatus, TransactionStatus
from psycopg.pq.abc import PGresult

from longhouse.kernel.effort import spend
from longhouse.kernel.errors import (
    InternalError,
    LonghouseError,
    OutcomeUnknown,
    StoreBusy,
    StoreError,
    StoreUnusable,
)
from longhouse.store.engine import LockedWorkspace, Lost, Params, PendingQuery, Row, StoreFull
from longhouse.store.postgres_values import Column, columns_of, dump, rows_of
from longhouse.store.queries import Query
from longhouse.store.sequence import sql

__all__ = [
    "ANSWER_S",
    "MAX_TOGETHER",
    "PostgresConnection",
    "PostgresSession",
    "ServerClock",
    "broken",
    "statement_error",
]

Values = list[bytes | None]
Owed = tuple[Query, Values, PendingQuery | None]

_BEGIN = Query("begin", "", "BEGIN")
_BEGIN_READING = Query("begin_reading", "", "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
_COMMIT = Query("commit", "", "COMMIT")
_SAVEPOINT = Query("savepoint", "", "SAVEPOINT work")
_RELEASE = Query("release", "", "RELEASE work")
_TIME = Query(
    "time",
    "",
    """
    SELECT CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT) AS now_ms,
        (SELECT ts_ms FROM log WHERE ws = (SELECT ws FROM workspaces WHERE name = :name)
         ORDER BY seq DESC LIMIT 1) AS ts_ms,
        CAST(pg_current_xact_id_if_assigned() AS TEXT) AS xid,
        set_config('idle_in_transaction_session_timeout', '4s', true) AS limit
    """,
)
"""Run under the lock. Returns the time, the time of the newest log row, and the transaction id by
which to ask later whether it committed; limits how long we may hold the lock while silent."""
_RELAXED = Query("relaxed", "", "SET LOCAL synchronous_commit TO off")
_NOW = Query(
    "now",
    "",
    "SELECT CAST(FLOOR(EXTRACT(EPOCH FROM clock_timestamp()) * 1000) AS BIGINT) AS now_ms",
)
MAX_TOGETHER = 64
MAX_OWED = 1024
"""The queue is sent at this length even if no rows are needed, so that we do not seem stalled."""
_UNITS_PER_ROW = 64
ANSWER_S = 10.0
"""How long to wait for an answer; longer than the server's lock timeout."""
_TRUSTED_S = 5.0
_NOTHING: Values = []
_BEGUN: Owed = (_BEGIN, _NOTHING, None)
_SAVED: Owed = (_SAVEPOINT, _NOTHING, None)
_DONE = (ExecStatus.TUPLES_OK, ExecStatus.COMMAND_OK)
_AGAIN = (
    psycopg.errors.DeadlockDetected,
    psycopg.errors.SerializationFailure,
    psycopg.errors.ReadOnlySqlTransaction,
)
_DEFECTS = (
    psycopg.IntegrityError,
    psycopg.ProgrammingError,
    psycopg.DataError,
    psycopg.errors.InFailedSqlTransaction,
)


class PostgresSession(psycopg.Connection[Row]):
    """A pooled connection, with the statements it has prepared so far."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.prepared: dict[bytes, bytes] = {}
        self.columns: dict[bytes, list[Column]] = {}
        self.names = 0
        self.age = 0
        self.stale = False

    def renew(self, age: int) -> None:
        """Forget the prepared statements if they are older than the store's current `age`."""
        if self.age != age:
            self.prepared.clear()
            self.columns.clear()
            self.age, self.stale = age, False


class ServerClock:
    """An estimate of the server's clock: its last known time plus the time since."""

    def __init__(self) -> None:
        self._ahead_ms = 0.0
        self._heard_s = -_TRUSTED_S

    def heard(self, now_ms: int) -> None:
        self._heard_s = time.monotonic()
        self._ahead_ms = now_ms - self._heard_s * 1000

    def now_ms(self) -> int | None:
        """The server's time, or None if the last known time is too old."""
        now_s = time.monotonic()
        fresh = now_s - self._heard_s < _TRUSTED_S
        return int(self._ahead_ms + now_s * 1000) if fresh else None


class _Silent(psycopg.OperationalError):
    """No answer in time."""


class PostgresConnection:
    """A thin wrapper: runs named queries, returns dictionaries, translates psycopg's errors.

    `committed` says whether the transaction with a given id committed.
    """

    __slots__ = ("_clock", "_committed", "_owed", "_pg", "_time", "db")

    def __init__(
        self,
        db: PostgresSession,
        clock: ServerClock | None = None,
        committed: Callable[[str], bool | None] = lambda _xid: None,
    ) -> None:
        self.db = db
        self._pg = db.pgconn
        self._owed: list[Owed] = []
        self._clock = clock or ServerClock()
        self._committed = committed
        self._time: PendingQuery | None = None

    def rows(self, query: Query, params: Params) -> list[Row]:
        found = self._rows(query, self._pay(query, _values(query, params)))
        spend(len(found) * _UNITS_PER_ROW)
        return found

    def ask(self, query: Query, params: Params) -> PendingQuery:
        asked = PendingQuery()
        self._owed.append((query, _values(query, params), asked))
        return asked

    def settle(self) -> None:
        if self._owed:
            owed, self._owed = self._owed, []
            self._sent(owed)

    def enter(self, workspace: str, keys: str | None) -> LockedWorkspace:
        params = {"name": workspace, "keys": keys}
        locked, self._time = self.ask(sql.workspace_lock, params), self.ask(_TIME, params)
        stored = self.ask(sql.idempotency_of, params) if keys else PendingQuery([])
        now = self._time
        self.settle()
        row, at = next(iter(locked.result), None), now.result[0]
        return LockedWorkspace(row, at["now_ms"], at["ts_ms"], stored.result)

    def now_ms(self) -> int:
        now_ms = self._clock.now_ms()
        if now_ms is None:
            now_ms = self.rows(_NOW, {})[0]["now_ms"]
            self._clock.heard(now_ms)
        return now_ms

    def run(self, query: Query, params: Params) -> None:
        self._owed.append((query, _values(query, params), None))
        if len(self._owed) >= MAX_OWED:
            self.settle()

    def many(self, query: Query, params: Sequence[Params]) -> None:
        rows = [_values(query, row) for row in params]
        while rows:
            count = min(1 << len(rows).bit_length() - 1, MAX_TOGETHER)
            several = query.times(count)
            if several is None:
                self._owed += [(query, values, None) for values in rows]
                break
            self._owed.append((several, [value for row in rows[:count] for value in row], None))
            del rows[:count]
        if len(self._owed) >= MAX_OWED:
            self.settle()

    def begin(self, *, write: bool) -> None:
        self._time = None
        self._owed = [_BEGUN if write else (_BEGIN_READING, _NOTHING, None)]

    def commit(self) -> None:
        if self._owed == [_BEGUN]:
            self._owed.clear()
            return
        try:
            result = self._pay(_COMMIT, _NOTHING)
        except Lost as lost:
            if not broken(self.db):
                raise
            raise Lost(OutcomeUnknown(), committed=self._whether_committed) from lost
        if result.command_status != b"COMMIT":  # the server rolled back instead
            raise InternalError

    def rollback(self) -> None:
        self._owed.clear()
        if self._pg.transaction_status != TransactionStatus.IDLE:
            with suppress(Lost, LonghouseError):
                self.script("ROLLBACK")

    def savepoint(self) -> None:
        self._owed.append(_SAVED)

    def release(self) -> None:
        if self._owed[-1:] == [_SAVED]:
            self._owed.pop()
        else:
            self._pay(_RELEASE, _NOTHING)

    def undo(self) -> None:
        if _SAVED in self._owed:
            del self._owed[self._owed.index(_SAVED) :]
        else:
            self._owed.clear()
            self.script("ROLLBACK TO work; RELEASE work")

    def script(self, sql: str, *, answer_s: float | None = None) -> list[Row]:
        """Run statements directly, ignoring the queue; returns the rows of the last."""
        try:
            self._pg.send_query(sql.encode())
            result = self._last_result(answer_s or ANSWER_S)
        except psycopg.Error as error:
            raise statement_error(error, self.db) from error
        return rows_of(result, columns_of(result))

    def blocks(self, query: Query, params: Params) -> list[bytes]:
        """The rows of a query with one column of bytes, unconverted."""
        self.settle()
        text = query.postgres.text
        try:
            if text not in self.db.prepared:
                self.db.names += 1
                name = b"s%d" % self.db.names
                self._pg.send_prepare(name, text)
                self._last_result(ANSWER_S)
                self.db.prepared[text] = name
            self._pg.send_query_prepared(
                self.db.prepared[text], _values(query, params), result_format=1
            )
            result = self._last_result(ANSWER_S)
        except psycopg.Error as error:
            raise statement_error(error, self.db) from error
        return [result.get_value(row, 0) or b"" for row in range(result.ntuples)]

    def relax(self) -> None:
        """Let this transaction's commit return before it is on disk; a later commit settles it."""
        self._owed.append((_RELAXED, _NOTHING, None))

    def copy(self, statement: bytes, data: Iterable[bytes]) -> None:
        """Run a `COPY … FROM STDIN`; each block is on its way before the next is asked for."""
        self.settle()
        try:
            self._pg.send_query(statement)
            self._copied(data)
        except psycopg.Error as error:
            raise statement_error(error, self.db) from error

    def _copied(self, data: Iterable[bytes]) -> None:
        pg = self._pg
        try:
            self._await(time.monotonic() + ANSWER_S)
            begun = pg.get_result()
            if begun is None or begun.status != ExecStatus.COPY_IN:
                raise psycopg.OperationalError("the server accepts no bytes")
            for block in data:
                pg.put_copy_data(block)
                self._flush(time.monotonic() + ANSWER_S)
            pg.put_copy_end()
        except BaseException:  # the server still waits for bytes, so the connection is unusable
            self.db.close()
            raise
        self._last_result(ANSWER_S)

    def _flush(self, ends: float) -> None:
        """Wait until the server has taken what was sent, so that nothing piles up here."""
        pg = self._pg
        poll = select.poll()
        while pg.flush():
            poll.register(pg.socket, select.POLLIN | select.POLLOUT)
            if not poll.poll(max(0.0, ends - time.monotonic()) * 1000):
                self.db.close()
                raise _Silent
            pg.consume_input()

    def _whether_committed(self) -> bool | None:
        xid = self._time.result[0]["xid"] if self._time and self._time.rows else None
        return self._committed(xid) if xid else None

    def _rows(self, query: Query, result: PGresult) -> list[Row]:
        text = query.postgres.text
        columns = self.db.columns.get(text)
        if columns is None:
            columns = self.db.columns[text] = columns_of(result)
        return rows_of(result, columns)

    def _pay(self, query: Query, values: Values) -> PGresult:
        """Send the queue and this statement in one round trip; returns the statement's result."""
        if self._owed or query.postgres.text not in self.db.prepared:
            owed, self._owed = self._owed, []
            return self._sent([*owed, (query, values, None)])
        try:
            self._pg.send_query_prepared(self.db.prepared[query.postgres.text], values)
            return self._last_result(ANSWER_S)
        except psycopg.Error as error:
            raise statement_error(error, self.db) from error

    def _sent(self, statements: list[Owed]) -> PGresult:
        """Send statements in one round trip and set their rows; returns the last one's result."""
        try:
            results = self._send(statements)
        except psycopg.Error as error:
            raise statement_error(error, self.db) from error
        for (query, _, asked), result in zip(statements, results, strict=True):
            if asked is not None:
                asked.rows = self._rows(query, result)
                if asked is self._time:
                    self._clock.heard(asked.rows[0]["now_ms"])
        return results[-1]

    def _send(self, statements: list[Owed]) -> list[PGresult]:
        """Send statements in one round trip; returns their results or raises the first error."""
        pg, db = self._pg, self.db
        fresh: dict[bytes, bytes] = {}
        preparing: set[int] = set()
        sent = 0
        pg.enter_pipeline_mode()
        try:
            for query, values, _ in statements:
                text = query.postgres.text
                name = db.prepared.get(text) or fresh.get(text)
                if name is None:
                    db.names += 1
                    name = fresh[text] = b"s%d" % db.names
                    pg.send_prepare(name, text)
                    preparing.add(sent)
                    sent += 1
                pg.send_query_prepared(name, values)
                sent += 1
            pg.pipeline_sync()
            results = self._receive()
        finally:
            if pg.status == ConnStatus.OK:
                self._leave_pipeline()
        db.prepared.update(fresh)
        return [result for place, result in enumerate(results) if place not in preparing]

    def _leave_pipeline(self) -> None:
        """Leave pipeline mode; close the connection if some answers were not read."""
        try:
            self._pg.exit_pipeline_mode()
        except psycopg.Error:
            self.db.close()

    def _receive(self) -> list[PGresult]:
        """Read results up to the end of the round trip."""
        pg = self._pg
        results: list[PGresult] = []
        trouble: PGresult | None = None
        ends = time.monotonic() + ANSWER_S
        while True:
            if pg.is_busy():
                self._await(ends)
            result = pg.get_result()
            if result is None:
                if pg.status != ConnStatus.OK:
                    break
            elif (status := result.status) == ExecStatus.PIPELINE_SYNC:
                break
            elif status in _DONE:
                results.append(result)
            elif status != ExecStatus.PIPELINE_ABORTED:
                trouble = trouble or result
        if trouble is not None:
            raise psycopg.errors.error_from_result(trouble)
        if pg.status != ConnStatus.OK:
            raise psycopg.OperationalError("the connection is lost")
        return results

    def _last_result(self, answer_s: float) -> PGresult:
        """The result of the last statement sent outside pipeline mode; raises its error."""
        pg, ends = self._pg, time.monotonic() + answer_s
        last: PGresult | None = None
        try:
            while True:
                if pg.is_busy():
                    self._await(ends)
                result = pg.get_result()
                if result is None:
                    break
                if last is None or last.status in _DONE:
                    last = result
        except BaseException:  # some answers were not read, so the connection is unusable
            self.db.close()
            raise
        if last is None:
            raise psycopg.OperationalError("the connection is lost")
        _check(last)
        return last

    def _await(self, ends: float) -> None:
        """Wait until there is something to read, letting other threads run."""
        pg = self._pg
        poll = select.poll()
        while pg.is_busy():
            poll.register(pg.socket, select.POLLIN | (select.POLLOUT if pg.flush() else 0))
            if not poll.poll(max(0.0, ends - time.monotonic()) * 1000):
                self.db.close()
                raise _Silent
            pg.consume_input()


def _values(query: Query, params: Params) -> Values:
    return [dump(params[name]) for name in query.postgres.names]


def _check(result: PGresult) -> None:
    if result.status not in _DONE:
        raise psycopg.errors.error_from_result(result)


def broken(db: PostgresSession) -> bool:
    return db.closed or db.broken


def statement_error(error: psycopg.Error, db: PostgresSession) -> Lost | LonghouseError:
    """The error to raise: a wrong statement is our bug, anything else ends the transaction."""
    if isinstance(error, psycopg.errors.InsufficientPrivilege):
        return StoreUnusable(
            f"PostgreSQL: {error.diag.message_primary}",
            recovery="allow this user to create a schema: GRANT CREATE ON DATABASE … TO …",
        )
    if isinstance(error, _Silent):
        return Lost(
            StoreBusy(
                "the database did not answer in time; nothing was written",
                recovery="repeat the call; if it fails again, check that PostgreSQL responds",
            )
        )
    if broken(db):
        return Lost(StoreBusy("the connection broke; nothing was written"), again=True)
    if isinstance(error, psycopg.errors.FeatureNotSupported):  # a table changed after preparing
        db.stale = True
        return Lost(StoreBusy(), again=True)
    if isinstance(error, _AGAIN):
        return Lost(StoreBusy(), again=True)
    if isinstance(error, psycopg.errors.DiskFull):
        return Lost(StoreFull())
    if isinstance(error, psycopg.errors.LockNotAvailable):
        return Lost(StoreBusy("another process has held the workspace for too long"))
    if isinstance(error, _DEFECTS):
        return InternalError()
    return Lost(StoreError(f"PostgreSQL failed ({type(error).__name__}); nothing was written"))
