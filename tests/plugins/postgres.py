"""One PostgreSQL per test run, shared by all workers and started by the first test that needs it.

It belongs to a separate process (tools/postgres.py) that ends with the run, however the run ends.
Each worker has one database, which is emptied before each test that uses it.
"""

from __future__ import annotations

import fcntl
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psycopg
import psycopg_pool.base
import pytest

RUN = "LONGHOUSE_TEST_RUN"
EMPTY = """
DO $$ DECLARE t regclass; BEGIN
  SET LOCAL session_replication_role = replica;
  FOR t IN SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace('longhouse')
      AND relkind = 'r' AND relname <> 'schema_version' LOOP
    IF pg_relation_size(t) > 262144 THEN EXECUTE format('TRUNCATE %s CASCADE', t);
    ELSE EXECUTE format('DELETE FROM %s', t); END IF;
  END LOOP;
  FOR t IN SELECT oid FROM pg_class WHERE relnamespace = to_regnamespace('longhouse')
      AND relkind = 'S' LOOP
    PERFORM setval(t, 1, false);
  END LOOP;
END $$
"""

COLUMNS = """
SELECT relname, string_agg(quote_ident(attname), ', ' ORDER BY attnum)
FROM pg_class JOIN pg_attribute ON attrelid = pg_class.oid
WHERE relnamespace = to_regnamespace('longhouse') AND relkind = 'r' AND relname <> 'schema_version'
  AND attnum > 0 AND NOT attisdropped AND attgenerated = ''
GROUP BY relname
"""
"""Each of our tables with the columns that a row can be written to."""


def pytest_configure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput") and RUN not in os.environ:
        os.environ[RUN] = f"{os.getpid()}:{tempfile.mkdtemp(prefix='longhouse-tests-')}"
    # A pool's threads use the global generator; Hypothesis fails a test if that moves as it draws.
    psycopg_pool.base.random = random.Random().random  # type: ignore[attr-defined]


def pytest_unconfigure(config: pytest.Config) -> None:
    owner, _, folder = os.environ.get(RUN, "").partition(":")
    if owner == str(os.getpid()):
        keeper = Path(folder) / "keeper"
        if keeper.exists():
            with suppress(ProcessLookupError):
                os.kill(int(keeper.read_text()), signal.SIGTERM)
        shutil.rmtree(folder, ignore_errors=True)
        del os.environ[RUN]


@pytest.fixture(scope="session")
def postgres_server() -> str:
    """The URL of the run's server, without a database."""
    owner, _, folder = os.environ[RUN].partition(":")
    with (Path(folder) / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        url = Path(folder) / "url"
        if not url.exists():
            keeper = subprocess.Popen(
                [sys.executable, "-m", "tools.postgres", folder, owner], start_new_session=True
            )
            (Path(folder) / "keeper").write_text(str(keeper.pid))
            while not url.exists():
                assert keeper.poll() is None, "the test server did not start"
                time.sleep(0.02)
            keeper.returncode = 0  # it outlives this worker, which must not wait for it
        return url.read_text()


class Databases:
    """Creates databases on the run's server."""

    def __init__(self, server: str) -> None:
        self._server = server
        self._open: dict[str, psycopg.Connection[Any]] = {}
        self._kept: dict[str, str] = {}
        self._admin = psycopg.connect(self.url("postgres"), autocommit=True)

    def url(self, name: str) -> str:
        return self._server.replace("/postgres?", f"/{name}?")

    def empty(self, name: str) -> str:
        """The URL of that database, which is empty or has our schema without rows."""
        if name in self._open:
            self._open[name].execute(EMPTY)
        else:
            self.create(name)
            self._open[name] = psycopg.connect(self.url(name), autocommit=True)
        return self.url(name)

    def keep(self, name: str) -> None:
        """Keep the rows that this database has now, for `refill`."""
        connection = self._open[name]
        connection.execute("DROP SCHEMA IF EXISTS kept CASCADE; CREATE SCHEMA kept")
        steps = ["BEGIN; SET LOCAL session_replication_role = replica"]
        for table, columns in connection.execute(COLUMNS).fetchall():
            copy = f"SELECT {columns} FROM longhouse.{table}"
            if connection.execute(f"{copy} LIMIT 1".encode()).fetchone():
                connection.execute(f"CREATE TABLE kept.{table} AS {copy}".encode())
                steps += [
                    f"INSERT INTO longhouse.{table} ({columns}) SELECT {columns} FROM kept.{table}"
                ]
        for sequence, value in connection.execute(
            "SELECT sequencename, last_value FROM pg_sequences WHERE schemaname = 'longhouse'"
        ).fetchall():
            if value is not None:
                steps.append(f"SELECT setval('longhouse.{sequence}', {value})")
        self._kept[name] = "; ".join([*steps, "COMMIT"])

    def refill(self, name: str) -> str:
        """The URL of that database, with exactly the rows that it had when they were kept."""
        self._open[name].execute(EMPTY)
        self._open[name].execute(self._kept[name].encode())
        return self.url(name)

    def create(self, name: str) -> str:
        self._admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())
        self._admin.execute(f'CREATE DATABASE "{name}" TEMPLATE template0'.encode())
        return self.url(name)

    def drop(self, name: str) -> None:
        self._admin.execute(f'DROP DATABASE IF EXISTS "{name}" WITH (FORCE)'.encode())

    def close(self) -> None:
        for connection in (*self._open.values(), self._admin):
            connection.close()


@pytest.fixture(scope="session")
def databases(postgres_server: str) -> Iterator[Databases]:
    made = Databases(postgres_server)
    yield made
    made.close()


@pytest.fixture
def postgres_url(databases: Databases, worker_id: str) -> str:
    """This worker's database, empty."""
    return databases.empty(f"t_{worker_id}")


@pytest.fixture
def fresh_postgres_url(databases: Databases, worker_id: str) -> Iterator[str]:
    """A new database, without our schema."""
    yield databases.create(f"fresh_{worker_id}")
    databases.drop(f"fresh_{worker_id}")
