"""Injected time and randomness: nothing below a surface reads the system clock directly."""

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
    """Wall-clock milliseconds that never go backwards or stand still within one process.

    Leases compare times this process wrote with times it reads later: if the clock were set back,
    an expired lease would become valid again; if it froze, a lease would never expire.
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
    """The timestamp without milliseconds; cached because many answers share a second."""
    return time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
