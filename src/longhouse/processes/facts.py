"""The facts about the house that this room's handlers need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from longhouse.facts import HouseFacts

__all__ = ["ProcessFacts"]


class ProcessFacts(NamedTuple):
    """Settings of the room; `profile` is the policy profile: `safe` or `full-auto`.

    The output of ended tasks is kept for `keep_days` (0: forever), up to `quota_mb` per workspace
    (0: no limit).
    """

    store: Path
    profile: str
    max_running: int
    keep_days: int
    quota_mb: int

    @classmethod
    def from_house(cls, house: HouseFacts) -> ProcessFacts:
        settings = house.settings
        return cls(
            settings.dir,
            settings.policy,
            settings.processes_max_running,
            settings.processes_keep_days,
            settings.processes_quota_mb,
        )
