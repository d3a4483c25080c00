"""Feels whether the host answers; one that has not for the length of its lease is replaced.

A stopped or hanging host still holds its lock, its tasks and its socket, so nobody else could help
them. It is killed, which is the only fence that a process on the same machine cannot get around;
the next host takes its tasks back (`host_lost`).
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path

from longhouse.runner.host.client import running_host
from longhouse.runner.host.holder import holder_of, kill_holder

__all__ = ["LEASE_S", "HostPulse"]

LEASE_S = 30.0
"""How long a host may be silent."""
PROBE_S = 10.0
LEAST_MISSES = 3
"""So many probes in a row must fail: our own process may have been the one that stood still."""


class HostPulse:
    """The pulse of one folder's host."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self._folder = folder
        self._clock = clock
        self._heard_at = clock()
        self._misses = 0

    @property
    def is_felt(self) -> bool:
        return self._misses == 0

    def feel(self) -> int | None:
        """Ask the host once; returns its pid if it was replaced. No host at all is no silence."""
        if self._answers():
            self._misses, self._heard_at = 0, self._clock()
        else:
            self._misses += 1
        if self._misses < LEAST_MISSES or self._clock() - self._heard_at < LEASE_S:
            return None
        self._misses, self._heard_at = 0, self._clock()
        return kill_holder(self._folder)

    def _answers(self) -> bool:
        """False also for a host that keeps others from starting but opens no door itself."""
        try:
            said = running_host(self._folder, PROBE_S)
        except (OSError, ValueError):
            return False
        return said is not None or holder_of(self._folder) is None
