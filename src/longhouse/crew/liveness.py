"""Liveness: derived from the last sign of life on every read, never stored."""

from __future__ import annotations

from typing import Literal

__all__ = ["Liveness", "liveness"]

Liveness = Literal["active", "stale", "evicted"]


def liveness(last_seen_ms: int, now_ms: int, stale_minutes: int) -> Liveness:
    """Active below the stale threshold, evicted from twice that on, stale in between."""
    silent_ms = now_ms - last_seen_ms
    stale_ms = stale_minutes * 60_000
    if silent_ms < stale_ms:
        return "active"
    return "stale" if silent_ms < 2 * stale_ms else "evicted"
