"""Processes and servers die at random; what was acknowledged is there, exactly once."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from longhouse.config import Settings, load
from longhouse.house import House
from longhouse.store import postgres
from longhouse.store.queries import Query
from tests.store.kit import CALL
from tests.store.kit import log as log_of
from tools.postgres import Postgres

WRITERS, LIVES, NOTES = 3, 3, 350


CONTENTS = "SELECT content FROM doc_entries WHERE ws = :ws ORDER BY seq"
NOTES_IN_ORDER = Query("notes", CONTENTS, CONTENTS)


def notes(house: House) -> list[str]:
    """The content of every note, oldest first."""
    rows = house.db.read("acme", lambda tx: tx.all(NOTES_IN_ORDER), CALL)
    return [row["content"] for row in rows]


def live(settings: Settings, db: str, name: str, chance: random.Random) -> int:
    """A writer that is killed at random and goes on where it was; how often it was killed."""
    done, killed = 0, 0
    while done < NOTES:
        argv = [sys.executable, "-m", "tests.chaos.worker", str(settings.dir), db, name]
        worker = subprocess.Popen(
            [*argv, str(done + 1), str(NOTES)], stdout=subprocess.PIPE, text=True
        )
        assert worker.stdout is not None
        wanted = chance.randint(1, NOTES // LIVES * 2) if killed < LIVES else NOTES
        for line in worker.stdout:
            done = int(line)
            wanted -= 1
            if not wanted:
                worker.send_signal(signal.SIGKILL)
                killed += 1
        worker.wait(30)
        worker.stdout.close()
        assert worker.returncode in (0, -signal.SIGKILL)
    return killed


def test_every_write_of_processes_that_are_killed_at_random_is_there_exactly_once(
    settings: Settings, db_url: str | None, new_house: Callable[..., House]
) -> None:
    chance = random.Random(7331)
    house = new_house()
    with ThreadPoolExecutor(WRITERS) as pool:
        lives = [
            pool.submit(live, settings, db_url or "-", f"w{n}", random.Random(chance.random()))
            for n in range(WRITERS)
        ]
        assert sum(life.result() for life in lives) >= WRITERS
    expected = [f"w{n}-{number:05d}" for n in range(WRITERS) for number in range(1, NOTES + 1)]
    assert sorted(notes(house)) == expected
    rows = log_of(house.db)
    assert [seq for seq, _ in rows] == list(range(1, len(expected) + 1))


@pytest.fixture
def server() -> Iterator[Postgres]:
    """A server of the test's own, to stop and start."""
    made = Postgres(hasty=True)
    yield made
    made.stop()


def test_a_database_that_restarts_under_load_loses_and_doubles_nothing(
    server: Postgres, settings_of: Callable[[str], Settings], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres, "PATIENCE_S", 2.0)
    house, other = House(settings_of(server.url())), House(settings_of(server.url()))
    stop = threading.Event()
    troubles: set[str] = set()
    acknowledged: list[str] = []

    def write(name: str) -> None:
        number = 0
        while not stop.is_set():
            key = f"{name}-{number}"
            answer = house.call("vcs.notes.commit", {"content": key, "idempotency_key": key})
            if answer.success:
                acknowledged.append(key)
                number += 1
            else:
                troubles.add(answer.envelope["error"]["code"])
                assert answer.envelope["error"]["retryable"], answer.envelope["error"]

    def progress() -> None:
        """Wait until every writer has written something more."""
        before = {name: sum(k.startswith(name) for k in acknowledged) for name in names}
        deadline = time.monotonic() + 60
        while any(sum(k.startswith(n) for k in acknowledged) <= before[n] + 5 for n in names):
            assert time.monotonic() < deadline, "did not recover"
            time.sleep(0.01)

    names = [f"t{n}-" for n in range(4)]
    with ThreadPoolExecutor(4) as pool:
        writers = [pool.submit(write, name) for name in names]
        try:
            for how in (signal.SIGINT, signal.SIGQUIT):
                progress()
                assert other.db.wakeups.wait("acme", 0, 30)
                server.halt(how)
                server.start()
            progress()
            heard = other.db.read("acme", lambda tx: tx.last_seq(), CALL)
            assert other.db.wakeups.wait("acme", heard, 30), "listening did not recover"
        finally:
            stop.set()
        for writer in writers:
            writer.result()
    assert troubles <= {"STORE_BUSY", "STORE_ERROR", "OUTCOME_UNKNOWN"}
    present = notes(house)
    assert len(present) == len(set(present))
    assert set(acknowledged) <= set(present)
    assert len(set(present) - set(acknowledged)) <= len(names)
    assert [seq for seq, _ in log_of(house.db)] == list(range(1, len(present) + 1))
    for opened in (house, other):
        opened.close()


@pytest.fixture
def settings_of(tmp_path: Path) -> Callable[[str], Settings]:
    def make(db: str) -> Settings:
        flags = {"dir": str(tmp_path / ".longhouse"), "workspace": "acme", "db": db}
        return load(flags, environ={}, cwd=tmp_path)

    return make
