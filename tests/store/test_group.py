"""Group commit in isolation: who leads, who waits, and what interruptions leave behind."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from longhouse.kernel.errors import OutcomeUnknown, StoreBusy, StoreError
from longhouse.store import group as group_commit
from longhouse.store.group import MAX_BATCH, SHARE, SHARE_S, GroupCommit, Work


class Lane:
    """A lane whose batches a test can hold and inspect."""

    def __init__(self) -> None:
        self.batches: list[list[Any]] = []
        self.entered, self.go = threading.Semaphore(0), threading.Semaphore(0)
        self.held = True
        self.trouble: BaseException | None = None
        self._pool = ThreadPoolExecutor(1)
        self.used: list[tuple[str, float]] = []
        self.group: GroupCommit[Any] = GroupCommit(self.run_batch, self._start, self._count)

    def _start(self, _owner: str, lead: Callable[[], None]) -> object:
        return self._pool.submit(lead)

    def _count(self, owner: str, seconds: float) -> None:
        self.used.append((owner, seconds))

    def run_batch(self, batch: list[Work[Any]]) -> None:
        self.batches.append([work.payload for work in batch])
        if self.held:
            self.entered.release()
            assert self.go.acquire(timeout=60)
        if self.trouble is not None:
            trouble, self.trouble = self.trouble, None
            raise trouble
        for work in batch:
            work.result = work.payload * 2

    def end(self) -> None:
        self.held = False
        self.go.release()
        self._pool.shutdown()


async def test_what_arrives_during_a_commit_goes_into_the_next_one_in_order() -> None:
    lane, loop = Lane(), asyncio.get_running_loop()
    first = lane.group.submit(0, loop)
    await asyncio.to_thread(lane.entered.acquire)
    rest = [lane.group.submit(n, loop) for n in range(1, MAX_BATCH + 3)]
    lane.end()
    assert await asyncio.gather(first, *rest) == [2 * n for n in range(MAX_BATCH + 3)]
    assert lane.batches == [[0], list(range(1, MAX_BATCH + 1)), [MAX_BATCH + 1, MAX_BATCH + 2]]


async def test_an_event_loop_is_woken_once_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    lane, loop = Lane(), asyncio.get_running_loop()
    first = lane.group.submit(0, loop)
    await asyncio.to_thread(lane.entered.acquire)
    rest = [lane.group.submit(n, loop) for n in range(50)]
    wakes = []
    wake = loop.call_soon_threadsafe

    def counted(callback: Any, *args: Any, **options: Any) -> Any:
        wakes.append(callback)
        return wake(callback, *args, **options)

    monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
    lane.end()
    await asyncio.gather(first, *rest)
    assert len(wakes) == 2


def test_threads_and_a_lone_writer_lead_themselves() -> None:
    lane = Lane()
    lane.held = False
    assert [lane.group.run(n) for n in range(3)] == [0, 2, 4]
    results: list[int] = []
    threads = [
        threading.Thread(target=lambda n=n: results.append(lane.group.run(n))) for n in range(32)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == [2 * n for n in range(32)]
    lane.end()


def waiting(lane: Lane, payload: int) -> tuple[threading.Thread, list[Any]]:
    """A writing thread that is already queued behind the held batch."""
    outcome: list[Any] = []

    def write() -> None:
        try:
            outcome.append(lane.group.run(payload))
        except BaseException as error:
            outcome.append(error)

    before = len(lane.group._pending)
    thread = threading.Thread(target=write)
    thread.start()
    while len(lane.group._pending) == before:
        pass
    return thread, outcome


def test_a_leader_that_is_interrupted_leaves_nobody_hanging() -> None:
    lane = Lane()
    lane.trouble = KeyboardInterrupt()
    leader, led = waiting_leader(lane)
    follower, followed = waiting(lane, 1)
    lane.end()
    leader.join(60)
    follower.join(60)
    assert isinstance(led[0], KeyboardInterrupt)
    assert followed == [2]


def waiting_leader(lane: Lane) -> tuple[threading.Thread, list[Any]]:
    outcome: list[Any] = []

    def write() -> None:
        try:
            outcome.append(lane.group.run(0))
        except BaseException as error:
            outcome.append(error)

    thread = threading.Thread(target=write)
    thread.start()
    assert lane.entered.acquire(timeout=60)
    return thread, outcome


def test_companions_of_an_interrupted_leader_learn_that_the_outcome_is_unknown() -> None:
    lane = Lane()
    leader, _ = waiting_leader(lane)
    heir, inherited = waiting(lane, 1)
    companion, learnt = waiting(lane, 2)
    lane.go.release()
    assert lane.entered.acquire(timeout=60)
    lane.trouble = KeyboardInterrupt()
    lane.end()
    for thread in (leader, heir, companion):
        thread.join(60)
    assert isinstance(inherited[0], KeyboardInterrupt)
    assert isinstance(learnt[0], OutcomeUnknown)
    assert "idempotency_key" in str(learnt[0].recovery)
    assert lane.group.run(5) == 10


@pytest.mark.parametrize("position", [0, 1])
def test_a_waiter_that_is_interrupted_is_not_written_and_passes_the_lead_on(
    monkeypatch: pytest.MonkeyPatch, position: int
) -> None:
    """Whether it would have led the next batch or only been part of it."""
    lane = Lane()
    leader, _ = waiting_leader(lane)
    others = [waiting(lane, 2)] if position else []
    now = threading.Event()
    stuck, outcome = interrupted(monkeypatch, lane, 1, until=lambda _work: now.wait(60))
    others.append(waiting(lane, 3))
    now.set()
    stuck.join(60)
    lane.end()
    for thread, _ in others:
        thread.join(60)
    leader.join(60)
    assert isinstance(outcome[0], KeyboardInterrupt)
    assert 1 not in [payload for batch in lane.batches for payload in batch]
    assert all(isinstance(found[0], int) for _, found in others)


def test_an_heir_that_is_interrupted_passes_the_lead_on(monkeypatch: pytest.MonkeyPatch) -> None:
    lane = Lane()
    leader, _ = waiting_leader(lane)
    heir, inherited = interrupted(monkeypatch, lane, 1, until=Work.wait)
    other, outcome = waiting(lane, 2)
    lane.go.release()
    leader.join(60)
    heir.join(60)
    assert isinstance(inherited[0], KeyboardInterrupt)
    assert lane.entered.acquire(timeout=60)
    lane.end()
    other.join(60)
    assert outcome == [4]
    assert lane.batches == [[0], [2]]


def test_who_is_interrupted_again_while_it_leaves_leaves_all_the_same() -> None:
    lane = Lane()
    lane.held = False
    work: Work[int] = Work(1)
    work.leads = True
    lane.group._led = True
    lane.group._pending.append(work)
    lane.group._mutex = InterruptedLock(lane.group._mutex)  # type: ignore[assignment]
    lane.group._forsake(work)
    assert not lane.group._pending
    assert lane.group.run(4) == 8


class InterruptedLock:
    """Interrupts the first thread that waits for it."""

    def __init__(self, lock: threading.Lock) -> None:
        self._lock, self._first = lock, True

    def __enter__(self) -> None:
        first, self._first = self._first, False
        if first:
            raise KeyboardInterrupt
        self._lock.acquire()

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def interrupted(
    monkeypatch: pytest.MonkeyPatch, lane: Lane, payload: int, until: Callable[[Work[Any]], Any]
) -> tuple[threading.Thread, list[Any]]:
    """A thread that waits for `until` and is then interrupted."""
    wait = Work.wait

    def waits(work: Work[Any]) -> None:
        if work.payload != payload:
            return wait(work)
        until(work)
        raise KeyboardInterrupt

    monkeypatch.setattr(Work, "wait", waits)
    return waiting(lane, payload)


def test_the_main_thread_wakes_nobody_and_so_keeps_nobody_asleep() -> None:
    """It may be interrupted anywhere; every other thread in a batch wakes the next."""
    lane = Lane()
    leader, _ = waiting_leader(lane)
    others = [waiting(lane, n) for n in (1, 2)]
    here: Work[int] = Work(3)
    here.main, here.gate = True, threading.Lock()
    here.gate.acquire()
    with lane.group._mutex:
        lane.group._pending.append(here)
    others += [waiting(lane, n) for n in (4, 5)]
    lane.end()
    for thread, _ in [(leader, None), *others]:
        thread.join(60)
    assert [outcome for _, outcome in others] == [[2], [4], [8], [10]]
    assert lane.batches == [[0], [1, 2, 3, 4, 5]]
    assert not here.gate.locked()
    assert here.follower is None


async def test_a_loop_that_has_ended_harms_no_other() -> None:
    lane, loop = Lane(), asyncio.get_running_loop()
    first = lane.group.submit(0, loop)
    await asyncio.to_thread(lane.entered.acquire)

    async def leave() -> None:
        lane.group.submit(1, asyncio.get_running_loop())

    await asyncio.to_thread(asyncio.run, leave())
    last = lane.group.submit(2, loop)
    lane.end()
    assert [await first, await last] == [0, 4]


def test_a_closed_lane_takes_nothing_more() -> None:
    lane = Lane()
    lane.held = False
    lane.group.run(1)
    lane.group.close()
    with pytest.raises(StoreError, match="closed"):
        lane.group.run(2)
    lane.end()


async def test_a_thread_that_starts_late_after_all_does_not_lead_beside_another() -> None:
    """An executor that cannot start a thread fails, but keeps the work item for later."""
    kept: list[Callable[[], None]] = []

    def start(_owner: str, lead: Callable[[], None]) -> None:
        kept.append(lead)
        raise RuntimeError("can't start new thread")

    begun, ended, loop = list[int](), list[int](), asyncio.get_running_loop()
    later: list[asyncio.Future[int]] = []

    def run_batch(batch: list[Work[int]]) -> None:
        begun.extend(work.payload for work in batch)
        if begun == [1, 2]:
            kept[0]()
            later.append(group.submit(3, loop))
        for work in batch:
            work.result = work.payload
        ended.extend(work.payload for work in batch)

    group = GroupCommit(run_batch, start)
    assert await group.submit(1, loop) == 1
    assert await group.submit(2, loop) == 2
    assert await later[0] == 3
    assert begun == ended == [1, 2, 3]


async def test_a_write_that_waited_too_long_for_its_turn_is_told_to_come_back(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    lane, loop = Lane(), asyncio.get_running_loop()
    first = lane.group.submit(0, loop)
    await asyncio.to_thread(lane.entered.acquire)
    late = [lane.group.submit(n, loop) for n in (1, 2)]
    monkeypatch.setattr(group_commit, "QUEUED_S", 0.0)
    lane.end()
    assert await first == 0
    for future in late:
        with pytest.raises(StoreBusy, match="nothing was written"):
            await future
    assert lane.batches == [[0]]


async def _batches(*asked: tuple[str, int]) -> list[list[Any]]:
    """The batches after one that was held while each owner brought so many writes."""
    lane, loop = Lane(), asyncio.get_running_loop()
    first = lane.group.submit("first", loop, asked[0][0])
    await asyncio.to_thread(lane.entered.acquire)
    rest = [
        lane.group.submit(f"{owner} {number}", loop, owner)
        for owner, times in asked
        for number in range(times)
    ]
    lane.end()
    await asyncio.gather(first, *rest)
    return lane.batches[1:]


async def test_anothers_write_is_in_the_next_batch_whatever_one_owner_has_waiting() -> None:
    batches = await _batches(("busy", 100), ("calm", 1))
    assert batches[0] == [*(f"busy {n}" for n in range(SHARE)), "calm 0"]
    flat = [work for batch in batches for work in batch if work.startswith("busy")]
    assert flat == [f"busy {n}" for n in range(100)]
    assert max(map(len, batches)) <= SHARE + 1


async def test_two_owners_with_many_writes_leave_room_for_a_third() -> None:
    batches = await _batches(("busy", 50), ("busier", 80), ("calm", 2))
    assert len(batches[0]) == 2 * SHARE + 2
    assert batches[0][-2:] == ["calm 0", "calm 1"]


async def test_an_owner_that_is_alone_fills_its_batches() -> None:
    assert list(map(len, await _batches(("busy", MAX_BATCH + 1)))) == [MAX_BATCH, 1]


async def test_an_owner_is_alone_again_when_nobody_else_wrote_lately(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(group_commit, "LATELY_S", -1.0)
    assert list(map(len, await _batches(("busy", 50), ("calm", 1)))) == [51]


@pytest.mark.parametrize(
    "each_s, fit", [(SHARE_S / 100, SHARE), (SHARE_S / 2, 2), (SHARE_S * 5, 1)]
)
async def test_of_writes_that_compute_much_fewer_are_in_a_batch_beside_anothers(
    monkeypatch: pytest.MonkeyPatch, each_s: float, fit: int
) -> None:
    lane, loop = Lane(), asyncio.get_running_loop()
    first = lane.group.submit("first", loop, "busy")
    await asyncio.to_thread(lane.entered.acquire)
    rest = [lane.group.submit(f"busy {number}", loop, "busy") for number in range(9)]
    rest.append(lane.group.submit("calm", loop, "calm"))
    monkeypatch.setattr(lane.group, "_count", lambda *_: None)
    lane.group._each_s = each_s
    lane.end()
    await asyncio.gather(first, *rest)
    assert lane.batches[1] == [*(f"busy {number}" for number in range(fit)), "calm"]


async def test_a_lane_tells_for_how_long_it_was_busy_for_each_owner() -> None:
    lane, loop = Lane(), asyncio.get_running_loop()
    first = lane.group.submit("first", loop, "busy")
    await asyncio.to_thread(lane.entered.acquire)
    rest = [lane.group.submit(n, loop, owner) for n, owner in enumerate(["busy"] * 3 + ["calm"])]
    lane.end()
    await asyncio.gather(first, *rest)
    assert [owner for owner, _ in lane.used] == ["busy", "busy", "calm"]
    _, busy_s, calm_s = (seconds for _, seconds in lane.used)
    assert busy_s == pytest.approx(3 * calm_s)
    assert lane.group._each_s > 0
