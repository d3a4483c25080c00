"""Time and randomness, injected: nothing below a surface reads the system clock by itself."""

from __future__ import annotations

import os
import time
from functools import lru_cache
from typing import Protocol

__all__ = ["Clock", "Ids", "RandomIds", "SystemClock", "rfc3339"]


class Clock(Protocol):
    def now_ms(self) -> int: ...


class Ids(Protocol):
    def token(self, nbytes: int = 16) -> str: ...


class SystemClock:
    """Wall-clock milliseconds that never run backwards or stand still within one process.

    Leases compare times that this process wrote with times it reads later: a clock stepped back
    would make an expired lease live again, a frozen one would keep it alive for ever.
    """

    def __init__(self) -> None:
        self._wall = time.time_ns()
        self._mono = time.monotonic_ns()

    def now_ms(self) -> int:
        wall, mono = time.time_ns(), time.monotonic_ns()
        self._wall = max(wall, self._wall + mono - self._mono)
        self._mono = mono
        return self._wall // 1_000_000


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
    """Every answer says when it was made, and many are made in one second."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
