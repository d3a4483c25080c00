"""What the room's handlers need to know about the house."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from longhouse.config import Settings
    from longhouse.crew.items import WorkItems
    from longhouse.facts import HouseFacts

__all__ = ["CrewFacts"]


class CrewFacts(NamedTuple):
    """The checkout that scopes are relative to, when silence is staleness, and the work items."""

    project_root: str
    stale_minutes: int
    items: WorkItems

    @classmethod
    def from_house(cls, house: HouseFacts) -> CrewFacts:
        settings = house.settings
        return cls(str(settings.project_root), settings.agent_stale_minutes, _items(settings))


def _items(settings: Settings) -> WorkItems:
    if settings.items == "beads":
        from longhouse.crew.beads import BeadsItems

        exported = settings.project_root / ".beads" / "issues.jsonl"
        return BeadsItems(settings.dir / "beads.json", exported)
    from longhouse.crew.tasks import TaskItems

    return TaskItems()
