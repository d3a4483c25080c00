"""Clients are killed and frozen at random: every job ends once, nothing accepted is lost."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from longhouse.config import Settings
from longhouse.house import House
from longhouse.jobs.fold import differences
from longhouse.kernel.clock import RandomIds, SystemClock
from longhouse.store.tx import Call, LogRow
from longhouse.store.tx import sql as log_sql

CLIENTS = 8
JOBS_EACH = 10
ENDINGS = ("completed", "failed")


class Client:
    """One client process and what it has been told so far."""

    def __init__(self, settings: Settings, name: str, out: Path, jobs: int) -> None:
        self.out = out
        self._file = out.open("w")
        here = [sys.executable, "-m", "tests.chaos.jobs_client"]
        args = [str(settings.dir), settings.db, name, str(jobs), "40"]
        self.process = subprocess.Popen([*here, *args], stdout=self._file)

    def signal(self, number: int) -> None:
        if self.process.poll() is None:
            self.process.send_signal(number)

    def wait(self) -> None:
        try:
            self.process.wait(60)
        finally:
            self.process.kill()
            self.process.wait()
            self._file.close()

    def accepted(self) -> list[tuple[str, str]]:
        """The events it was told of; a line that was cut off by its death was not told."""
        lines = self.out.read_text().split("\n")[:-1]
        return [(ref, kind) for ref, kind in (line.split() for line in lines)]


@pytest.mark.proves("DEL-013", "DEL-090", "DEL-098", "DEL-099")
def test_every_job_ends_exactly_once_however_clients_die(
    settings: Settings, tmp_path: Path
) -> None:
    rng = random.Random(7)
    with House(settings._replace(workspace="chaos")) as house:
        assert house.call("jobs.create", {"title": "ghost", "prompt": "p"}).success
        ghost = {"runner_id": "died-before-it-began", "lease_ttl_ms": 1_000}
        assert house.call("jobs.claim", ghost).success
    clients = [Client(settings, f"c{n}", tmp_path / f"c{n}.out", JOBS_EACH) for n in range(CLIENTS)]
    while not all(client.out.stat().st_size for client in clients):
        time.sleep(0.02)
    frozen: list[Client] = []
    for turn in range(8):
        time.sleep(rng.uniform(0.05, 0.2))
        for client in frozen:
            client.signal(signal.SIGCONT)
        frozen = rng.sample(clients, 1)
        frozen[0].signal(signal.SIGSTOP)
        victim = rng.choice([c for c in clients if c is not frozen[0]])
        victim.signal(signal.SIGKILL)
        clients.append(Client(settings, f"d{turn}", tmp_path / f"d{turn}.out", 1))
    time.sleep(1.2)  # past the lease of whoever is frozen now
    for client in frozen:
        client.signal(signal.SIGCONT)
    last = Client(settings, "last", tmp_path / "last.out", 0)
    for client in [*clients, last]:
        client.wait()

    with House(settings._replace(workspace="chaos")) as house:
        call = Call(now_ms=SystemClock().now_ms(), ids=RandomIds())
        rows = house.db.read(
            "chaos", lambda tx: tx.all(log_sql.log_after, after=0, limit=100_000), call
        )
        wrong = house.db.read("chaos", differences, call)
        left = [
            house.call("jobs.list", {"status": s}).envelope["result"]["count"]
            for s in ("QUEUED", "RUNNING")
        ]
    log = [LogRow.from_row(row) for row in rows]
    assert wrong == []
    assert left == [0, 0]
    assert [row.seq for row in log] == list(range(1, len(log) + 1))
    jobs = {row.subject for row in log if row.kind == "created"}
    assert len(jobs) >= JOBS_EACH
    endings = [row.subject for row in log if row.kind in ENDINGS]
    assert sorted(endings) == sorted(jobs)
    stored = {(row.ref, row.kind) for row in log}
    told = [event for client in [*clients, last] for event in client.accepted()]
    assert told
    assert not set(told) - stored
    assert [row.kind for row in log if row.subject == "JOB-001"].count("reclaimed") >= 1
