"""The gate of a SQLite file: lets its writers take turns, and counts their commits.

With SQLite's own busy handler a waiting process can starve for seconds. Here a writer first locks
the place of the next in line, and unlocks it only once it is through the gate, so a busy process
cannot overtake a waiting one twice. These are kernel locks, released when their process ends. The
gate's file counts all commits and knocks; other processes watch it, and see by the numbers whether
anyone but themselves has committed. The other file holds what the clock said at the last write, for
the next writer to continue from; it is worth nothing after a restart of the machine, so it need not
reach the disk.
"""

from __future__ import annotations

import os
import struct
import time
from contextlib import suppress
from fcntl import LOCK_EX, LOCK_NB, LOCK_UN, flock
from pathlib import Path
from threading import Lock
from typing import Generic, TypeVar

from longhouse.kernel.clock import Reading
from longhouse.kernel.errors import StoreBusy
from longhouse.store.engine import CommitSignal, Lost, SignalCounts

__all__ = ["Gate"]

T = TypeVar("T")

_PATIENCE_S = 10.0
_NAP_S = 0.000_05
"""Who is next in line looks this often: until it notices, nobody writes."""
_FAR_NAP_S = 0.001
"""The others have as long as the one before them writes."""
_TRY = LOCK_EX | LOCK_NB
_READING = struct.Struct("<16sqqq?")
_COUNTS = struct.Struct("<QQ")


class Gate(Generic[T]):
    """One per process and file; the caller makes the threads of one process take turns.

    Who enters gets what is `held` here.
    """

    held: T

    def __init__(self, path: Path) -> None:
        self._path = path
        flags = os.O_RDWR | os.O_CREAT | os.O_CLOEXEC
        self._gate = os.open(path, flags, 0o600)
        self._next = os.open(path.with_suffix(".next"), flags, 0o600)
        self._ours = self._our_knocks = 0
        self._counting = Lock()  # nobody may see our count in the file before we know it is ours

    def __enter__(self) -> T:
        try:
            flock(self._next, _TRY)
        except BlockingIOError:
            _wait(self._next, _FAR_NAP_S)
        try:
            flock(self._gate, _TRY)
        except BlockingIOError:
            try:
                _wait(self._gate, _NAP_S)
            except BaseException:
                flock(self._next, LOCK_UN)
                raise
        flock(self._next, LOCK_UN)
        return getattr(self, "held", None)  # type: ignore[return-value]

    def __exit__(self, *_: object) -> None:
        flock(self._gate, LOCK_UN)

    def count_up(self, *, knock: bool = False) -> None:
        """Signal a commit to other processes; call it inside the gate.

        A disk that is too full for sixteen bytes has room again after the next checkpoint.
        """
        kept = os.pread(self._gate, _COUNTS.size, 0)
        commits, knocks = _COUNTS.unpack(kept) if len(kept) == _COUNTS.size else (0, 0)
        with suppress(OSError), self._counting:
            os.pwrite(self._gate, _COUNTS.pack(commits + 1, knocks + knock), 0)
            self._ours += 1
            self._our_knocks += knock

    def others(self) -> SignalCounts:
        """The commits and knocks of other processes, from an arbitrary start."""
        with self._counting:
            kept = os.pread(self._gate, _COUNTS.size, 0)
            commits, knocks = _COUNTS.unpack(kept) if len(kept) == _COUNTS.size else (0, 0)
            return SignalCounts(commits - self._ours, knocks - self._our_knocks)

    def reading(self) -> Reading | None:
        """What the clock said at the last write; call it inside the gate."""
        kept = os.pread(self._next, _READING.size, 0)
        return Reading(*_READING.unpack(kept)) if len(kept) == _READING.size else None

    def keep(self, reading: Reading) -> None:
        """Keep what the clock says now; call it inside the gate.

        On a full disk the last reading stays; the write itself then says that the disk is full.
        """
        with suppress(OSError):
            os.pwrite(self._next, _READING.pack(*reading), 0)

    def signal(self) -> CommitSignal:
        """A signal that becomes readable when any process counts up."""
        from longhouse.store.watching import watch

        return watch(self._path, self.others)

    def close(self) -> None:
        os.close(self._gate)
        os.close(self._next)


def _wait(fd: int, longest_s: float) -> None:
    """Wait for a lock; if its holder hangs, give up with StoreBusy after `_PATIENCE_S`."""
    deadline, nap_s = time.monotonic() + _PATIENCE_S, _NAP_S
    while True:
        time.sleep(nap_s)
        with suppress(BlockingIOError):
            flock(fd, _TRY)
            return
        if time.monotonic() >= deadline:
            raise Lost(StoreBusy("another process has held the store for too long")) from None
        nap_s = min(nap_s * 1.2, longest_s)
