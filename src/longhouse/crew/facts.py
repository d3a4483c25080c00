"""The facts about the house that this room's handlers need."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from longhouse.crew.liveness import Liveness, liveness
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

if TYPE_CHECKING:
    from longhouse.config import Settings
    from longhouse.crew.items import WorkItems
    from longhouse.facts import HouseFacts

__all__ = ["CrewFacts", "alive"]


class CrewFacts(NamedTuple):
    """The checkout that scopes are relative to, the staleness threshold, and the work items.

    `folds_case` is true if that checkout's file system is case-insensitive.
    """

    project_root: str
    stale_minutes: int
    items: WorkItems
    folds_case: bool = False

    @classmethod
    def from_house(cls, house: HouseFacts) -> CrewFacts:
        settings = house.settings
        root = settings.project_root
        return cls(str(root), settings.agent_stale_minutes, _items(settings), _folds_case(root))


def alive(tx: Tx, row: Row) -> Liveness:
    """The current liveness of an identity; a retired one is evicted."""
    if row["retired_at_ms"] is not None:
        return "evicted"
    return liveness(row["last_seen_at_ms"], tx.now_ms, tx.facts.of(CrewFacts).stale_minutes)


def _folds_case(root: Path) -> bool:
    """Whether the project's file system is case-insensitive."""
    at = next((n for n, part in enumerate(root.parts) if part.swapcase() != part), None)
    if at is None:
        return False
    try:
        other = Path(*root.parts[:at], *(part.swapcase() for part in root.parts[at:]))
        return other.samefile(root)
    except OSError:
        return False


def _items(settings: Settings) -> WorkItems:
    if settings.items == "beads":
        from longhouse.crew.beads import BeadsItems

        exported = settings.project_root / ".beads" / "issues.jsonl"
        return BeadsItems(settings.dir / "beads.json", exported)
    from longhouse.crew.tasks import TaskItems

    return TaskItems()
