"""PostgreSQL through psycopg: a lane per workspace, serialised by the row that holds its sequence.

The house lives in the schema `longhouse` of the database that the URL names. A connection that
breaks before COMMIT was sent has written nothing, and the work is done again on a fresh one; a
COMMIT without an answer is reported as unknown, never guessed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from longhouse.kernel.errors import (
    LonghouseError,
    StoreBusy,
    StoreError,
    StoreUnusable,
)
from longhouse.store import migrate
from longhouse.store.bell import Bell
from longhouse.store.engine import Lost, Signal
from longhouse.store.postgres_connection import PostgresConnection, Session, broken
from longhouse.store.queries import Query

__all__ = ["PostgresEngine"]

LANES = 12
READERS = 6
PATIENCE_S = 10.0
_MIGRATING, _MAINTAINING = 0x4C4F4E47_00000001, 0x4C4F4E47_00000002
"""The keys of our advisory locks."""

_SETTINGS = (
    "SET search_path TO longhouse; SET lock_timeout TO '10s';"
    "SET idle_in_transaction_session_timeout TO '60s'"
)
_VERSION = (
    "SELECT CASE WHEN to_regclass('longhouse.schema_version') IS NOT NULL THEN 'ours' "
    "WHEN EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('longhouse')) "
    "THEN 'foreign' ELSE 'empty' END AS state"
)
_SIZE = (
    "SELECT CAST(COALESCE(SUM(pg_total_relation_size(oid)), 0) AS BIGINT) AS size FROM pg_class "
    "WHERE relnamespace = to_regnamespace('longhouse') AND relkind = 'r'"
)
_SET_VERSION = Query("set_version", "", "UPDATE schema_version SET version = :version")


class PostgresEngine:
    """One store in one database."""

    name = "postgres"
    lanes = LANES
    local = False

    def __init__(self, url: str) -> None:
        self._url = url
        self._age = 0
        self._pool: ConnectionPool[Session] = ConnectionPool(
            url,
            connection_class=Session,
            kwargs=_OPTIONS,
            configure=_configure,
            min_size=0,
            max_size=LANES + READERS,
            timeout=PATIENCE_S,
            reconnect_timeout=PATIENCE_S,
            num_workers=2,
            open=False,
        )
        self._upgrade()
        self._pool.open()
        self._bell = Bell(self._ring)

    def lane(self, workspace: str) -> str:
        return workspace

    @contextmanager
    def writer(self, lane: str) -> Iterator[PostgresConnection]:  # noqa: ARG002
        with self._borrowed() as connection:
            yield connection

    @contextmanager
    def reader(self) -> Iterator[PostgresConnection]:
        with self._borrowed() as connection:
            yield connection

    def announce(self) -> None:
        self._bell.ring()

    def signal(self) -> Signal:
        return _Listener(self._connect())

    @contextmanager
    def leader(self) -> Iterator[Callable[[], bool]]:
        """Among all servers of a store, the one whose connection holds the lock leads."""
        held: list[Session] = []

        def leads() -> bool:
            with suppress(Lost, LonghouseError, psycopg.Error):
                if not held:
                    db = self._connect()
                    if not _value(db, f"SELECT pg_try_advisory_lock({_MAINTAINING}) AS ok"):
                        db.close()
                        return False
                    held.append(db)
                return bool(_value(held[0], "SELECT 1 AS ok"))
            if held:
                held.pop().close()
            return False

        try:
            yield leads
        finally:
            for db in held:
                with suppress(psycopg.Error):  # now, not when the server notices that we left
                    db.execute("SELECT pg_advisory_unlock_all()")
                db.close()

    def tidy(self) -> None:
        """PostgreSQL vacuums by itself."""

    def schema_version(self) -> int:
        with self._borrowed() as connection:
            return int(connection.script("SELECT version FROM schema_version")[0]["version"])

    def size_bytes(self) -> int:
        with self._borrowed() as connection:
            return int(connection.script(_SIZE)[0]["size"])

    def close(self) -> None:
        self._bell.close()
        self._pool.close()

    def _ring(self) -> None:
        """NOTIFY by itself: inside a transaction its commit would wait for every other's."""
        with suppress(Lost, LonghouseError), self._borrowed() as connection:
            connection.script("NOTIFY longhouse")

    @contextmanager
    def _borrowed(self) -> Iterator[PostgresConnection]:
        try:
            db = self._pool.getconn()
        except PoolTimeout as error:
            raise Lost(
                StoreBusy(
                    f"no connection to the database in {PATIENCE_S:.0f} s; nothing was written",
                    recovery="repeat the call; if it fails again, check that PostgreSQL answers",
                )
            ) from error
        except PoolClosed as error:
            raise Lost(StoreError("the store is closed; nothing was written")) from error
        db.renew(self._age)
        try:
            yield PostgresConnection(db)
        finally:
            if db.stale:  # and so are all others that were prepared before
                self._age += 1
            lost = broken(db)
            self._pool.putconn(db)
            if lost:  # where one broke others did: leave none of them to the next call
                self._pool.check()

    def _connect(self) -> Session:
        try:
            db = Session.connect(self._url, **_OPTIONS)
        except psycopg.Error as error:
            raise _unreachable(error) from error
        _configure(db)
        return db

    def _upgrade(self) -> None:
        """Bring the schema to the newest version, all of it or nothing, one process at a time."""
        db = self._connect()
        connection = PostgresConnection(db)
        try:
            if _version(connection) == migrate.newest():
                return
            connection.script("BEGIN; SET LOCAL lock_timeout TO 0")
            connection.script(f"SELECT pg_advisory_xact_lock({_MIGRATING})")
            version = _version(connection)
            if version == 0:
                connection.script(
                    "CREATE SCHEMA IF NOT EXISTS longhouse;"
                    "CREATE TABLE schema_version (version BIGINT NOT NULL);"
                    "INSERT INTO schema_version VALUES (0)"
                )
            for number, sql in migrate.scripts("postgres", after=version):
                connection.script(sql)
                connection.rows(_SET_VERSION, {"version": number})
            connection.script("COMMIT")
        except Lost as lost:
            raise lost.error from lost
        finally:
            db.close()


class _Listener:
    """The connection on which PostgreSQL tells of commits."""

    def __init__(self, db: Session) -> None:
        self._db = db
        db.execute("LISTEN longhouse")

    def fileno(self) -> int:
        return self._db.fileno()

    def drain(self) -> None:
        try:
            for _ in self._db.notifies(timeout=0):
                pass
        except psycopg.Error as error:
            raise Lost(StoreBusy("the connection that listens broke")) from error

    def close(self) -> None:
        self._db.close()


def _configure(db: Session) -> None:
    db.execute(_SETTINGS)


_OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "row_factory": dict_row,
    "connect_timeout": 5,
    "application_name": "longhouse",
}


def _value(db: Session, sql: str) -> Any:
    row = db.execute(sql.encode()).fetchone()
    return row["ok"] if row else None


def _version(connection: PostgresConnection) -> int:
    """The schema's version, 0 for none; refuses what is not ours or newer than we are."""
    state = connection.script(_VERSION)[0]["state"]
    if state == "foreign":
        raise StoreUnusable(
            "this database has a schema `longhouse` that is not a Longhouse store",
            recovery="name another database in LONGHOUSE_DB, or rename that schema",
        )
    if state == "empty":
        return 0
    version = int(connection.script("SELECT version FROM schema_version")[0]["version"])
    if version > migrate.newest():
        raise StoreUnusable(
            f"this database has schema {version}; this Longhouse knows up to {migrate.newest()}",
            recovery="use the newer Longhouse that wrote it, or name another database",
        )
    return version


def _unreachable(error: psycopg.Error) -> LonghouseError:
    # libpq says first what failed and then, further in, what to ask oneself about it.
    said = [line for line in str(error).splitlines() if line.strip() and not line[0].isspace()]
    reason = said[-1].removeprefix("connection failed: ") if said else type(error).__name__
    return StoreBusy(
        f"the database cannot be reached: {reason}",
        recovery="check LONGHOUSE_DB and that PostgreSQL answers there, then repeat the call",
    )
