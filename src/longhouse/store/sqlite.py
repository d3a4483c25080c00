"""SQLite through apsw: WAL, synchronous=FULL, foreign keys, one gate for all writers of the file.

Acknowledged means on disk. The gate (see gate.py) makes the processes that write the file take
turns, and its counter tells waiting processes that something was committed.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import apsw

from longhouse.kernel.clock import SystemClock
from longhouse.kernel.effort import Allowance, Overdrawn, allowance_here
from longhouse.kernel.errors import (
    InternalError,
    LonghouseError,
    OutcomeUnknown,
    StoreBusy,
    StoreError,
    StoreUnusable,
)
from longhouse.store import migrate
from longhouse.store.engine import (
    CommitSignal,
    LockedWorkspace,
    Lost,
    Params,
    PendingQuery,
    Row,
    SignalCounts,
    StoreFull,
)
from longhouse.store.gate import Gate
from longhouse.store.queries import Query
from longhouse.store.sequence import sql

__all__ = ["APPLICATION_ID", "SqliteEngine"]

APPLICATION_ID = 0x4C4F4E47
"""`LONG`, in the file's header: distinguishes a Longhouse store from any other SQLite file."""

_IDLE_READERS = 8
_BUSY_MS = 10_000
_SETTINGS = (
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
    "PRAGMA temp_store=MEMORY"
)
_WRITER_CACHE = -8000
_CHECKPOINT_PAGES = 4000
"""Four times SQLite's default, so that pages that change often are copied back less often."""
_STEPS = 2_000
"""After how many of SQLite's steps a limited statement is counted."""
_UNITS_PER_STEP = 2
_UNITS_PER_ROW = 64
_DEFECTS = (apsw.ConstraintError, apsw.MismatchError, apsw.RangeError, apsw.SQLError)


class SqliteConnection:
    """A thin wrapper: runs named queries, returns dictionaries, translates apsw's errors."""

    __slots__ = ("_allowance", "_clock", "_execute", "_gate", "_names", "db")

    def __init__(
        self, db: apsw.Connection, clock: SystemClock, gate: Gate[SqliteConnection]
    ) -> None:
        self.db = db
        self._clock = clock
        self._gate = gate
        self._execute = db.execute
        self._names: dict[str, tuple[str, ...]] = {}
        self._allowance: Allowance | None = None

    def limit(self, allowance: Allowance | None) -> None:
        """Count the steps of statements and the size of their rows from now on."""
        if allowance is not self._allowance:
            self._allowance = allowance
            self.db.set_progress_handler(self._stepped if allowance else None, _STEPS)

    def _stepped(self) -> bool:
        """Whether to interrupt the statement; called by SQLite while it runs."""
        allowance = self._allowance
        if allowance is None:
            return False
        allowance.left -= _STEPS * _UNITS_PER_STEP
        return allowance.is_spent()

    def rows(self, query: Query, params: Params) -> list[Row]:
        try:
            cursor = self._execute(query.sqlite, params)
            names = self._names.get(query.sqlite)
            if names is None:
                names = self._names[query.sqlite] = tuple(
                    name for name, _ in cursor.get_description()
                )
            rows = list(cursor) if self._allowance is None else self._counted(cursor)
        except apsw.ExecutionCompleteError:  # no rows, and so no description
            return []
        except apsw.InterruptError:
            raise Overdrawn from None
        except apsw.Error as error:
            raise statement_error(error) from error
        try:
            return [dict(zip(names, row, strict=True)) for row in rows]
        except ValueError:  # another process has added a column
            self._names.clear()
            raise Lost(StoreBusy(), again=True) from None

    def _counted(self, cursor: apsw.Cursor) -> list[tuple[Any, ...]]:
        """The rows, read only as far as the allowance lasts."""
        assert self._allowance is not None
        rows = []
        try:
            for row in cursor:
                size = sum(len(value) for value in row if isinstance(value, str | bytes))
                self._allowance.spend(size + _UNITS_PER_ROW)
                rows.append(row)
        except Overdrawn:
            cursor.close(True)  # a statement left halfway would keep its old snapshot open
            raise
        return rows

    def ask(self, query: Query, params: Params) -> PendingQuery:
        return PendingQuery(self.rows(query, params))

    def settle(self) -> None:
        """Nothing to do: `ask` runs its statement immediately."""

    def enter(self, workspace: str, keys: str | None) -> LockedWorkspace:
        name = {"name": workspace, "keys": keys}
        rows = self.rows(sql.workspace_lock, name)
        now_ms = self._clock.tick(self._gate)
        if not rows:
            return LockedWorkspace(None, now_ms, None, [])
        answers = [] if keys is None else self.rows(sql.idempotency_of, name)
        return LockedWorkspace(rows[0], now_ms, rows[0]["ts_ms"], answers)

    def now_ms(self) -> int:
        return self._clock.now_ms()

    def run(self, query: Query, params: Params) -> None:
        try:
            for _ in self._execute(query.sqlite, params):
                pass
        except apsw.Error as error:
            raise statement_error(error) from error

    def many(self, query: Query, params: Sequence[Params]) -> None:
        try:
            self.db.executemany(query.sqlite, params)
        except apsw.Error as error:
            raise statement_error(error) from error

    def script(self, sql: str) -> None:
        try:
            for _ in self._execute(sql):
                pass
        except apsw.Error as error:
            raise statement_error(error) from error

    def begin(self, *, write: bool) -> None:
        try:
            self._execute("BEGIN IMMEDIATE" if write else "BEGIN")
        except apsw.Error as error:
            raise statement_error(error) from error

    def commit(self) -> None:
        try:
            self._execute("COMMIT")
        except apsw.Error as error:
            if getattr(error, "extendedresult", None) == apsw.SQLITE_IOERR_FSYNC:
                raise Lost(OutcomeUnknown()) from error  # it may be on disk anyway
            raise statement_error(error) from error

    def rollback(self) -> None:
        if self.db.in_transaction:
            with suppress(apsw.Error):
                self._execute("ROLLBACK")

    def savepoint(self) -> None:
        self.script("SAVEPOINT work")

    def release(self) -> None:
        self.script("RELEASE work")

    def undo(self) -> None:
        self.script("ROLLBACK TO work; RELEASE work")


class SqliteEngine:
    """One store in one file; an earlier `schema` is used only to import an old export."""

    name = "sqlite"
    lanes = 1
    local = True

    def __init__(self, path: Path, *, schema: int | None = None) -> None:
        self.path = path
        self._schema = schema or migrate.newest()
        self.clock = SystemClock()
        self._readers: deque[SqliteConnection] = deque()
        try:
            path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            self._gate = Gate[SqliteConnection](path.with_suffix(".lock"))
        except OSError as error:
            raise StoreUnusable.folder(path.parent, error) from error
        try:
            with self._gate:
                self.clock.resume(self._gate.reading())
                self._gate.held = self._writer = self._open()
        except OSError as error:
            self._gate.close()
            raise StoreUnusable.folder(path, error) from error
        except StoreFull as error:
            self._gate.close()
            raise StoreUnusable.full(path) from error
        except BaseException:
            self._gate.close()
            raise

    def began_anew(self) -> bool:
        return self.clock.last.anew

    def looked_through(self) -> None:
        with self._gate:
            self.clock.resume(self._gate.reading())
            self.clock.looked()
            self._gate.keep(self.clock.last)

    def lane(self, workspace: str) -> str:  # noqa: ARG002
        return ""

    def writer(self, lane: str = "") -> Gate[SqliteConnection]:  # noqa: ARG002
        """A turn through the gate; every write transaction takes one."""
        return self._gate

    @contextmanager
    def reader(self) -> Iterator[SqliteConnection]:
        try:
            connection = self._readers.pop()
        except IndexError:
            connection = self._connect()
        connection.limit(allowance_here())
        try:
            yield connection
        finally:
            connection.limit(None)
            if len(self._readers) < _IDLE_READERS:
                self._readers.append(connection)
            else:
                connection.db.close()

    def announce(self, *, knock: bool = False) -> None:
        self._gate.count_up(knock=knock)

    def others(self) -> SignalCounts:
        """What other processes have announced; it changes with each of their commits."""
        return self._gate.others()

    def signal(self) -> CommitSignal:
        return self._gate.signal()

    def schema_version(self) -> int:
        with self.reader() as connection:
            return int(connection.db.pragma("user_version"))

    def size_bytes(self) -> int:
        with self.reader() as connection:
            pages, size = (int(connection.db.pragma(p)) for p in ("page_count", "page_size"))
        return pages * size

    @contextmanager
    def leader(self) -> Iterator[Callable[[], bool]]:
        """Only one server may serve a file, so it always leads."""
        yield lambda: True

    def tidy(self) -> None:
        """Truncate the write-ahead log, unless a reader still needs it.

        Uses a separate connection, since the writer's may be in use, and does not wait for readers,
        because that would block all writers.
        """
        db = self._connect().db
        try:
            db.set_busy_timeout(0)
            with suppress(apsw.BusyError):
                db.wal_checkpoint(mode=apsw.SQLITE_CHECKPOINT_TRUNCATE)
        finally:
            db.close()

    def close(self) -> None:
        while self._readers:
            self._readers.pop().db.close()
        self._writer.db.close()
        self._gate.close()

    def _open(self) -> SqliteConnection:
        """The writer's connection, after creating the file if needed and migrating its schema."""
        if not self.path.exists():
            # Created here, private, because SQLite gives its other files the same mode.
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        connection = self._connect(check=True)
        try:
            connection.db.pragma("cache_size", _WRITER_CACHE)
            connection.db.wal_autocheckpoint(_CHECKPOINT_PAGES)
            self._upgrade(connection)
        except BaseException:
            connection.db.close()
            raise
        return connection

    def _connect(self, *, check: bool = False) -> SqliteConnection:
        try:
            db = apsw.Connection(
                os.fspath(self.path), flags=apsw.SQLITE_OPEN_READWRITE, statementcachesize=256
            )
            try:
                db.set_busy_timeout(_BUSY_MS)
                # Stable plans: otherwise SQLite may prepare a statement again for each new value.
                db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
                # No store of ours has a trigger, and a file that others wrote should run none.
                db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
                if check:
                    self._check(db)
                db.execute(_SETTINGS).fetchall()  # fetch all: execution pauses at each row
            except BaseException:
                db.close()
                raise
        except apsw.Error as error:
            raise explain(error, self.path) from error
        return SqliteConnection(db, self.clock, self._gate)

    def _check(self, db: apsw.Connection) -> None:
        """Refuse a file that is not a store or is too new, before changing anything in it."""
        if db.readonly("main"):
            raise apsw.ReadOnlyError
        if db.pragma("application_id") != APPLICATION_ID and db.pragma("schema_version") != 0:
            raise StoreUnusable(
                f"{self.path} is a SQLite file, but not a Longhouse store",
                recovery="choose another file with --db, or another folder with --dir",
            )
        version, newest = db.pragma("user_version"), migrate.newest()
        if version > newest:
            raise StoreUnusable(
                f"{self.path} has schema {version}; this Longhouse knows up to {newest}",
                recovery="use the newer Longhouse that wrote it, or choose another with --dir",
            )

    def _upgrade(self, connection: SqliteConnection) -> None:
        """Migrate the schema to this engine's version atomically."""
        version = connection.db.pragma("user_version")
        if version >= self._schema:
            return
        try:
            connection.begin(write=True)
            connection.db.pragma("application_id", APPLICATION_ID)
            for number, sql in migrate.scripts("sqlite", after=version, upto=self._schema):
                connection.script(sql)
                connection.db.pragma("user_version", number)
            connection.commit()
        except Lost as lost:
            raise lost.error from lost
        finally:
            connection.rollback()


def statement_error(error: apsw.Error) -> Lost | LonghouseError:
    """The error to raise: a wrong statement is our bug, anything else ends the transaction."""
    if isinstance(error, _DEFECTS):
        return InternalError()
    return Lost(explain(error))


def _is_full(path: Path) -> bool:
    """Whether the disk has no space, in which case SQLite cannot create the files it needs."""
    try:
        found = os.statvfs(path.parent)
    except OSError:
        return False
    return found.f_bavail == 0 or (found.f_files > 0 and found.f_favail == 0)


def explain(error: apsw.Error, path: Path | None = None) -> LonghouseError:
    """Translate apsw's error into one that says how to recover."""
    where = path or "the store"
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreBusy()
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return StoreUnusable(
            f"{where} is damaged or not a SQLite file",
            recovery="restore it from a backup, or move it away and start over",
        )
    if isinstance(error, apsw.FullError):
        return StoreFull()
    if path is not None and isinstance(error, apsw.CantOpenError | apsw.IOError) and _is_full(path):
        return StoreFull()
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.PermissionsError):
        return StoreUnusable(
            f"{where} cannot be opened for writing",
            recovery="check the permissions of it and its folder, or choose another with --dir",
        )
    if isinstance(error, apsw.IOError):
        return StoreError(
            "the disk failed; nothing was written",
            recovery="check the disk, then repeat the call",
        )
    return StoreError(f"SQLite failed ({type(error).__name__}); nothing was written")
