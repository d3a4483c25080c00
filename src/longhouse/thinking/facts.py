"""The facts about the house that the room's handlers need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from longhouse.facts import HouseFacts

__all__ = ["ThinkingFacts"]


class ThinkingFacts(NamedTuple):
    """The project that packs are written to, the store, and the transcript folders to read."""

    project_root: Path
    store: Path
    transcripts: tuple[Path, ...]

    @classmethod
    def from_house(cls, house: HouseFacts) -> ThinkingFacts:
        settings = house.settings
        return cls(settings.project_root, settings.dir, settings.transcripts)
