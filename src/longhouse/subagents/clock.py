"""Injected time and ids: nothing else in the library reads a clock or generates an id."""

from __future__ import annotations

import os
import time
from datetime import UTC, datetime
from typing import Protocol

__all__ = ["Clock", "SystemClock", "random_id"]


class Clock(Protocol):
    def now(self) -> datetime:
        """The current time with its time zone, for people and records."""
        ...

    def monotonic(self) -> float:
        """Seconds that never go backwards, for deadlines."""
        ...


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)

    def monotonic(self) -> float:
        return time.monotonic()


def random_id() -> str:
    return os.urandom(16).hex()
