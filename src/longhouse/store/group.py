"""Group commit: waiting writes run one after another in one transaction, then answer together.

A write that finds no leader becomes the leader: it runs itself and all waiting writes, commits
once, and only then answers them, so acknowledged means on disk. A leader leads one batch and hands
over to the next in line. The callers of a batch tend to return together with their next writes, so
the next leader waits for as many writes as the last batch had, for at most as long as that batch
took. A lone thread writes without waiting or handing over. Writes from an event loop are led by a
pool thread, and each loop is woken once per batch, however many of its writes are in it.

Owners who write at the same time share the batches: none gets more than its share of one, so that
another's write waits for a few of its writes, not for all. `used` is told how long the lane was
busy for each.

Each thread wakes the next: only one can run Python at a time, and threads that are all woken at
once spend more time competing for the interpreter than answering. The main thread never wakes
another, because a signal may interrupt it anywhere.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from longhouse.kernel.errors import OutcomeUnknown, StoreBusy, StoreError

if TYPE_CHECKING:
    import asyncio

__all__ = ["GroupCommit", "LoneThread", "Work"]

T = TypeVar("T")

MAX_BATCH = 256
SHARE = 4
"""How many writes of one owner are in a batch at most, if others have written lately."""
SHARE_S = 0.000_8
"""How much they may compute together: fewer that compute much are in a batch."""
LATELY_S = 1.0
MAX_PATIENCE_S = 0.005
QUEUED_S = 10.0
"""How long a write may wait for its turn; after that it fails with StoreBusy."""


class Work(Generic[T]):
    """One waiting write and, later, its outcome; its thread waits on `gate`."""

    __slots__ = (
        "follower",
        "future",
        "gate",
        "leads",
        "main",
        "owner",
        "payload",
        "result",
        "since",
        "trouble",
    )

    def __init__(
        self, payload: T, future: asyncio.Future[Any] | None = None, owner: str = ""
    ) -> None:
        self.payload = payload
        self.owner = owner
        self.result: Any = None
        self.trouble: BaseException | None = None
        self.future = future
        self.since = time.monotonic()
        self.gate: threading.Lock | None = None
        self.follower: Work[T] | None = None
        self.leads = False
        self.main = False

    def wait(self) -> None:
        """Wait at the gate, then wake the follower."""
        self.gate.acquire()  # type: ignore[union-attr]
        if self.follower is not None:
            self.follower.wake()

    def wake(self) -> None:
        self.gate.release()  # type: ignore[union-attr]


class GroupCommit(Generic[T]):
    """One lane of writes.

    `run_batch` gives every work of a batch its result or its error; `start` runs a function on a
    pool thread for an owner.
    """

    def __init__(
        self,
        run_batch: Callable[[list[Work[T]]], None],
        start: Callable[[str, Callable[[], None]], object],
        used: Callable[[str, float], object] = lambda _owner, _seconds: None,
    ) -> None:
        self._run_batch = run_batch
        self._start = start
        self._used = used
        self._mutex = threading.Lock()
        self._idle = threading.Condition(self._mutex)
        self._arrived = threading.Condition(self._mutex)
        self._pending: deque[Work[T]] = deque()
        self._wrote: dict[str, float] = {}
        """When each owner last brought a write from an event loop; the house's own do not count."""
        self._led = False
        self._closed = False
        self._gathering = False
        self._crowd = 1
        self._patience_s = 0.0
        self._each_s = 0.0
        """What a write computes here, about."""

    def run(self, payload: T, owner: str = "") -> Any:
        """Write and wait for the result; for threads."""
        work = Work(payload, None, owner)
        work.main = threading.current_thread() is threading.main_thread()
        work.gate = threading.Lock()
        work.gate.acquire()
        try:
            with self._mutex:
                self._enqueue(work)
                work.leads, self._led = not self._led, True
            if not work.leads:
                work.wait()
        except BaseException:
            self._forsake(work)
            raise
        if work.leads:
            self._lead(work)
        if work.trouble is not None:
            raise work.trouble
        return work.result

    def submit(
        self, payload: T, loop: asyncio.AbstractEventLoop, owner: str = ""
    ) -> asyncio.Future[Any]:
        """Write and resolve a future; for event loops, called in the loop's own thread."""
        work = Work(payload, loop.create_future(), owner)
        with self._mutex:
            self._enqueue(work)
            leaderless, self._led = not self._led, True
        if leaderless:
            self._lead_elsewhere(owner)
        return work.future  # type: ignore[return-value]

    def close(self) -> None:
        """Accept no more writes, and let the waiting ones finish."""
        with self._mutex:
            self._closed = True
            self._arrived.notify()
            self._idle.wait_for(lambda: not self._led)

    def _enqueue(self, work: Work[T]) -> None:
        if self._closed:
            raise StoreError("the store is closed; nothing was written")
        self._pending.append(work)
        if work.future is not None:
            self._wrote[work.owner] = work.since
        if self._gathering and len(self._pending) >= self._crowd:
            self._arrived.notify()

    def _lead(self, mine: Work[T] | None = None) -> None:
        """Run and answer one batch, and make sure that waiting writes have a leader."""
        try:
            self._gather()
        except BaseException:
            if mine is not None:
                self._forsake(mine)
            else:
                self._hand_over()
            raise
        with self._mutex:
            taken = self._take()
            self._crowd = len(taken)
        started, computing = time.monotonic(), time.thread_time()
        taken = [work for work in taken if not (work.future and work.future.cancelled())]
        batch: list[Work[T]] = []
        for work in taken:
            if started - work.since <= QUEUED_S:
                batch.append(work)
            else:
                work.trouble = StoreBusy("it waited too long for its turn; nothing was written")
        try:
            if batch:
                self._run_batch(batch)
        except BaseException:
            for work in batch:
                work.trouble = OutcomeUnknown(
                    "the write was interrupted: it may or may not have happened"
                )
            raise
        finally:
            took_s = time.monotonic() - started
            self._patience_s = min(took_s, MAX_PATIENCE_S)
            if batch:
                self._count(batch, took_s, time.thread_time() - computing)
            _answer(taken, mine)
            self._hand_over()

    def _count(self, batch: list[Work[T]], took_s: float, computed_s: float) -> None:
        """Remember what a write computes, and tell how long the lane was busy for each owner."""
        self._each_s += (computed_s / len(batch) - self._each_s) / 4
        for owner, count in Counter(work.owner for work in batch if work.future).items():
            self._used(owner, took_s * count / len(batch))

    def _take(self) -> list[Work[T]]:
        """The writes of the next batch, in the order in which they came."""
        if len(self._wrote) > 1:
            since = time.monotonic() - LATELY_S
            self._wrote = {owner: at for owner, at in self._wrote.items() if at >= since}
        most = MAX_BATCH if len(self._wrote) <= 1 else self._share()
        if len(self._pending) <= most:
            taken = list(self._pending)
            self._pending.clear()
            return taken
        taken, left = [], deque[Work[T]]()
        counts: Counter[str] = Counter()
        for work in self._pending:
            fits = counts[work.owner] < most and len(taken) < MAX_BATCH
            (taken if fits else left).append(work)
            counts[work.owner] += 1
        self._pending = left
        return taken

    def _share(self) -> int:
        """How many writes of one owner are in the next batch beside those of others."""
        fit = SHARE if self._each_s <= 0 else int(SHARE_S / self._each_s)
        return max(1, min(SHARE, fit))

    def _gather(self) -> None:
        """After a large batch, wait briefly for its callers to return."""
        with self._mutex:
            if len(self._pending) >= self._crowd:
                return
            self._gathering = True
            try:
                self._arrived.wait_for(
                    lambda: len(self._pending) >= self._crowd or self._closed, self._patience_s
                )
            finally:
                self._gathering = False

    def _forsake(self, work: Work[T]) -> None:
        """Drop a write whose thread was interrupted; if it was to lead, let another lead."""
        leads = None
        while leads is None:
            with suppress(KeyboardInterrupt), self._mutex:  # repeating this is harmless
                if work in self._pending:
                    self._pending.remove(work)
                leads = work.leads
        if leads:
            self._hand_over()

    def _hand_over(self) -> None:
        with self._mutex:
            if not self._pending:
                self._led = False
                if self._closed:
                    self._idle.notify_all()
                return
            heir = self._pending[0]
            if heir.gate is not None:
                heir.leads = True
                heir.wake()
                return
        self._lead_elsewhere(heir.owner)

    def _lead_elsewhere(self, owner: str) -> None:
        free = threading.Lock()

        def lead() -> None:
            if free.acquire(blocking=False):
                self._lead()

        try:
            self._start(owner, lead)
        except RuntimeError:  # no thread can be started; the executor may still run it later
            lead()


class LoneThread:
    """Runs one piece of work after another on a thread that starts with the first."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._queue: SimpleQueue[Callable[[], None] | None] = SimpleQueue()
        self._thread: threading.Thread | None = None

    def submit(self, _owner: str, work: Callable[[], None]) -> None:
        self._queue.put(work)
        if self._thread is None:
            thread = threading.Thread(target=self._run, name=self._name, daemon=True)
            thread.start()
            self._thread = thread

    def close(self) -> None:
        """Finish what is queued."""
        self._queue.put(None)
        if self._thread is not None:
            self._thread.join()

    def _run(self) -> None:
        while work := self._queue.get():
            with suppress(Exception):  # its callers have been told
                work()


def _answer(batch: list[Work[T]], mine: Work[T] | None) -> None:
    """Release every caller of the batch; each event loop is woken once."""
    loops: dict[asyncio.AbstractEventLoop, list[Work[T]]] = {}
    row: list[Work[T]] = []
    for work in batch:
        if work.future is not None:
            loops.setdefault(work.future.get_loop(), []).append(work)
        elif work.main and work is not mine:
            work.wake()
        elif work is not mine:
            row.append(work)
    for loop, works in loops.items():
        with suppress(RuntimeError):  # the loop has ended, so nothing waits in it
            loop.call_soon_threadsafe(_resolve, works)
    for work, follower in pairwise(row):
        work.follower = follower
    if row:
        row[0].wake()


def _resolve(works: list[Work[T]]) -> None:
    for work in works:
        future = work.future
        if future is None or future.done():
            continue
        if work.trouble is None:
            future.set_result(work.result)
        else:
            future.set_exception(work.trouble)
