"""SQLite through apsw: WAL, FULL, foreign keys, one gate for all writers of the file.

The gate is a file lock beside the database: with SQLite's own busy handler a waiting process can
starve for seconds, with the gate the worst wait is one batch. Acknowledged means on disk.
"""

from __future__ import annotations

import fcntl
import os
import queue
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

import apsw

from longhouse.kernel.errors import LonghouseError, StoreBusy, StoreError, StoreUnusable
from longhouse.store import migrate
from longhouse.store.engine import Params, Row
from longhouse.store.queries import Query

__all__ = ["APPLICATION_ID", "SqliteEngine"]

APPLICATION_ID = 0x4C4F4E47
"""`LONG`, in the file's header: tells a Longhouse store from any other SQLite file."""

_READERS = 8
_BUSY_MS = 10_000


class SqliteConnection:
    """A thin wrapper: named queries in, dictionaries out, apsw's errors in our words."""

    __slots__ = ("_db",)

    def __init__(self, db: apsw.Connection) -> None:
        self._db = db

    def rows(self, query: Query, params: Params) -> list[Row]:
        try:
            cursor = self._db.execute(query.sqlite, params)
            first = next(cursor, None)
            if first is None:
                return []
            if query.columns is None:
                query.columns = tuple(name for name, _ in cursor.get_description())
            names = query.columns
            rows = [dict(zip(names, first, strict=True))]
            rows.extend(dict(zip(names, row, strict=True)) for row in cursor)
            return rows
        except apsw.Error as error:
            raise translate(error) from error

    def many(self, query: Query, params: Sequence[Params]) -> None:
        try:
            self._db.executemany(query.sqlite, params)
        except apsw.Error as error:
            raise translate(error) from error

    def script(self, sql: str) -> None:
        try:
            self._db.execute(sql)
        except apsw.Error as error:
            raise translate(error) from error

    def begin(self, *, write: bool) -> None:
        self.script("BEGIN IMMEDIATE" if write else "BEGIN")

    def commit(self) -> None:
        self.script("COMMIT")

    def rollback(self) -> None:
        if self._db.in_transaction:
            self.script("ROLLBACK")

    def savepoint(self) -> None:
        self.script("SAVEPOINT work")

    def release(self) -> None:
        self.script("RELEASE work")

    def rollback_to_savepoint(self) -> None:
        self.script("ROLLBACK TO work; RELEASE work")


class SqliteEngine:
    """One store in one file."""

    name = "sqlite"

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        self._gate = os.open(
            path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600
        )
        self._readers: queue.LifoQueue[SqliteConnection] = queue.LifoQueue(_READERS)
        self._db = self._connect()
        self._writer = SqliteConnection(self._db)
        with self.writer():
            self._prepare()

    def lane(self, workspace: str) -> str:  # noqa: ARG002
        return ""

    @contextmanager
    def writer(self, lane: str = "") -> Iterator[SqliteConnection]:  # noqa: ARG002
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        try:
            yield self._writer
        finally:
            fcntl.flock(self._gate, fcntl.LOCK_UN)

    @contextmanager
    def reader(self) -> Iterator[SqliteConnection]:
        try:
            connection = self._readers.get_nowait()
        except queue.Empty:
            connection = SqliteConnection(self._connect())
        try:
            yield connection
        finally:
            try:
                self._readers.put_nowait(connection)
            except queue.Full:
                connection._db.close()

    def schema_version(self) -> int:
        return int(self._db.pragma("user_version"))

    def size_bytes(self) -> int:
        pages, size = self._db.pragma("page_count"), self._db.pragma("page_size")
        return int(pages) * int(size)

    def close(self) -> None:
        with suppress(queue.Empty):
            while True:
                self._readers.get_nowait()._db.close()
        self._db.close()
        os.close(self._gate)

    def _connect(self) -> apsw.Connection:
        try:
            fresh = not self.path.exists()
            db = apsw.Connection(os.fspath(self.path), statementcachesize=256)
            db.set_busy_timeout(_BUSY_MS)
            if fresh:
                self.path.chmod(0o600)
            db.execute(
                "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON;"
                "PRAGMA temp_store=MEMORY; PRAGMA cache_size=-8000"
            )
        except apsw.Error as error:
            raise translate(error, self.path) from error
        return db

    def _prepare(self) -> None:
        """Make or upgrade the schema; refuse a file that is not ours or newer than we are."""
        app_id, version = (int(self._db.pragma(p)) for p in ("application_id", "user_version"))
        empty = not self._writer.rows(
            Query("tables", "SELECT 1 FROM sqlite_schema LIMIT 1", ""), {}
        )
        if app_id != APPLICATION_ID and not empty:
            raise StoreUnusable(
                f"{self.path} is an SQLite file, but not a Longhouse store",
                recovery="point --dir or LONGHOUSE_DIR at another folder",
            )
        newest = migrate.newest()
        if version > newest:
            raise StoreUnusable(
                f"{self.path} has schema {version}; this Longhouse knows up to {newest}",
                recovery="use the newer Longhouse that wrote it, or another --dir",
            )
        if version == newest:
            return
        self._writer.begin(write=True)
        try:
            if empty:
                self._db.pragma("application_id", APPLICATION_ID)
            for number, sql in migrate.scripts("sqlite", after=version):
                self._writer.script(sql)
                self._db.pragma("user_version", number)
            self._writer.commit()
        except BaseException:
            self._writer.rollback()
            raise


def translate(error: apsw.Error, path: Path | None = None) -> LonghouseError:
    """What apsw said, as an error that names the way out."""
    where = path or "the store"
    if isinstance(error, apsw.BusyError | apsw.LockedError):
        return StoreBusy()
    if isinstance(error, apsw.NotADBError | apsw.CorruptError):
        return StoreUnusable(
            f"{where} is damaged or not an SQLite file",
            recovery="restore it with `longhouse restore`, or move it away and start afresh",
        )
    if isinstance(error, apsw.FullError):
        return StoreError("the disk is full; nothing was written", recovery="make room and repeat")
    if isinstance(error, apsw.CantOpenError | apsw.ReadOnlyError | apsw.PermissionsError):
        return StoreUnusable(
            f"{where} cannot be opened for writing",
            recovery="check the folder's permissions, or choose another with --dir",
        )
    if isinstance(error, apsw.IOError):
        return StoreError("the disk failed; nothing was written")
    return StoreError(f"the store refused a statement: {type(error).__name__}: {error}")
