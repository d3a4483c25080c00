"""A server starts a runner if background processes are waiting and none is online."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from longhouse.config import Settings
from longhouse.house import House
from longhouse.jobs.autostart import BACKOFF_MS
from longhouse.jobs.facts import STARTER
from tests.kit import CountedIds, Lh, ManualClock
from tests.processes.kit import Runner, allow, ended, running, spawned


class Starter:
    """Counts the requests to start a runner."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.alive = False
        self.refuses = False

    def agents(self) -> dict[str, tuple[str, ...]]:
        return {}

    def trouble(self, workspace: str) -> str | None:
        return None

    def running(self, workspace: str) -> bool:
        return self.alive

    def start(self, workspace: str) -> None:
        if self.refuses:
            raise OSError("4 runners are already running")
        self.started.append(workspace)


@pytest.fixture
def starter() -> Starter:
    return Starter()


@pytest.fixture
def server(settings: Settings, clock: ManualClock, starter: Starter) -> Iterator[Lh]:
    services = {STARTER: starter}
    with House(settings, clock=clock, ids=CountedIds(), services=services) as house:
        lh = Lh(house, clock)
        allow(lh)
        yield lh


def look(lh: Lh) -> None:
    """What the leading server does every few seconds."""
    (found,) = [one for one in lh.house.registry.loops if "start_where_work_waits" in one.name]
    lh.house.db.write("acme", found.run, lh.house._call())


def test_a_spawn_calls_for_a_runner_once_in_a_while(server: Lh, starter: Starter) -> None:
    spawned(server)
    server.house.settle()
    assert starter.started == ["acme"]
    spawned(server)
    server.house.settle()
    assert starter.started == ["acme"]
    server.clock.advance(BACKOFF_MS)
    starter.alive = True
    look(server)
    assert starter.started == ["acme"]
    starter.alive = False
    look(server)
    assert starter.started == ["acme", "acme"]


def test_nobody_is_called_while_a_host_is_heard_or_nothing_is_to_do(
    server: Lh, starter: Starter
) -> None:
    runner = Runner(server)
    runner.hold()
    task_id = spawned(server)
    server.house.settle()
    assert starter.started == []
    runner.claim()
    runner.append(task_id, running())
    server.clock.advance(61_000)
    look(server)
    assert starter.started == ["acme"]
    runner.append(task_id, ended())
    server.clock.advance(61_000)
    look(server)
    assert starter.started == ["acme"]


def test_a_start_that_fails_is_tried_again_later(server: Lh, starter: Starter) -> None:
    starter.refuses = True
    spawned(server)
    server.house.settle()
    starter.refuses = False
    server.clock.advance(BACKOFF_MS)
    look(server)
    assert starter.started == ["acme"]


def test_a_house_that_may_not_start_runners_starts_none(
    settings: Settings, clock: ManualClock, starter: Starter
) -> None:
    still = settings._replace(runner_autostart=False)
    with House(still, clock=clock, ids=CountedIds(), services={STARTER: starter}) as house:
        lh = Lh(house, clock)
        spawned(lh)
        house.settle()
        look(lh)
    assert starter.started == []
