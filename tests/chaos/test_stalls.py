"""Hosts that stall, wires that are cut, a database that is silent: nobody waits beyond a limit."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest

from longhouse.config import Settings, load
from longhouse.house import House
from longhouse.kernel.errors import OutcomeUnknown, StoreBusy
from longhouse.store import maintenance, postgres, postgres_connection
from longhouse.store.database import Database
from longhouse.store.postgres import PostgresEngine
from longhouse.store.postgres_connection import PostgresConnection
from longhouse.store.queries import Query
from longhouse.store.tx import Tx
from tests.chaos.proxy import Wire
from tests.store.kit import CALL, WS, keys, log, put
from tests.surfaces.serving import Served

STALL_LIMIT_S = 5.0
LEADER_LIMIT_S = 30.0
CALL_LIMIT_S = 30.0
_SILENT = Query(
    "silent",
    "",
    "SELECT setting FROM pg_settings WHERE name = 'idle_in_transaction_session_timeout'",
)


@pytest.fixture
def wire(postgres_url: str) -> Iterator[Wire]:
    with Wire(postgres_url) as made:
        yield made


@pytest.fixture
def hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same limits, so short that a test may run into them."""
    monkeypatch.setattr(postgres_connection, "ANSWER_S", 0.4)
    monkeypatch.setattr(postgres, "PATIENCE_S", 0.4)


@pytest.fixture
def db(wire: Wire) -> Iterator[Database]:
    made = Database(PostgresEngine(wire.url))
    yield made
    wire.speak()
    made.close()


@pytest.fixture
def house(wire: Wire, tmp_path: Path) -> Iterator[House]:
    made = House(settings_of(wire.url, tmp_path))
    yield made
    wire.speak()
    made.close()


def settings_of(url: str, folder: Path) -> Settings:
    flags = {"dir": str(folder / ".longhouse"), "workspace": "acme", "db": url}
    return load(flags, environ={}, cwd=folder)


def _ends_a_stall_in_time(tx: Tx) -> None:
    """How long the server lets a transaction hold its locks while nothing is heard of it."""
    (limit,) = tx.all(_SILENT)
    assert 0 < int(limit["setting"]) / (STALL_LIMIT_S * 1000) <= 1.0


@contextmanager
def _soon() -> Iterator[None]:
    """Who waits adds little of their own; a slow machine has three times as long."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < 3 * STALL_LIMIT_S


def test_a_host_that_stalls_inside_a_transaction_stops_the_others_for_five_seconds_at_most(
    store: Database, postgres_url: str
) -> None:
    store.write(WS, put("before", then=_ends_a_stall_in_time), CALL)
    argv = [sys.executable, "-m", "tests.chaos.staller", postgres_url, WS, "stalled"]
    stalled = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert stalled.stdout is not None
    try:
        assert stalled.stdout.readline() == "inside\n"
        stalled.send_signal(signal.SIGSTOP)
        with _soon():
            assert store.write(WS, put("other"), CALL) == 2
        stalled.send_signal(signal.SIGCONT)
        assert stalled.communicate("go on\n", timeout=30)[0] == "3\n"
    finally:
        stalled.kill()
        stalled.communicate()
    assert log(store) == [(1, "before"), (2, "other"), (3, "stalled")]


def test_a_wire_cut_inside_a_transaction_stops_the_others_for_five_seconds_at_most(
    store: Database, db: Database, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    store.write(WS, put("before", then=_ends_a_stall_in_time), CALL)

    def cut_off(tx: Tx) -> None:
        put("lost")(tx)
        wire.silence()
        tx.all(postgres_connection._NOW)

    with monkeypatch.context() as hasty:
        hasty.setattr(postgres_connection, "ANSWER_S", 0.4)
        with pytest.raises(StoreBusy, match="nothing was written"):
            db.write(WS, cut_off, CALL)
    with _soon():
        assert store.write(WS, put("other"), CALL) == 2
    assert keys(store) == ["before", "other"]


def test_both_ends_notice_a_wire_that_is_dead(wire: Wire) -> None:
    engine = PostgresEngine(wire.url)
    with engine.reader() as connection, socket.socket(fileno=os.dup(connection.db.fileno())) as end:
        limits = {
            name: end.getsockopt(socket.IPPROTO_TCP, getattr(socket, name))
            for name in ("TCP_USER_TIMEOUT", "TCP_KEEPIDLE", "TCP_KEEPINTVL", "TCP_KEEPCNT")
        }
        assert end.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
        (server,) = connection.db.execute("SHOW client_connection_check_interval").fetchall()
    engine.close()
    assert limits["TCP_USER_TIMEOUT"] / (STALL_LIMIT_S * 1000) <= 1.0
    silent_s = limits["TCP_KEEPIDLE"] + limits["TCP_KEEPINTVL"] * limits["TCP_KEEPCNT"]
    assert silent_s / CALL_LIMIT_S <= 1.0
    assert server["client_connection_check_interval"] == "2s"


def test_a_silent_database_is_a_repeatable_answer_and_no_defect(
    wire: Wire, tmp_path: Path, hasty: None
) -> None:
    defects: list[BaseException] = []

    def observe(cmd: str, answer: Any, seconds: float, defect: BaseException | None) -> None:
        defects.extend([defect] if defect else [])

    with House(settings_of(wire.url, tmp_path), observe=observe) as house:
        assert house.call("vcs.notes.commit", {"content": "before"}).success
        wire.silence()
        for cmd, args in (("vcs.notes.commit", {"content": "x"}), ("vcs.log", {})):
            started = time.monotonic()
            error = house.call(cmd, args).envelope["error"]
            assert (error["code"], error["retryable"]) == ("STORE_BUSY", True)
            assert (time.monotonic() - started) / CALL_LIMIT_S <= 1.0
        wire.speak()
        deadline = time.monotonic() + CALL_LIMIT_S
        while not house.call("vcs.notes.commit", {"content": "after"}).success:
            assert time.monotonic() < deadline
        assert defects == []


def commit_with(monkeypatch: pytest.MonkeyPatch, trouble: Callable[[], None]) -> None:
    """Let something happen to the wire when the next COMMIT is about to be sent."""
    commit = PostgresConnection.commit

    def troubled(connection: PostgresConnection) -> None:
        monkeypatch.setattr(PostgresConnection, "commit", commit)
        trouble()
        commit(connection)

    monkeypatch.setattr(PostgresConnection, "commit", troubled)


def test_a_commit_whose_answer_is_lost_is_looked_up_and_acknowledged(
    db: Database, wire: Wire, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs: list[int] = []
    db.write(WS, put("a"), CALL)
    commit_with(monkeypatch, wire.lose_answers)
    work = put("b", then=lambda tx: runs.append(tx.last_seq()))
    db.write(WS, work, CALL)
    assert runs == [2]
    assert log(db) == [(1, "a"), (2, "b")]


@pytest.mark.parametrize("key", [None, "once"])
def test_an_outcome_that_nobody_can_look_up_is_called_unknown(
    house: House,
    wire: Wire,
    monkeypatch: pytest.MonkeyPatch,
    hasty: None,
    key: str | None,
) -> None:
    assert house.call("vcs.notes.commit", {"content": "before"}).success
    commit_with(monkeypatch, lambda: wire.lose_answers(then_refuse=True))
    args = {"content": "x", **({"idempotency_key": key} if key else {})}
    error = house.call("vcs.notes.commit", args).envelope["error"]
    assert (error["code"], error["retryable"]) == ("OUTCOME_UNKNOWN", key is not None)
    assert "idempotency_key" in error["recovery"]
    wire.speak()
    if key:
        again = house.call("vcs.notes.commit", args)
        assert again.envelope["context"]["replayed"]
    assert log(house.db)[1:] == [(2, "notes")]


def test_a_batch_whose_answer_is_lost_answers_everyone_alike(
    db: Database, wire: Wire, monkeypatch: pytest.MonkeyPatch, hasty: None
) -> None:
    db.write(WS, put("a"), CALL)
    commit_with(monkeypatch, lambda: wire.lose_answers(then_refuse=True))
    gate = threading.Barrier(4)
    found: list[object] = []

    def write(key: str) -> None:
        gate.wait()
        try:
            found.append(db.write(WS, put(key), CALL))
        except OutcomeUnknown as error:
            found.append(error.code)
        except StoreBusy:
            found.append("not written")

    threads = [threading.Thread(target=write, args=(f"k{n}",)) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    wire.speak()
    assert found.count("OUTCOME_UNKNOWN") + found.count("not written") == 4
    assert len(keys_once_back(db)) == 1 + found.count("OUTCOME_UNKNOWN")


def keys_once_back(db: Database) -> list[str]:
    """What is stored, asked until the pool has a connection again."""
    for _ in range(10):
        with suppress(StoreBusy):
            return keys(db)
    return keys(db)


def test_a_leader_that_falls_silent_is_replaced_in_time(
    store: Database, postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert (postgres.LEADER_SILENT_S + maintenance.ASK_AGAIN_S) / LEADER_LIMIT_S <= 1.0
    assert maintenance.ASK_AGAIN_S / postgres.LEADER_SILENT_S <= 0.5
    monkeypatch.setattr(postgres, "LEADER_SILENT_S", 3)
    other = PostgresEngine(postgres_url)
    with other.leader() as they_lead, store.engine.leader() as we_lead:
        assert (they_lead(), we_lead()) == (True, False)
        deadline = time.monotonic() + LEADER_LIMIT_S
        while not we_lead():  # they say nothing more
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert not they_lead()
    other.close()


def test_a_server_whose_database_falls_silent_says_so_and_recovers(
    wire: Wire, tmp_path: Path
) -> None:
    server = Served(tmp_path, db=wire.url)
    server.http.timeout = CALL_LIMIT_S
    try:
        assert server.http.get("/readyz").json() == {"ready": True, "read_only": False}
        assert server.post("vcs.notes.commit", content="before").status_code == 200
        assert server.metric("longhouse_store_up") == 1
        wire.silence()
        ready = server.http.get("/readyz")
        assert (ready.status_code, ready.json()["ready"]) == (503, False)
        assert server.http.get("/healthz").json()["ok"]
        assert server.metric("longhouse_store_up") == 0
        refused = server.post("vcs.notes.commit", content="x")
        assert refused.status_code == 503
        assert refused.json()["error"]["code"] == "STORE_BUSY"
        assert refused.json()["error"]["retryable"]
        wire.speak()
        assert server.post("vcs.notes.commit", content="after").status_code == 200
        assert server.http.get("/readyz").status_code == 200
    finally:
        wire.speak()
        server.stop()


def test_a_server_started_while_the_database_is_away_waits_for_it(
    wire: Wire, tmp_path: Path
) -> None:
    wire.refuse()
    server = Served(tmp_path, db=wire.url)
    try:
        assert server.http.get("/readyz").status_code == 503
        refused = server.post("vcs.notes.commit", content="x").json()["error"]
        assert (refused["code"], refused["retryable"]) == ("STORE_BUSY", True)
        wire.speak()
        deadline = time.monotonic() + CALL_LIMIT_S
        while server.http.get("/readyz").status_code != 200:
            assert time.monotonic() < deadline
        assert server("vcs.notes.commit", content="x")["ref"] == "notes@1"
    finally:
        server.stop()
