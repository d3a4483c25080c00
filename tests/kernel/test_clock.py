"""The clock of a process: it follows the wall clock, but never backwards."""

from __future__ import annotations

import time

import pytest

from longhouse.kernel.clock import SystemClock

MS = 1_000_000


def test_time_goes_on_when_the_wall_clock_is_set_back(monkeypatch: pytest.MonkeyPatch) -> None:
    wall, mono = 1_000_000 * MS, 70 * MS
    monkeypatch.setattr(time, "time_ns", lambda: wall)
    monkeypatch.setattr(time, "monotonic_ns", lambda: mono)
    clock = SystemClock()
    assert clock.now_ms() == 1_000_000
    wall, mono = 400_000 * MS, mono + 5 * MS
    assert clock.now_ms() == 1_000_005
    wall, mono = 2_000_000 * MS, mono + 5 * MS
    assert clock.now_ms() == 2_000_000
