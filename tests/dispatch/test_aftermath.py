"""Work after a commit can neither change nor delay its answer."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from longhouse.config import Settings
from longhouse.dispatch import Caller, aftermath
from longhouse.house import House
from longhouse.jobs import autostart
from longhouse.jobs.facts import STARTER
from longhouse.kernel.envelope import Answer
from longhouse.kernel.errors import StoreBusy
from longhouse.kernel.registry import Role
from longhouse.store.tx import Tx
from tests.jobs.test_autostart import Recorder
from tests.kit import ManualClock

JOB = {"title": "x", "prompt": "y"}


@pytest.fixture
def house(settings: Settings, clock: ManualClock) -> Iterator[House]:
    with House(settings, clock=clock, services={STARTER: Recorder()}) as house:
        yield house


def jammed(background: aftermath.Background) -> threading.Event:
    """Keep the background thread busy until the event is set."""
    entered, free = threading.Event(), threading.Event()

    def jam() -> None:
        entered.set()
        free.wait(60)

    background.put(jam)
    assert entered.wait(60)
    return free


def looking(monkeypatch: pytest.MonkeyPatch, look: Callable[[Tx], Any]) -> None:
    monkeypatch.setattr(autostart, "wanted", look)


def test_a_look_that_finds_the_store_busy_leaves_the_answer_as_it_is(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def busy(tx: Tx) -> Any:
        raise StoreBusy("the store is busy; nothing was written")

    looking(monkeypatch, busy)
    answer = house.call("jobs.create", JOB)
    assert answer.success
    assert house.call("jobs.open", {"job": "JOB-001"}).success
    assert house.settle(60)
    assert "the store is busy" in caplog.text
    assert [record.levelno for record in caplog.records] == [logging.WARNING]


def test_a_look_that_hangs_delays_neither_its_answer_nor_the_next(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    entered, free = threading.Event(), threading.Event()
    threads: list[str] = []

    def hangs(tx: Tx) -> Any:
        threads.append(threading.current_thread().name)
        entered.set()
        free.wait(60)
        return False, True

    looking(monkeypatch, hangs)

    async def calls() -> list[bool]:
        made = []
        for _ in range(3):
            answer = await house.dispatcher.call_async("jobs.create", JOB, Caller(Role.OPERATOR))
            made.append(answer.success)
        return made

    assert asyncio.run(calls()) == [True, True, True]
    assert entered.wait(60)
    assert not house.settle(0)
    free.set()
    assert house.settle(60)
    assert threads == ["longhouse.reaction"] * len(threads)
    assert 1 <= len(threads) <= 3


def test_an_observer_that_fails_changes_no_answer_and_harms_no_later_call(
    settings: Settings, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    heard: list[str] = []

    def observe(cmd: str, answer: Answer, seconds: float, defect: BaseException | None) -> None:
        heard.append(cmd)
        raise OSError("the disk is full")

    with House(settings, clock=clock, observe=observe) as house:
        assert house.call("vcs.notes.commit", {"content": "x"}).success
        assert house.call("docs.show").success
        assert house.settle(60)
    assert heard == ["vcs.notes.commit", "docs.show"]
    assert [str(record.exc_info[1]) for record in caplog.records if record.exc_info] == [
        "the disk is full",
        "the disk is full",
    ]


def test_an_observer_hears_of_defects_and_takes_no_refusal_for_one(
    settings: Settings, clock: ManualClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str | None] = []

    def observe(cmd: str, answer: Answer, seconds: float, defect: BaseException | None) -> None:
        heard.append(None if defect is None else str(defect))

    def broken(*_: object) -> None:
        raise ValueError("a bug")

    with House(settings, clock=clock, observe=observe) as house:
        assert house.call("docs.show").success
        assert house.call("docs.show", {"limit": 0}).envelope["error"]
        monkeypatch.setattr(house.db, "read", broken)
        error = house.call("docs.show").envelope["error"]
        assert error["code"] == "INTERNAL_ERROR"
        assert house.settle(60)
    assert heard == [None, None, "a bug"]


def test_calls_repeat_one_reaction_while_it_waits_and_none_for_a_replay(
    settings: Settings, clock: ManualClock
) -> None:
    starter = Recorder()
    with House(settings, clock=clock, services={STARTER: starter}) as house:
        starter.house = house
        args = {**JOB, "idempotency_key": "once"}
        assert house.call("jobs.create", args).success
        assert starter.started == ["acme"]
        clock.advance(autostart.BACKOFF_MS)
        assert house.call("jobs.create", args).envelope["context"]["replayed"]
        assert starter.started == ["acme"]


def test_a_house_that_is_not_a_server_starts_no_thread(
    settings: Settings, clock: ManualClock
) -> None:
    with House(settings, clock=clock) as house:
        assert house.call("jobs.create", JOB).success
        names = {thread.name for thread in threading.enumerate()}
    assert not names & {"longhouse.reaction", "longhouse.observer"}


def test_what_waits_when_the_house_closes_still_happens(
    settings: Settings, clock: ManualClock
) -> None:
    starter = Recorder()
    with House(settings, clock=clock, services={STARTER: starter}) as house:
        assert house.call("jobs.create", JOB).success
    assert starter.started == ["acme"]


def test_what_was_dropped_in_a_jam_can_be_put_again_afterwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(aftermath, "MOST_WAITING", 2)
    background = aftermath.Background("test")
    ran: list[str] = []
    free = jammed(background)
    for name in ("dropped", "dropped later", "third", "dropped"):
        background.put(partial(ran.append, name), name)
    free.set()
    assert background.settle(60)
    assert ran == ["third", "dropped"]
    background.put(partial(ran.append, "again"), "dropped later")
    assert background.settle(60)
    background.close()
    assert ran[-1] == "again"


def test_a_reaction_that_already_waits_is_not_queued_twice() -> None:
    background = aftermath.Background("test")
    ran: list[str] = []
    free = jammed(background)
    for name in ("one", "other", "one"):
        background.put(partial(ran.append, name), name)
    free.set()
    assert background.settle(60)
    background.close()
    assert ran == ["one", "other"]
