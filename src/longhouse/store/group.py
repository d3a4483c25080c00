"""Group commit: waiting writes run one after the other in one transaction, then answer together.

Whoever finds no leader leads: it runs its own write and all that wait, commits once, and only then
lets anyone answer, so acknowledged means on disk. A leader leads one batch and hands over to the
next in line. Those of a batch come back together with their next writes: after a crowd the next
leader waits for as many again, at most as long as the batch before took. A lone thread writes
without any wait or hand-over; writes of an event loop are led by a thread of the house, and each
loop is woken once a batch, however many of its writes are in it.

Threads are woken one by the other: only one of them can run Python, and a crowd that is woken at
once spends more time on fighting for that than on its answers. The main thread wakes nobody: it is
the one that a signal may interrupt anywhere.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from longhouse.kernel.errors import OutcomeUnknown, StoreBusy, StoreError

if TYPE_CHECKING:
    import asyncio

__all__ = ["GroupCommit", "Work"]

T = TypeVar("T")

MAX_BATCH = 256
MAX_PATIENCE_S = 0.005
QUEUED_S = 10.0
"""How long a write may wait for its turn; after that it is told to come back."""


class Work(Generic[T]):
    """One waiting write and, later, what came of it; a thread waits at its gate."""

    __slots__ = (
        "follower",
        "future",
        "gate",
        "leads",
        "main",
        "payload",
        "result",
        "since",
        "trouble",
    )

    def __init__(self, payload: T, future: asyncio.Future[Any] | None = None) -> None:
        self.payload = payload
        self.result: Any = None
        self.trouble: BaseException | None = None
        self.future = future
        self.since = time.monotonic()
        self.gate: threading.Lock | None = None
        self.follower: Work[T] | None = None
        self.leads = False
        self.main = False

    def wait(self) -> None:
        """Wait at the gate, then wake who comes after."""
        self.gate.acquire()  # type: ignore[union-attr]
        if self.follower is not None:
            self.follower.wake()

    def wake(self) -> None:
        self.gate.release()  # type: ignore[union-attr]


class GroupCommit(Generic[T]):
    """One lane of writes.

    `run_batch` gives every work of a batch its result or its trouble; `start` runs a function on a
    thread of the house.
    """

    def __init__(
        self,
        run_batch: Callable[[list[Work[T]]], None],
        start: Callable[[Callable[[], None]], object],
    ) -> None:
        self._run_batch = run_batch
        self._start = start
        self._mutex = threading.Lock()
        self._idle = threading.Condition(self._mutex)
        self._arrived = threading.Condition(self._mutex)
        self._pending: deque[Work[T]] = deque()
        self._led = False
        self._closed = False
        self._gathering = False
        self._crowd = 1
        self._patience_s = 0.0

    def run(self, payload: T) -> Any:
        """Write and wait: for threads."""
        work = Work(payload)
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

    def submit(self, payload: T, loop: asyncio.AbstractEventLoop) -> asyncio.Future[Any]:
        """Write and answer in the loop: for event loops, called in the loop's own thread."""
        work = Work(payload, loop.create_future())
        with self._mutex:
            self._enqueue(work)
            leaderless, self._led = not self._led, True
        if leaderless:
            self._lead_elsewhere()
        return work.future  # type: ignore[return-value]

    def close(self) -> None:
        """Take nothing more, and let what waits finish."""
        with self._mutex:
            self._closed = True
            self._arrived.notify()
            self._idle.wait_for(lambda: not self._led)

    def _enqueue(self, work: Work[T]) -> None:
        if self._closed:
            raise StoreError("the store is closed; nothing was written")
        self._pending.append(work)
        if self._gathering and len(self._pending) >= self._crowd:
            self._arrived.notify()

    def _lead(self, mine: Work[T] | None = None) -> None:
        """Run one batch, answer it, and see to it that whoever waits is led."""
        try:
            self._gather()
        except BaseException:
            if mine is not None:
                self._forsake(mine)
            else:
                self._hand_over()
            raise
        with self._mutex:
            self._crowd = count = min(len(self._pending), MAX_BATCH)
            taken = [self._pending.popleft() for _ in range(count)]
        started = time.monotonic()
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
            self._patience_s = min(time.monotonic() - started, MAX_PATIENCE_S)
            _answer(taken, mine)
            self._hand_over()

    def _gather(self) -> None:
        """After a crowd, wait a moment for it to come back."""
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
        """Forget a write whose thread was interrupted, and was it to lead, let another one."""
        leads = None
        while leads is None:
            with suppress(KeyboardInterrupt), self._mutex:  # once more is not once too often
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
        self._lead_elsewhere()

    def _lead_elsewhere(self) -> None:
        free = threading.Lock()

        def lead() -> None:
            if free.acquire(blocking=False):
                self._lead()

        try:
            self._start(lead)
        except RuntimeError:  # no thread can be started now; the executor may still try it later
            lead()


def _answer(batch: list[Work[T]], mine: Work[T] | None) -> None:
    """Let every caller of the batch go on; each event loop is woken once."""
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
        with suppress(RuntimeError):  # the loop has ended, and nobody waits in it
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
