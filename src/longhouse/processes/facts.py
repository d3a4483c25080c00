"""What the room's handlers need to know about the house."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from longhouse.facts import HouseFacts

__all__ = ["ProcessFacts"]


class ProcessFacts(NamedTuple):
    """`profile` is the house's policy: `safe` or `full-auto`.

    Output of ended tasks is kept for `keep_days`, and up to `quota_mb` for each workspace; 0 is
    for ever, and without a limit.
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
