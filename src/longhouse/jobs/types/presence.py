"""How much work there is and who could do it: `status` shows both, so little is imported here."""

from __future__ import annotations

from typing import Literal

from longhouse.kernel.values import Value

__all__ = ["Counts", "Runners"]


class Counts(Value, frozen=True, kw_only=True):
    queued: int
    running: int


class Runners(Value, frozen=True, kw_only=True):
    """How many runners there are; the one word says live if any is, else idle, else offline."""

    status: Literal["offline", "idle", "live"]
    live_count: int
    idle_count: int
    offline_count: int
