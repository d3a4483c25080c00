"""Group commit: waiting writes run one after the other in one transaction, then answer together.

Whoever finds no leader leads: it runs its own write and all that wait, each in a savepoint, commits
once, and only then lets anyone answer, so acknowledged means on disk. A lone writer runs in its own
thread without any hand-over. Callers that must not block (an event loop) are led by a thread kept
for them. A write that fails rolls back to its savepoint and harms no other.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

__all__ = ["GroupCommit", "Work"]

T = TypeVar("T")

MAX_BATCH = 256


class Work(Generic[T]):
    """One waiting write and, later, what came of it."""

    __slots__ = ("_gate", "_leads", "future", "payload", "result", "trouble")

    def __init__(self, payload: T, *, blocking: bool) -> None:
        self.payload = payload
        self.result: Any = None
        self.trouble: BaseException | None = None
        self.future: Future[Any] | None = None
        self._leads = False
        self._gate = threading.Lock() if blocking else None
        if self._gate is None:
            from concurrent.futures import Future  # not paid for by programs that only block

            self.future = Future()
        else:
            self._gate.acquire()

    @property
    def can_lead(self) -> bool:
        return self._gate is not None

    def appoint(self) -> None:
        self._leads = True
        self._gate.release()  # type: ignore[union-attr]

    def wait(self) -> bool:
        """Block until done (False) or appointed leader (True)."""
        self._gate.acquire()  # type: ignore[union-attr]
        return self._leads

    def finish(self) -> None:
        if self._gate is not None:
            self._gate.release()
        elif self.future is not None and self.future.set_running_or_notify_cancel():
            if self.trouble is None:
                self.future.set_result(self.result)
            else:
                self.future.set_exception(self.trouble)

    def outcome(self) -> Any:
        if self.trouble is not None:
            raise self.trouble
        return self.result


class GroupCommit(Generic[T]):
    """One lane of writes; `run_batch` must settle every work it is given, whatever happens."""

    def __init__(self, name: str, run_batch: Callable[[list[Work[T]]], None]) -> None:
        self._name = name
        self._run_batch = run_batch
        self._mutex = threading.Lock()
        self._pending: deque[Work[T]] = deque()
        self._led = False
        self._closed = False
        self._wake: threading.Semaphore | None = None
        self._thread: threading.Thread | None = None

    def run(self, payload: T) -> Any:
        """Write and wait: for threads."""
        work = Work(payload, blocking=True)
        if self._enqueue(work) or work.wait():
            self._lead(work)
        return work.outcome()

    def submit(self, payload: T) -> Future[Any]:
        """Write and answer later: for event loops."""
        work = Work(payload, blocking=False)
        if self._enqueue(work):
            self._wake_thread()
        return work.future  # type: ignore[return-value]

    def close(self) -> None:
        """Let what waits finish, then end the thread."""
        with self._mutex:
            self._closed = True
            thread, wake = self._thread, self._wake
        if thread and wake:
            wake.release()
            thread.join()

    def _enqueue(self, work: Work[T]) -> bool:
        """Queue the work; True when the caller has to see to it that someone leads."""
        with self._mutex:
            self._pending.append(work)
            if self._led:
                return False
            self._led = True
            return True

    def _lead(self, mine: Work[T] | None) -> None:
        """Run batches until nothing waits or another can take over."""
        while True:
            with self._mutex:
                count = min(len(self._pending), MAX_BATCH)
                batch = [self._pending.popleft() for _ in range(count)]
            self._run_batch(batch)
            for work in batch:
                if work is not mine:
                    work.finish()
            with self._mutex:
                if not self._pending:
                    self._led = False
                    return
                heir = self._pending[0]
            if heir.can_lead:
                heir.appoint()
                return
            if mine is not None:
                self._wake_thread()
                return

    def _wake_thread(self) -> None:
        with self._mutex:
            if self._thread is None:
                self._wake = threading.Semaphore(0)
                self._thread = threading.Thread(
                    target=self._serve, name=f"longhouse-writer-{self._name}", daemon=True
                )
                self._thread.start()
        self._wake.release()  # type: ignore[union-attr]

    def _serve(self) -> None:
        while True:
            self._wake.acquire()  # type: ignore[union-attr]
            with self._mutex:
                waiting, closed = bool(self._pending), self._closed
            if waiting:
                self._lead(None)
            if closed:
                return
