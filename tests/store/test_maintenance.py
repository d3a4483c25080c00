"""Maintenance: what is deleted, who runs it, and that a failing loop does not affect others."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from longhouse.kernel.contributions import Loop
from longhouse.kernel.errors import Conflict
from longhouse.kernel.registry import Registry
from longhouse.kernel.rooms import Room
from longhouse.store.database import Database
from longhouse.store.maintenance import KEYS_KEPT_MS, Maintenance
from longhouse.store.tx import Call, Tx
from tests.kit import CountedIds
from tests.store.kit import keys, put

NOW_MS = 1_800_000_000_000


def call(now_ms: int = NOW_MS) -> Call:
    return Call(now_ms=now_ms, ids=CountedIds())


def test_keys_are_forgotten_after_a_week_in_every_workspace(db: Database) -> None:
    for workspace in ("one", "two"):
        db.write(workspace, put("old"), call(NOW_MS - KEYS_KEPT_MS - 1))
        db.write(workspace, put("new"), call(NOW_MS - KEYS_KEPT_MS))
    Maintenance(db, [], call).step(0)
    assert keys(db, "one") == keys(db, "two") == ["new"]


def test_a_loop_runs_when_it_is_due_once_in_each_workspace(db: Database) -> None:
    for workspace in ("one", "two"):
        db.write(workspace, put("a"), call())
    ran: list[str] = []
    upkeep = Maintenance(db, [Loop("x", 30, lambda tx: ran.append(tx.workspace))], call)
    assert upkeep.step(100) == 30
    assert upkeep.step(129) == 1
    assert ran == ["one", "two"]
    assert upkeep.step(130) == 30
    assert ran == ["one", "two", "one", "two"]


def test_the_store_is_tidied_every_ten_minutes_and_no_more_often(db: Database) -> None:
    tidied: list[Database] = []
    upkeep = Maintenance(db, [], call, tidiers=[lambda store, _call: tidied.append(store)])
    for now_s, times in ((0, 1), (1, 1), (599, 1), (600, 2), (601, 2), (1200, 3)):
        upkeep.step(now_s)
        assert len(tidied) == times, now_s


def test_a_loop_that_fails_is_reported_leaves_nothing_and_stops_no_other(db: Database) -> None:
    db.write("one", put("a"), call())
    reports: list[tuple[str, str]] = []

    def broken(tx: Tx) -> None:
        put("half")(tx)
        raise ValueError

    def refusing(tx: Tx) -> None:
        raise Conflict("no")

    ran: list[str] = []
    loops = [Loop("broken", 9, broken), Loop("refusing", 9, refusing)]
    loops.append(Loop("well", 9, lambda tx: ran.append(tx.workspace)))
    upkeep = Maintenance(
        db, loops, call, lambda name, error: reports.append((name, type(error).__name__))
    )
    upkeep.step(0)
    upkeep.step(9)
    assert reports == [("broken", "ValueError"), ("refusing", "Conflict")] * 2
    assert (ran, keys(db, "one")) == (["one", "one"], ["a"])


@pytest.mark.parametrize("leading", [True, False])
def test_a_server_does_the_upkeep_only_while_it_leads(
    db: Database, monkeypatch: pytest.MonkeyPatch, leading: bool
) -> None:
    db.write("one", put("a"), call())
    asked, ran = threading.Event(), threading.Event()

    @contextmanager
    def leader() -> Iterator[Callable[[], bool]]:
        def leads() -> bool:
            asked.set()
            return leading

        yield leads

    monkeypatch.setattr(db.engine, "leader", leader)
    with Maintenance(db, [Loop("x", 1, lambda _: ran.set())], call):
        assert asked.wait(20)
        assert not leading or ran.wait(20)
    assert ran.is_set() == leading


def test_a_room_declares_its_upkeep_where_it_stands() -> None:
    room = Room("garden")

    @room.every(60)
    def weed(tx: Tx) -> None: ...

    (loop,) = Registry([room]).loops
    assert (loop.name, loop.every_s, loop.run) == ("garden.weed", 60, weed)
