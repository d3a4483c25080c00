"""Wake-ups: after a commit, those who wait for what it concerns read the log again.

A wake-up carries no data and may be late or repeated; readers rely on the log alone, so nothing can
be lost. A wait says what it is about (`Concern`), so a commit about something else leaves it alone.
What leaves no row in the log is announced with `Tx.knock`. Commits of this process are published
directly. One thread, started by the first wait, notices those of other processes, without knowing
what they concern: it sleeps on the engine's signal, and also checks once a second in case a signal
was lost.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from typing import NamedTuple

from longhouse.store.engine import CommitSignal, Row

__all__ = ["ANYTHING", "Concern", "Wakeups"]

Listener = Callable[[str, int, Sequence[Row] | None], None]
"""`(workspace, seq, rows)`: the rows of the log that a commit added, None if they are not known."""
KnockListener = Callable[[str | None, Collection[str] | None], None]
"""`(workspace, keys)`: None for those of another process, which are not known."""

LOOK_S = 1.0
KNOCK_S = 5.0
"""After how long those who answer to knocks look again, in case a process died before it knocked:
no number in the store tells of that."""


class Concern(NamedTuple):
    """What a wait is about: rows of these streams and subjects (None: all), but not these kinds.

    `knocks` are the keys that it answers to although nothing is logged.
    """

    streams: Collection[str] | None = None
    subjects: Collection[str] | None = None
    besides: Collection[str] = ()
    knocks: Collection[str] = ()

    def takes(self, rows: Sequence[Row] | None) -> bool:
        """Whether one of these rows concerns it; rows that are not known do."""
        return rows is None or any(
            (self.streams is None or row["stream"] in self.streams)
            and (self.subjects is None or row["subject"] in self.subjects)
            and row["kind"] not in self.besides
            for row in rows
        )

    def answers(self, keys: Collection[str] | None) -> bool:
        """Whether it answers to a knock with one of these keys, or with keys that are not known."""
        return any(key in self.knocks for key in keys) if keys is not None else bool(self.knocks)


ANYTHING = Concern()


class _Sleeper:
    """One thread that waits."""

    __slots__ = ("after", "concern", "woken", "workspace")

    def __init__(self, workspace: str, after: int, concern: Concern) -> None:
        self.workspace = workspace
        self.after = after
        self.concern = concern
        self.woken = False


class Wakeups:
    """Notifies listeners and waiting threads of each workspace's new seq."""

    def __init__(
        self, signal: Callable[[], CommitSignal], seqs: Callable[[], dict[str, int]]
    ) -> None:
        self._signal = signal
        self._look = seqs
        self._moved = threading.Condition()
        self._sleepers: list[_Sleeper] = []
        self._seqs: dict[str, int] = {}
        self._listeners: tuple[Listener, ...] = ()
        self._knock_listeners: tuple[KnockListener, ...] = ()
        self._ear: threading.Thread | None = None
        self._stop = (-1, -1)
        self._closed = False
        self.knocks = 0
        """How often anyone has knocked; a wait that has seen fewer reads again."""

    def publish(self, workspace: str, seq: int, rows: Sequence[Row] | None = None) -> None:
        """Announce that a commit brought the workspace to `seq`; thread-safe and repeatable."""
        with self._moved:
            if seq <= self._seqs.get(workspace, 0):
                return
            self._seqs[workspace] = seq
            woken = False
            for one in self._sleepers:
                if one.workspace == workspace and seq > one.after and one.concern.takes(rows):
                    one.woken = woken = True
            if woken:
                self._moved.notify_all()
            listeners = self._listeners
        for listener in listeners:
            with suppress(Exception):  # one listener's error must not affect the others
                listener(workspace, seq, rows)

    def knock(self, workspace: str | None, keys: Collection[str] | None) -> None:
        """Announce a commit that left no row; None stands for what another process did."""
        with self._moved:
            self.knocks += 1
            woken = False
            for one in self._sleepers:
                if workspace in (None, one.workspace) and one.concern.answers(keys):
                    one.woken = woken = True
            if woken:
                self._moved.notify_all()
            listeners = self._knock_listeners
        for listener in listeners:
            with suppress(Exception):
                listener(workspace, keys)

    def wait(
        self,
        workspace: str,
        after: int,
        timeout_s: float,
        concern: Concern = ANYTHING,
        knocks: int | None = None,
    ) -> bool:
        """Block until something of its concern is past `after`; False on timeout.

        What happened before it began is not known any more, so it counts. `knocks` is how many the
        caller has seen.
        """
        with self._moved:
            self._hear_others()
            if self._closed or self._seqs.get(workspace, 0) > after:
                return True
            if concern.knocks and knocks is not None and self.knocks != knocks:
                return True
            if timeout_s <= 0:
                return False
            me = _Sleeper(workspace, after, concern)
            self._sleepers.append(me)
            try:
                return self._moved.wait_for(lambda: self._closed or me.woken, timeout=timeout_s)
            finally:
                self._sleepers.remove(me)

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Call `listener(workspace, seq, rows)` after each commit; returns a function to stop it.

        The listener runs in the committing thread, so it must be quick.
        """
        with self._moved:
            self._listeners = (*self._listeners, listener)
            self._hear_others()

        def end() -> None:
            with self._moved:
                self._listeners = tuple(one for one in self._listeners if one is not listener)

        return end

    def listen_for_knocks(self, listener: KnockListener) -> Callable[[], None]:
        """The same for knocks; those of other processes are heard only while anyone waits."""
        with self._moved:
            self._knock_listeners = (*self._knock_listeners, listener)

        def end() -> None:
            with self._moved:
                kept = (one for one in self._knock_listeners if one is not listener)
                self._knock_listeners = tuple(kept)

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
        knocks_at = 0.0
        while not self._closed:
            try:
                if signal is None:
                    signal = self._signal()
                    heard = signal.heard()
                    self._catch_up()
                    self.knock(None, None)
                    knocks_at = time.monotonic() + KNOCK_S
                signaled = self._sleep(signal.fileno())
                if signaled:
                    signal.drain()
                now = signal.heard()
                if now.commits != heard.commits or not signaled:
                    self._catch_up()
                if now.knocks != heard.knocks or time.monotonic() >= knocks_at:
                    knocks_at = time.monotonic() + KNOCK_S
                    self.knock(None, None)
                heard = now
            except Exception:  # the store is unreachable or closing: this thread must keep trying
                if signal is not None:
                    signal.close()
                    signal = None
                self._sleep()
        if signal is not None:
            signal.close()

    def _catch_up(self) -> None:
        """Publish where every workspace is now; what moved it there is not known."""
        for workspace, seq in self._look().items():
            self.publish(workspace, seq)

    def _sleep(self, *fds: int) -> bool:
        """Sleep until the signal, the stop, or the next check; True if it was the signal."""
        poll = select.poll()
        for fd in (self._stop[0], *fds):
            poll.register(fd, select.POLLIN)
        return any(fd in fds for fd, _ in poll.poll(LOOK_S * 1000))
