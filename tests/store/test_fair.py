"""Threads that owners share: turns, shares, limits; and work that is counted where it runs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from functools import partial

import pytest

from longhouse.kernel.effort import Allowance, Overdrawn, spend, within
from longhouse.kernel.errors import ReadTooLong, StoreError, TooManyRequests
from longhouse.store import fair
from longhouse.store.database import LONG, QUICK, Database, Way
from longhouse.store.fair import FairPool
from longhouse.store.queries import Query
from longhouse.store.sqlite import SqliteEngine
from tests.store.kit import CALL, WS, keys, put

PATIENCE_S = 20
COUNTING = (
    "WITH RECURSIVE n(k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM n WHERE k < 1000000) "
    "SELECT max(k) AS k FROM n"
)
WIDE = "SELECT CAST(:wide AS TEXT) AS wide UNION ALL SELECT CAST(:wide AS TEXT)"


@pytest.fixture
def new_pool() -> Iterator[Callable[..., FairPool]]:
    made: list[FairPool] = []

    def make(threads: int, share: int, most_waiting: int = 100, alone: int = 0) -> FairPool:
        made.append(FairPool("test", threads, share, most_waiting, alone=alone))
        return made[-1]

    yield make
    for pool in made:
        pool.close()


class Held:
    """Work that occupies a thread until it is let go."""

    def __init__(self, pool: FairPool, owner: str) -> None:
        self.begun, self.go = threading.Event(), threading.Event()
        self.future = pool.submit(owner, self._run)

    def _run(self) -> None:
        self.begun.set()
        assert self.go.wait(PATIENCE_S)


def test_owners_take_turns_however_much_one_of_them_asks_for(
    new_pool: Callable[..., FairPool],
) -> None:
    pool = new_pool(1, 1)
    first = Held(pool, "busy")
    assert first.begun.wait(PATIENCE_S)
    served: list[str] = []
    for name in ("busy 1", "busy 2", "busy 3", "calm 1", "calm 2"):
        pool.submit(name.partition(" ")[0], partial(served.append, name))
    first.go.set()
    assert pool.settle(PATIENCE_S)
    assert served == ["busy 1", "calm 1", "busy 2", "calm 2", "busy 3"]


def test_no_owner_holds_more_than_its_share_of_the_threads(
    new_pool: Callable[..., FairPool],
) -> None:
    pool = new_pool(2, 1)
    held = [Held(pool, "busy") for _ in range(3)]
    assert held[0].begun.wait(PATIENCE_S)
    assert pool.submit("calm", lambda: 7).result(PATIENCE_S) == 7
    assert not held[1].begun.is_set()
    for one in held:
        one.go.set()
    assert pool.settle(PATIENCE_S)
    assert all(one.begun.is_set() for one in held)


def test_an_owner_that_is_alone_may_hold_more_until_another_comes(
    new_pool: Callable[..., FairPool],
) -> None:
    pool = new_pool(4, 1, alone=3)
    held = [Held(pool, "busy") for _ in range(5)]
    for one in held[:3]:
        assert one.begun.wait(PATIENCE_S)
    assert pool.submit("calm", lambda: 7).result(PATIENCE_S) == 7
    held[0].go.set()
    held[0].future.result(PATIENCE_S)
    assert pool.submit("calm", lambda: 7).result(PATIENCE_S) == 7
    assert not held[3].begun.is_set()
    for one in held:
        one.go.set()
    assert pool.settle(PATIENCE_S)


def test_an_owner_is_alone_again_when_nobody_else_came_lately(
    new_pool: Callable[..., FairPool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fair, "LATELY_S", -1.0)
    pool = new_pool(3, 1, alone=3)
    assert pool.submit("calm", lambda: 7).result(PATIENCE_S) == 7
    held = [Held(pool, "busy") for _ in range(3)]
    for one in held:
        assert one.begun.wait(PATIENCE_S)
        one.go.set()


def test_an_owner_with_too_much_waiting_is_refused_and_no_other(
    new_pool: Callable[..., FairPool],
) -> None:
    pool = new_pool(2, 1, most_waiting=2)
    held = [Held(pool, "busy")]
    assert held[0].begun.wait(PATIENCE_S)
    held += [Held(pool, "busy"), Held(pool, "busy")]
    with pytest.raises(TooManyRequests, match="2 reads waiting"):
        pool.submit("busy", lambda: None)
    assert pool.submit("calm", lambda: 7).result(PATIENCE_S) == 7
    for one in held:
        one.go.set()


def test_work_whose_caller_left_is_not_done(new_pool: Callable[..., FairPool]) -> None:
    pool = new_pool(1, 1)
    first = Held(pool, "busy")
    assert first.begun.wait(PATIENCE_S)
    done: list[int] = []
    left = pool.submit("busy", lambda: done.append(1))
    assert left.cancel()
    first.go.set()
    assert pool.settle(PATIENCE_S)
    assert not done


def test_a_pool_that_closes_refuses_what_waits_and_finishes_what_runs() -> None:
    pool = FairPool("test", 1, 1, 100)
    first = Held(pool, "a")
    assert first.begun.wait(PATIENCE_S)
    waiting = pool.submit("a", lambda: 7)
    closing = threading.Thread(target=pool.close)
    closing.start()
    with pytest.raises(StoreError, match="closed"):
        waiting.result(PATIENCE_S)
    first.go.set()
    closing.join(PATIENCE_S)
    assert first.future.result(PATIENCE_S) is None
    with pytest.raises(StoreError, match="closed"):
        pool.submit("a", lambda: 7)


async def test_what_is_too_much_for_a_quick_thread_runs_again_on_a_long_one(db: Database) -> None:
    ran: list[str] = []

    def work(units: int) -> int:
        ran.append(threading.current_thread().name.rpartition("-")[0])
        spend(units)
        return units

    assert await db.apart("a", lambda: work(10)) == 10
    assert await db.apart("a", lambda: work(QUICK.units + 1)) == QUICK.units + 1
    with pytest.raises(ReadTooLong):
        await db.apart("a", lambda: work(LONG.units + 1))
    quick, long = "longhouse-reader", "longhouse-long"
    assert ran == [quick, quick, long, quick, long]


async def test_a_read_that_takes_too_long_is_given_up(
    db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.store.database.LONG", LONG._replace(seconds=-1.0))
    with pytest.raises(ReadTooLong):
        await db.apart("a", lambda: spend(QUICK.units + 1))
    with pytest.raises(ReadTooLong):
        db.read_long(WS, lambda _tx: spend(1), CALL)


def test_a_statement_and_its_rows_are_counted_in_sqlite(db: Database) -> None:
    db.write(WS, put("one"), CALL)
    if not isinstance(db.engine, SqliteEngine):
        assert db.read(WS, lambda tx: tx.value(Query("n", COUNTING, COUNTING)), CALL) == 1_000_000
        return
    count, wide = Query("n", COUNTING, COUNTING), Query("w", WIDE, WIDE)
    with pytest.raises(Overdrawn), within(Allowance(100_000)):
        db.read(WS, lambda tx: tx.value(count), CALL)
    with pytest.raises(Overdrawn) as kept, within(Allowance(100_000)):
        db.read(WS, lambda tx: tx.all(wide, wide="x" * 60_000), CALL)
    assert kept.tb is not None  # whoever keeps the error keeps its frames
    assert db.read(WS, lambda tx: tx.value(count), CALL) == 1_000_000
    db.write(WS, put("two"), CALL)
    assert keys(db) == ["one", "two"], "no abandoned statement holds on to an old snapshot"
    with within(Allowance(200_000)):
        assert len(db.read(WS, lambda tx: tx.all(wide, wide="x" * 60_000), CALL)) == 2


def test_work_in_the_background_runs_once_at_a_time_for_each_key(db: Database) -> None:
    go, ran = threading.Event(), []

    def work() -> None:
        ran.append(1)
        assert go.wait(PATIENCE_S)

    for _ in range(3):
        db.in_background("a/session", "key", work)
    go.set()
    assert db.settle(PATIENCE_S)
    assert ran == [1]
    db.in_background("a", "key", work)
    assert db.settle(PATIENCE_S)
    assert ran == [1, 1]


def test_whoever_rests_leaves_its_thread_to_nobody_but_its_answer_to_its_caller(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An owner's next turn comes after a pause; its result, and whoever settles, do not wait."""
    pool = FairPool("test", 1, 1, 100, rests="always")
    try:
        slept: list[float] = []
        monkeypatch.setattr(pool, "_rest", slept.append)

        def compute() -> int:
            began = time.thread_time()
            while time.thread_time() - began < 0.01:
                pass
            return 1

        assert pool.submit("busy", compute).result(PATIENCE_S) == 1
        assert pool.submit("busy", compute).result(PATIENCE_S) == 1
        assert pool.settle(PATIENCE_S)
        assert [pause >= 0.01 for pause in slept] == [True, True]
    finally:
        pool.close()


def test_nobody_who_settles_waits_for_a_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fair, "REST", 1e9)
    monkeypatch.setattr(fair, "MOST_REST_S", 3_600.0)
    pool = FairPool("test", 1, 1, 100, rests="always")
    try:
        assert pool.submit("busy", lambda: sum(range(100_000))).result(PATIENCE_S)
        assert pool.settle(PATIENCE_S)
        late = pool.submit("busy", lambda: 1)
        assert not pool.settle(0)
        assert not late.done()
    finally:
        pool.close()  # ends the pause, too


async def test_what_was_lately_too_much_is_not_tried_as_a_quick_read(
    monkeypatch: pytest.MonkeyPatch, db: Database
) -> None:
    ways: list[str] = []
    submit = db._submit

    def noted(owner: str, work: Callable[[], int], way: Way) -> Future[int]:
        ways.append(way.name)
        return submit(owner, work, way)

    monkeypatch.setattr(db, "_submit", noted)

    def heavy() -> int:
        spend(QUICK.units + 1)
        return 1

    for owner, kind in (("busy", "x"), ("busy", "x"), ("busy", "y"), ("calm", "x")):
        assert await db.apart(owner, heavy, kind=kind) == 1
    assert ways == ["reader", "long", "long", "reader", "long", "reader", "long"]


def test_a_pool_tells_what_it_computed_for_an_owner() -> None:
    used: list[tuple[str, float]] = []
    pool = FairPool("test", 1, 1, 10, used=lambda owner, seconds: used.append((owner, seconds)))

    def fail() -> None:
        raise ValueError

    try:
        for owner, work in (("busy", lambda: sum(range(1_000))), ("calm", fail)):
            pool.submit(owner, work).exception()
        assert pool.settle(60)
    finally:
        pool.close()
    assert [owner for owner, _ in used] == ["busy", "calm"]
    assert all(seconds > 0 for _, seconds in used)
