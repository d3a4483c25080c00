"""What the room's handlers need to know about the house."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from longhouse.facts import HouseFacts

__all__ = ["ProcessFacts"]


class ProcessFacts(NamedTuple):
    """`profile` is the house's policy: `safe` or `full-auto`."""

    store: Path
    profile: str
    max_running: int

    @classmethod
    def from_house(cls, house: HouseFacts) -> ProcessFacts:
        settings = house.settings
        return cls(settings.dir, settings.policy, settings.processes_max_running)
