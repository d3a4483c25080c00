"""How much work a read may do where it runs, counted in units rather than time.

An event loop serves everybody, so what runs in it gets a small allowance; a read that needs more is
abandoned and runs again on a thread, with a larger one. A unit is about a byte that is scanned, and
whatever scans (files, rows, redaction) calls `spend`. Without an allowance nothing is limited.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["Allowance", "Overdrawn", "allowance_here", "spend", "within"]


WORK_S = 0.002
REST_S = 0.02


class Overdrawn(BaseException):
    """The allowance is used up. Not an Exception, so that no handler mistakes it for its own."""


class Allowance:
    """Units that are left, and the time by which the work must be done.

    Work that is `paced` rests as long as it worked: only one thread at a time can run Python, and
    the event loop should not have to wrest it from one that never stops.
    """

    __slots__ = ("_paced", "_rested", "_units", "_until", "left")

    def __init__(self, units: int, seconds: float | None = None, *, paced: bool = False) -> None:
        now = time.monotonic()
        self._units = self.left = units
        self._until = None if seconds is None else now + seconds
        self._paced = paced
        self._rested = now

    def spend(self, units: int) -> None:
        self.left -= units
        if self.is_spent():
            raise Overdrawn
        if self._paced and (worked := time.monotonic() - self._rested) > WORK_S:
            time.sleep(min(worked, REST_S))
            self._rested = time.monotonic()

    @property
    def spent(self) -> int:
        return self._units - self.left

    def is_spent(self) -> bool:
        return self.left < 0 or (self._until is not None and time.monotonic() > self._until)


class _Here(threading.local):
    allowance: Allowance | None = None


_here = _Here()


def allowance_here() -> Allowance | None:
    """The allowance of the work that this thread does now."""
    return _here.allowance


def spend(units: int) -> None:
    """Count work that is about to be done; raises Overdrawn if it is too much for this place."""
    if _here.allowance is not None:
        _here.allowance.spend(units)


@contextmanager
def within(allowance: Allowance) -> Iterator[None]:
    """Limit what this thread does inside."""
    before, _here.allowance = _here.allowance, allowance
    try:
        yield
    finally:
        _here.allowance = before
