"""Four runners, two servers on PostgreSQL, and a monkey: every job ends, and ends exactly once."""

from __future__ import annotations

import random
import signal
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from longhouse.client import launch, locate
from tests.runner.processes import RunnerProcess, bind, until
from tests.surfaces.serving import Served

RUNNERS, SERVERS, JOBS, TURNS = 4, 2, 120, 12
ENDINGS = {"completed", "failed", "canceled"}


class House:
    """A server with its own folder; all of them share one database."""

    def __init__(self, base: Path, name: str, db: str) -> None:
        self.base = base / name
        self.base.mkdir()
        self.db = db
        self.served = Served(self.base, db=db)

    def restart(self) -> None:
        self.served.kill()
        self.served = Served(self.base, db=self.db)


def start(house: House, name: str) -> RunnerProcess:
    return RunnerProcess(
        house.base,
        name,
        db=house.db,
        heartbeat_ms=400,
        max_parallel=3,
        max_failures=20,
        kill_grace_s=0,
        skill_max_chars=0,
    )


@pytest.mark.timeout(900)
@pytest.mark.proves("DEL-043", "DEL-099")
def test_every_job_ends_exactly_once_however_runners_and_servers_die(
    tmp_path: Path, postgres_url: str
) -> None:
    rng = random.Random(11)
    with ThreadPoolExecutor(SERVERS) as pool:
        names = [f"s{n}" for n in range(SERVERS)]
        houses = list(pool.map(lambda name: House(tmp_path, name, postgres_url), names))
    ref = houses[0].served("vcs.notes.commit", workspace="acme", content="proof")["ref"]
    script = f"[[*: time.sleep(0.1 * (os.getpid() % 3)); remember(os.getpid()); done({ref!r})]]"
    jobs = [
        houses[0].served("jobs.create", workspace="acme", title="Look", prompt=script)["job"]["id"]
        for _ in range(JOBS)
    ]
    for house in houses[1:]:  # clones join the workspace by a person's word
        bind(house.base, house.base, db=postgres_url)
    runners = [start(houses[n % SERVERS], f"r{n}") for n in range(RUNNERS)]
    reclaimed = 0
    try:
        until(lambda: all("runner.ready" in runner.said() for runner in runners), "runners")
        for turn in range(TURNS):
            _disturb(rng, turn, runners, houses)
        for runner in runners:
            runner.signal(signal.SIGCONT)
        until(
            lambda: not _left(houses[0]),
            "jobs are left: ",
            lambda: str(_left(houses[0])),
            timeout_s=480,
        )
        for job in jobs:
            tail = houses[0].served("jobs.tail", workspace="acme", job=job, limit=200)["events"]
            seen = Counter(event["kind"] for event in tail)
            assert {kind: seen[kind] for kind in ENDINGS if seen[kind]} == {"completed": 1}, job
            reclaimed += seen["reclaimed"]
        assert reclaimed
    finally:
        for runner in runners:
            runner.kill()
        for house in houses:
            house.served.stop()
            left = locate.recorded(house.served.dir)
            if left is not None:
                launch.stop(left, force=True)  # a runner found none and started one


def _disturb(
    rng: random.Random, turn: int, runners: list[RunnerProcess], houses: list[House]
) -> None:
    """Kill a runner and start another, freeze one past its lease, or kill a server."""
    time.sleep(rng.uniform(0.2, 0.5))
    for runner in runners:
        runner.signal(signal.SIGCONT)
    victim = rng.choice([runner for runner in runners if runner.process.poll() is None])
    if turn % 5 == 4:
        rng.choice(houses).restart()
    elif turn % 2:
        victim.signal(signal.SIGSTOP)
        time.sleep(1.4)
    else:
        victim.kill()
        runners.append(start(rng.choice(houses), f"x{turn}"))


def _left(house: House) -> dict[str, Any]:
    found = {
        status: [
            job["id"]
            for job in house.served("jobs.list", workspace="acme", status=status, limit=5)["jobs"]
        ]
        for status in ("QUEUED", "RUNNING")
    }
    return {status: jobs for status, jobs in found.items() if jobs}
