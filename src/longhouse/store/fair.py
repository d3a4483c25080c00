"""A pool of threads that owners share fairly.

Each owner has a queue of its own. Threads serve the queues in turn, and one owner never holds more
than its share of the threads, so whoever asks for a lot waits for itself only. A pool may let an
owner hold more as long as it is alone.

Only one thread at a time can run Python, and no call into C can be interrupted. So in a pool that
rests, an owner's turn is followed by a pause that is longer than the time its work computed: most
of the time the interpreter is free for others, however much the owner asks for.
"""

from __future__ import annotations

import threading
import time
from collections import Counter, deque
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Literal, TypeVar

from longhouse.kernel.errors import StoreError, TooManyRequests

__all__ = ["FairPool", "Rests"]

T = TypeVar("T")

Rests = Literal["never", "crowded", "always"]
"""When an owner's turn is followed by a pause; `crowded` means that more of its work waits."""
REST = 3.0
"""How long a pause is, in times of what the work before it computed."""
MOST_REST_S = 1.0
LATELY_S = 1.0
"""How long after its last work an owner still counts as one of those who share the threads."""


class _Work:
    __slots__ = ("future", "run")

    def __init__(self, run: Callable[[], Any]) -> None:
        self.run = run
        self.future: Future[Any] = Future()

    def do(self) -> None:
        try:
            result = self.run()
        except BaseException as error:
            self.future.set_exception(error)
        else:
            self.future.set_result(result)


class FairPool:
    """Up to `threads` threads, of which one owner holds at most `share`, or `alone` if it is."""

    def __init__(
        self,
        name: str,
        threads: int,
        share: int,
        most_waiting: int,
        *,
        rests: Rests = "never",
        alone: int = 0,
        used: Callable[[str, float], object] = lambda _owner, _seconds: None,
    ) -> None:
        self._name = name
        self._used = used
        """Is told what was computed for an owner."""
        self._rests = "" if rests == "never" else rests
        self._most_threads = threads
        self._share = share
        self._alone = max(alone, share)
        self._came: dict[str, float] = {}
        """When each owner last brought work, if that matters."""
        self._most_waiting = most_waiting
        lock = threading.Lock()
        self._changed = threading.Condition(lock)
        """For those who wait for the end of something."""
        self._ready = threading.Condition(lock)
        """For threads that wait for work: one is woken for each."""
        self._waiting: dict[str, deque[_Work]] = {}
        """Owners with waiting work, the next one first."""
        self._running: Counter[str] = Counter()
        self._threads: list[threading.Thread] = []
        self._free = self._queued = self._resting = 0
        self._closed = False

    def submit(self, owner: str, run: Callable[[], T]) -> Future[T]:
        """Run a function for an owner; refused if too much of that owner's work is waiting."""
        work = _Work(run)
        with self._changed:
            if self._closed:
                raise StoreError("the store is closed")
            queue = self._waiting.get(owner)
            if queue is not None and len(queue) >= self._most_waiting:
                raise TooManyRequests(
                    f"this token has {len(queue)} reads waiting for their turn, which is the limit"
                )
            self._waiting.setdefault(owner, deque()).append(work)
            self._queued += 1
            if self._alone > self._share:
                self._came[owner] = time.monotonic()
            if self._free < self._queued and len(self._threads) < self._most_threads:
                self._start()
            self._ready.notify()
        return work.future

    def settle(self, timeout_s: float | None = None) -> bool:
        """Wait until nothing waits or runs; False on timeout."""
        with self._changed:
            return self._changed.wait_for(
                lambda: not self._waiting and self._running.total() == self._resting,
                timeout=timeout_s,
            )

    def close(self) -> None:
        """Finish what is running, and refuse what still waits."""
        with self._changed:
            self._closed = True
            left = [work for queue in self._waiting.values() for work in queue]
            self._waiting.clear()
            self._queued = 0
            self._changed.notify_all()
            self._ready.notify_all()
        for work in left:
            if work.future.set_running_or_notify_cancel():
                work.future.set_exception(StoreError("the store is closed"))
        for thread in self._threads:
            if thread is not threading.current_thread():
                thread.join()

    def _start(self) -> None:
        name = f"longhouse-{self._name}-{len(self._threads)}"
        thread = threading.Thread(target=self._serve, name=name, daemon=True)
        thread.start()
        self._threads.append(thread)

    def _serve(self) -> None:
        while taken := self._take():
            owner, work = taken
            began = time.thread_time()
            try:
                if work.future.set_running_or_notify_cancel():
                    work.do()
                computed_s = time.thread_time() - began
                self._used(owner, computed_s)
                if self._rests and (self._rests == "always" or owner in self._waiting):
                    self._rest(computed_s)
            finally:
                with self._changed:
                    self._running[owner] -= 1
                    if not self._running[owner]:
                        del self._running[owner]
                    self._changed.notify_all()

    def _rest(self, computed_s: float) -> None:
        """Keep the owner's place, without computing; whoever waits for the result has it."""
        with self._changed:
            self._resting += 1
            self._changed.notify_all()
            self._changed.wait_for(lambda: self._closed, min(REST * computed_s, MOST_REST_S))
            self._resting -= 1

    def _take(self) -> tuple[str, _Work] | None:
        """The next work of the owner whose turn it is; None once the pool is closed."""
        with self._changed:
            self._free += 1
            try:
                while True:
                    share = self._share_now()
                    for owner in self._waiting:
                        if self._running[owner] < share:
                            return owner, self._pop(owner)
                    if self._closed:
                        return None
                    self._ready.wait()
            finally:
                self._free -= 1

    def _share_now(self) -> int:
        """How many threads one owner may hold."""
        if self._alone == self._share:
            return self._share
        if len(self._came) > 1:
            since = time.monotonic() - LATELY_S
            self._came = {owner: at for owner, at in self._came.items() if at >= since}
        return self._alone if len(self._came) <= 1 else self._share

    def _pop(self, owner: str) -> _Work:
        """Take one work of an owner, who then goes to the end of the line."""
        queue = self._waiting.pop(owner)
        work = queue.popleft()
        if queue:
            self._waiting[owner] = queue
        self._queued -= 1
        self._running[owner] += 1
        return work
