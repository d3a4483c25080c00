"""PostgreSQL through psycopg: one lane per workspace, serialized by the row with its sequence.

The store is the schema `longhouse` of the database that the URL names. If a connection breaks
before COMMIT is sent, nothing is written and the work runs again on a new connection. If COMMIT is
not answered, the server is asked whether the transaction committed; if it cannot say, the outcome
is reported as unknown, never guessed.

An engine also opens while the database is unreachable; each call then tries again.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.rows import dict_row
from psycopg_pool import ConnectionPool, PoolClosed, PoolTimeout

from longhouse.kernel.clock import SystemClock
from longhouse.kernel.errors import (
    LonghouseError,
    StoreBusy,
    StoreError,
    StoreUnusable,
)
from longhouse.store import migrate
from longhouse.store.bell import Bell
from longhouse.store.engine import CommitSignal, Lost, SignalCounts
from longhouse.store.postgres_connection import (
    ANSWER_S,
    PostgresConnection,
    PostgresSession,
    ServerClock,
    broken,
)
from longhouse.store.queries import Query

__all__ = ["PostgresEngine"]

LANES = 12
READERS = 12
"""Enough for every thread that reads: quick and long reads, checks of tokens, the house itself."""
BYTES = 6
"""How many connections may move bytes of artifacts at once."""
PATIENCE_S = 5.0
"""How long to wait for a connection, and for the outcome of a commit whose answer was lost."""
UPGRADE_S = 3600.0
SWEEP_S = 900.0
"""How long an export or a backup waits for a sweep."""
LEADER_SILENT_S = 15
"""How long a leader may be silent before another takes over."""
TRY_AGAIN_S = 1.0
"""How soon after a failure to open the store the next call tries again."""
_MIGRATING, _MAINTAINING, _SWEEPING = (0x4C4F4E47_00000000 + n for n in (1, 2, 3))
"""The keys of our advisory locks."""

_SETTINGS = (
    "SET search_path TO longhouse; SET lock_timeout TO '8s';"
    "SET idle_in_transaction_session_timeout TO '60s'"
)
_NOTICE_THE_DEAD = """
    SELECT set_config('tcp_keepalives_idle', '3', false),
        set_config('tcp_keepalives_interval', '1', false),
        set_config('tcp_keepalives_count', '3', false),
        set_config('tcp_user_timeout', '5s', false),
        set_config('client_connection_check_interval', '2s', false)
"""
"""Make the server notice a host that lost power; not every platform has all these settings."""
_LEAD = """
    SET idle_session_timeout TO '{silent_s}s';
    SELECT CAST(pg_try_advisory_lock({key}) AS INTEGER) AS leads
"""
"""The server takes the lock from a leader that has been silent for too long."""
_WHETHER = "SELECT pg_xact_status(CAST('{xid}' AS xid8)) AS status"
_VERSION = (
    "SELECT CASE WHEN to_regclass('longhouse.schema_version') IS NOT NULL THEN 'ours' "
    "WHEN EXISTS (SELECT FROM pg_class WHERE relnamespace = to_regnamespace('longhouse')) "
    "THEN 'foreign' ELSE 'empty' END AS state"
)
_KNOCK = "knock"
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
        self.clock = SystemClock()
        self._url = _checked(url)
        self._age = 0
        self._clock = ServerClock()
        self._opening = threading.Lock()
        self._is_open = False
        self._failed: tuple[float, StoreBusy] | None = None
        self._pool = _pool(url, LANES + READERS)
        self._bytes = _pool(url, BYTES)
        self._bell = Bell(self._ring)
        self._knocked = False
        with suppress(StoreBusy):
            self._ensure_open()

    def began_anew(self) -> bool:
        """Never: the database keeps the time."""
        return False

    def looked_through(self) -> None:
        """Nothing to note."""

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

    @contextmanager
    def bytes_connection(self) -> Iterator[PostgresConnection]:
        """A connection for the bytes of artifacts, also inside a transaction on another one.

        These have a pool of their own: nobody who waits for one of them holds one already.
        """
        with self._borrowed(self._bytes) as connection:
            yield connection

    @contextmanager
    def undisturbed(self, *, alone: bool) -> Iterator[None]:
        """Hold the lock of the artifacts' sweep, shared or alone, on a connection of its own.

        Exports wait for a long sweep; a sweep gives way, because maintenance sweeps again later.
        """
        db = self._connect()
        try:
            connection = PostgresConnection(db)
            if alone:
                connection.script(f"SELECT pg_advisory_lock({_SWEEPING})")
            else:
                connection.script(f"SET lock_timeout TO '{SWEEP_S:.0f}s'")
                lock = f"SELECT pg_advisory_lock_shared({_SWEEPING})"
                connection.script(lock, answer_s=SWEEP_S + ANSWER_S)
            yield
        except Lost as lost:
            raise lost.error from lost
        finally:
            db.close()

    def announce(self, *, knock: bool = False) -> None:
        self._knocked = self._knocked or knock
        self._bell.ring()

    def others(self) -> None:
        """Notifications take their time."""

    def signal(self) -> CommitSignal:
        return _Listener(self._connect())

    @contextmanager
    def leader(self) -> Iterator[Callable[[], bool]]:
        """Of all the servers of a store, the one whose connection holds the lock leads."""
        held: list[PostgresSession] = []

        def leads() -> bool:
            with suppress(Lost, LonghouseError):
                if held:
                    return bool(PostgresConnection(held[0]).script("SELECT 1 AS here"))
                held.append(self._connect())
                lead = _LEAD.format(key=_MAINTAINING, silent_s=LEADER_SILENT_S)
                if PostgresConnection(held[0]).script(lead)[0]["leads"]:
                    return True
            if held:
                held.pop().close()
            return False

        try:
            yield leads
        finally:
            for db in held:
                with suppress(Lost, LonghouseError):  # now, not when the server notices
                    PostgresConnection(db).script("SELECT pg_advisory_unlock_all()")
                db.close()

    def tidy(self) -> None:
        """PostgreSQL vacuums automatically."""

    def schema_version(self) -> int:
        with self._borrowed() as connection:
            return int(connection.script("SELECT version FROM schema_version")[0]["version"])

    def size_bytes(self) -> int:
        with self._borrowed() as connection:
            return int(connection.script(_SIZE)[0]["size"])

    def close(self) -> None:
        self._bell.close()
        self._pool.close()
        self._bytes.close()

    def _ring(self) -> None:
        """NOTIFY outside a transaction; inside one, its commit would wait for all others."""
        knocked, self._knocked = self._knocked, False
        with suppress(Lost, LonghouseError), self._borrowed() as connection:
            connection.script(f"NOTIFY longhouse, '{_KNOCK}'" if knocked else "NOTIFY longhouse")

    @contextmanager
    def _borrowed(
        self, pool: ConnectionPool[PostgresSession] | None = None
    ) -> Iterator[PostgresConnection]:
        pool = pool or self._pool
        try:
            self._ensure_open()
            db = pool.getconn()
        except LonghouseError as error:
            raise Lost(error) from error
        except PoolTimeout as error:
            raise Lost(
                StoreBusy(
                    f"no database connection within {PATIENCE_S:.0f} s; nothing was written",
                    recovery="repeat the call; if it fails again, check that PostgreSQL responds",
                )
            ) from error
        except PoolClosed as error:
            raise Lost(StoreError("the store is closed; nothing was written")) from error
        db.renew(self._age)
        try:
            yield PostgresConnection(db, self._clock, self._committed)
        finally:
            if db.stale:  # then so are all other connections with statements prepared before
                self._age += 1
            lost = broken(db)
            pool.putconn(db)
            if lost:  # others have probably broken too: leave none of them to the next call
                pool.drain()

    def _ensure_open(self) -> None:
        """Bring the schema up to date before first use, once the database is reachable."""
        if not self._is_open:
            with self._opening:
                self._open()

    def _open(self) -> None:
        if not self._is_open:
            if self._failed and time.monotonic() < self._failed[0]:
                raise self._failed[1]
            try:
                self._upgrade()
            except StoreBusy as error:
                self._failed = time.monotonic() + TRY_AGAIN_S, error
                raise
            self._pool.open()
            self._bytes.open()
            self._is_open = True

    def _committed(self, xid: str) -> bool | None:
        """Whether a transaction committed; None if the server cannot say in time."""
        ends = time.monotonic() + PATIENCE_S
        while time.monotonic() < ends:
            with suppress(Lost, LonghouseError):
                db = self._connect()
                try:
                    found = PostgresConnection(db).script(_WHETHER.format(xid=xid))
                finally:
                    db.close()
                if (status := found[0]["status"]) != "in progress":
                    return None if status is None else bool(status == "committed")
            time.sleep(0.1)
        return None

    def _connect(self) -> PostgresSession:
        try:
            db = PostgresSession.connect(self._url, **_OPTIONS)
            _configure(db)
        except psycopg.Error as error:
            raise _unreachable(error) from error
        return db

    def _upgrade(self) -> None:
        """Migrate the schema to the newest version atomically, one process at a time."""
        db = self._connect()
        connection = PostgresConnection(db)
        try:
            if _version(connection) == migrate.newest():
                return
            connection.script("BEGIN; SET LOCAL lock_timeout TO 0")
            connection.script(f"SELECT pg_advisory_xact_lock({_MIGRATING})", answer_s=UPGRADE_S)
            version = _version(connection)
            if version == 0:
                connection.script(
                    "CREATE SCHEMA IF NOT EXISTS longhouse;"
                    "CREATE TABLE schema_version (version BIGINT NOT NULL);"
                    "INSERT INTO schema_version VALUES (0)"
                )
            for number, sql in migrate.scripts("postgres", after=version):
                connection.script(sql, answer_s=UPGRADE_S)
                connection.rows(_SET_VERSION, {"version": number})
            connection.script("COMMIT")
        except Lost as lost:
            raise lost.error from lost
        finally:
            db.close()


class _Listener:
    """The connection on which PostgreSQL announces commits."""

    def __init__(self, db: PostgresSession) -> None:
        self._db = db
        self._commits = self._knocks = 0
        PostgresConnection(db).script("LISTEN longhouse")

    def heard(self) -> SignalCounts:
        """What was announced, also by this process: PostgreSQL does not tell them apart."""
        return SignalCounts(self._commits, self._knocks)

    def fileno(self) -> int:
        return self._db.fileno()

    def drain(self) -> None:
        try:
            for told in self._db.notifies(timeout=0):
                self._commits += 1
                self._knocks += told.payload == _KNOCK
        except psycopg.Error as error:
            raise Lost(StoreBusy("the listening connection broke")) from error

    def close(self) -> None:
        self._db.close()


def _pool(url: str, most: int) -> ConnectionPool[PostgresSession]:
    return ConnectionPool(
        url,
        connection_class=PostgresSession,
        kwargs=_OPTIONS,
        configure=_configure,
        min_size=0,
        max_size=most,
        timeout=PATIENCE_S,
        reconnect_timeout=PATIENCE_S,
        num_workers=2,
        open=False,
    )


def _configure(db: PostgresSession) -> None:
    connection = PostgresConnection(db)
    try:
        connection.script(_SETTINGS)
        with suppress(LonghouseError):
            connection.script(_NOTICE_THE_DEAD)
    except Lost as lost:
        db.close()
        raise psycopg.OperationalError(lost.error.message) from lost


_OPTIONS: dict[str, Any] = {
    "autocommit": True,
    "row_factory": dict_row,
    "connect_timeout": 5,
    "application_name": "longhouse",
    "keepalives": 1,
    "keepalives_idle": 3,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 5000,
}


def _checked(url: str) -> str:
    """Return the URL, or refuse it if it is malformed."""
    try:
        port = str(conninfo_to_dict(url).get("port", ""))
    except psycopg.Error as error:
        raise _not_a_url(str(error)) from error
    if not port.replace(",", "").isdecimal() and port:
        raise _not_a_url(f"{port!r} is not a port")
    return url


def _not_a_url(reason: str) -> StoreUnusable:
    return StoreUnusable(
        f"LONGHOUSE_DB cannot be used: {reason.strip()}",
        recovery="write it as postgresql://user@host:5432/database",
    )


def _version(connection: PostgresConnection) -> int:
    """The schema's version, 0 for none; refuses a foreign schema or one that is too new."""
    state = connection.script(_VERSION)[0]["state"]
    if state == "foreign":
        raise StoreUnusable(
            "this database has a schema named `longhouse` that is not a Longhouse store",
            recovery="set LONGHOUSE_DB to another database, or rename that schema",
        )
    if state == "empty":
        return 0
    version = int(connection.script("SELECT version FROM schema_version")[0]["version"])
    if version > migrate.newest():
        raise StoreUnusable(
            f"this database has schema {version}; this Longhouse knows up to {migrate.newest()}",
            recovery="use the newer Longhouse that wrote it, or choose another database",
        )
    return version


def _unreachable(error: psycopg.Error) -> LonghouseError:
    # libpq says what failed, and then adds hints in indented lines.
    said = [line for line in str(error).splitlines() if line.strip() and not line[0].isspace()]
    reason = said[-1].removeprefix("connection failed: ") if said else type(error).__name__
    return StoreBusy(
        f"the database cannot be reached: {reason}",
        recovery="check LONGHOUSE_DB and that PostgreSQL is running there, then repeat the call",
    )
