"""Wake-ups: after a commit, those who wait for a workspace read the log again.

A wake-up carries no data and may be late or repeated; readers rely on the log alone, so nothing can
be lost. Commits of this process are published directly. One thread, started by the first wait,
notices those of other processes: it sleeps on the engine's signal, and also checks once a second in
case a signal was lost.
"""

from __future__ import annotations

import os
import select
import threading
from collections.abc import Callable
from contextlib import suppress

from longhouse.store.engine import CommitSignal

__all__ = ["Wakeups"]

Listener = Callable[[str, int], None]

LOOK_S = 1.0


class Wakeups:
    """Notifies listeners and waiting threads of each workspace's new seq."""

    def __init__(
        self, signal: Callable[[], CommitSignal], seqs: Callable[[], dict[str, int]]
    ) -> None:
        self._signal = signal
        self._look = seqs
        self._moved = threading.Condition()
        self._waiting = 0
        self._seqs: dict[str, int] = {}
        self._listeners: tuple[Listener, ...] = ()
        self._ear: threading.Thread | None = None
        self._stop = (-1, -1)
        self._closed = False

    def publish(self, workspace: str, seq: int) -> None:
        """Announce that a commit brought the workspace to `seq`; thread-safe and repeatable."""
        with self._moved:
            if seq <= self._seqs.get(workspace, 0):
                return
            self._seqs[workspace] = seq
            if self._waiting:
                self._moved.notify_all()
            listeners = self._listeners
        for listener in listeners:
            with suppress(Exception):  # one listener's error must not affect the others
                listener(workspace, seq)

    def wait(self, workspace: str, after: int, timeout_s: float) -> bool:
        """Block until the workspace is past `after`; False on timeout."""
        with self._moved:
            self._hear_others()
            self._waiting += 1
            try:
                return self._moved.wait_for(
                    lambda: self._closed or self._seqs.get(workspace, 0) > after, timeout=timeout_s
                )
            finally:
                self._waiting -= 1

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(workspace, seq)` after each commit; returns a function that stops it.

        The listener runs in the committing thread, so it must be quick.
        """
        with self._moved:
            self._listeners = (*self._listeners, listener)
            self._hear_others()

        def end() -> None:
            with self._moved:
                self._listeners = tuple(one for one in self._listeners if one is not listener)

        return end

    def close(self) -> None:
        with self._moved:
            self._closed = True
            self._moved.notify_all()
            ear, self._ear = self._ear, None
        if ear is not None:
            os.write(self._stop[1], b".")
            ear.join()
            for end in self._stop:
                os.close(end)

    def _hear_others(self) -> None:
        if self._ear is None and not self._closed:
            self._stop = os.pipe()
            self._ear = threading.Thread(target=self._hear, name="longhouse-wakeups", daemon=True)
            self._ear.start()

    def _hear(self) -> None:
        signal: CommitSignal | None = None
        while not self._closed:
            try:
                signal = signal or self._signal()
                for workspace, seq in self._look().items():
                    self.publish(workspace, seq)
                if self._sleep(signal.fileno()):
                    signal.drain()
            except Exception:  # the store is unreachable or closing: this thread must keep trying
                if signal is not None:
                    signal.close()
                    signal = None
                self._sleep()
        if signal is not None:
            signal.close()

    def _sleep(self, *fds: int) -> bool:
        """Sleep until the signal, the stop, or the next check; True if it was the signal."""
        poll = select.poll()
        for fd in (self._stop[0], *fds):
            poll.register(fd, select.POLLIN)
        return any(fd in fds for fd, _ in poll.poll(LOOK_S * 1000))
