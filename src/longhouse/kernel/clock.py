"""Injected time and randomness: nothing below a surface reads the system clock directly.

`SystemClock` is the clock of a store that has none of its own. It counts the time that passed since
the machine started and lets the wall clock correct that only slowly, so a wall clock that is wrong
for a moment ends no lease and prolongs none.
"""

from __future__ import annotations

import os
import threading
import time
from contextlib import suppress
from functools import cache, lru_cache
from pathlib import Path
from typing import Final, NamedTuple, Protocol

__all__ = ["Clock", "Ids", "Machine", "RandomIds", "Reading", "SystemClock", "machine", "rfc3339"]

_S = 1_000_000_000
FOREIGN_NS: Final = 3600 * _S
"""Without a boot id, a kept reading this far from the wall clock belongs to an earlier start."""
FAR_NS: Final = 24 * 3600 * _S
"""A wall clock further away than this is not approached; it is believed once it stays there."""
BELIEVED_NS: Final = 600 * _S
"""How long it must stay there."""


class Clock(Protocol):
    def now_ms(self) -> int: ...


class Ids(Protocol):
    def token(self, nbytes: int = 16) -> str: ...


class Machine:
    """What the operating system says about time."""

    def wall_ns(self) -> int:
        return time.time_ns()

    def up_ns(self) -> int:
        """Time since the machine started; it goes on while the machine is suspended."""
        return time.clock_gettime_ns(getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC))

    def boot(self) -> bytes:
        """Sixteen bytes that every start of the machine has anew; zeros if it does not say."""
        return _boot()


@cache
def _boot() -> bytes:
    with suppress(OSError, ValueError):
        text = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii")
        return bytes.fromhex(text.strip().replace("-", "")).ljust(16, b"\0")[:16]
    return bytes(16)


machine = Machine()


class Reading(NamedTuple):
    """What a clock said: `now_ns`, when the machine had been up for `up_ns` since its `boot`.

    `far_ns` is the uptime since which the wall clock has been far away, or 0. `anew` is true until
    someone has looked through what earlier readings left behind (see `SystemClock.looked`).
    """

    boot: bytes
    up_ns: int
    now_ns: int
    far_ns: int = 0
    anew: bool = True

    def next(self, wall_ns: int, up_ns: int) -> Reading:
        """The next reading: what has passed, at most half as much again, and at least half of it.

        So a lease never lasts less than two thirds or more than twice its length, a clock that was
        a second off for a second is off by half a second, and every correction ends some day.
        """
        passed = up_ns - self.up_ns
        now_ns = self.now_ns + passed
        ahead = wall_ns - now_ns
        far_ns = 0
        if abs(ahead) > FAR_NS:
            far_ns = self.far_ns or up_ns
            if up_ns - far_ns >= BELIEVED_NS:
                return Reading(self.boot, up_ns, wall_ns)
        most = passed // 2
        return Reading(self.boot, up_ns, now_ns + max(-most, min(most, ahead)), far_ns, self.anew)


class Keeper(Protocol):
    """Where the processes that share a store leave what the clock said last."""

    def reading(self) -> Reading | None: ...

    def keep(self, reading: Reading, /) -> None: ...


class SystemClock:
    """Milliseconds since 1970 that never stand still, and go back only as `Reading` says.

    Processes that share a store share a clock: each continues from the reading that the others
    have left.
    """

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._last = self._first()

    def now_ms(self) -> int:
        with self._mutex:
            wall_ns, up_ns = machine.wall_ns(), machine.up_ns()
            if up_ns < self._last.up_ns:  # it cannot be; whoever did this has to be believed
                self._last = self._first()
            else:
                self._last = self._last.next(wall_ns, up_ns)
            return self._last.now_ns // 1_000_000

    def tick(self, keeper: Keeper) -> int:
        """The time now, continued from the reading that another process kept, which it replaces."""
        kept = keeper.reading()
        with self._mutex:
            wall_ns, up_ns = machine.wall_ns(), machine.up_ns()
            last = self._last
            if kept is not None and kept != last and _is_ours(kept):
                last = kept
            last = last.next(wall_ns, up_ns) if up_ns >= last.up_ns else self._first()
            self._last = last
        keeper.keep(last)
        return last.now_ns // 1_000_000

    def resume(self, kept: Reading | None) -> None:
        """Continue from the reading that another process of this machine kept."""
        with self._mutex:
            if kept is not None and _is_ours(kept):
                self._last = kept

    def looked(self) -> None:
        """Note that nothing that was stored under an earlier clock is still ahead of this one."""
        with self._mutex:
            self._last = self._last._replace(anew=False)

    @property
    def last(self) -> Reading:
        return self._last

    def _first(self) -> Reading:
        return Reading(machine.boot(), machine.up_ns(), machine.wall_ns())


def _is_ours(kept: Reading) -> bool:
    """Whether a reading is of this start of this machine."""
    up_ns = machine.up_ns()
    if kept.boot != machine.boot() or kept.up_ns > up_ns:
        return False
    strays = abs(machine.wall_ns() - kept.now_ns - (up_ns - kept.up_ns))
    return any(kept.boot) or strays <= FOREIGN_NS


class RandomIds:
    """Unguessable hexadecimal tokens."""

    def token(self, nbytes: int = 16) -> str:
        return os.urandom(nbytes).hex()


def rfc3339(ts_ms: int) -> str:
    """`2026-11-15T09:28:12.345Z`, always in UTC and with milliseconds."""
    seconds, ms = divmod(ts_ms, 1000)
    return f"{_to_the_second(seconds)}.{ms:03d}Z"


@lru_cache(maxsize=64)
def _to_the_second(seconds: int) -> str:
    """The timestamp without milliseconds; cached because many answers share a second."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
