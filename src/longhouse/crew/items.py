"""Work items as the crew sees them: one small interface, so that any tracker can be the source.

The crew links to items and shows who works on them. It changes one thing: an accepted hand-off
moves the assignee. `CrewFacts` chooses the source from the settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from longhouse.crew.errors import MissingBeadId
from longhouse.crew.facts import CrewFacts
from longhouse.crew.types.sessions import Epic
from longhouse.kernel.errors import UnknownId
from longhouse.kernel.values import Value
from longhouse.store.tx import Tx

__all__ = [
    "TrackerReading",
    "WorkItem",
    "WorkItems",
    "linked_item",
    "source",
]


class WorkItem(Value, frozen=True, kw_only=True):
    """One item: what it is, how far, and who has it."""

    id: str
    title: str
    status: str
    assignee: str | None = None
    epic: Epic | None = None
    updated_at_ms: int
    done: bool
    in_progress: bool
    blocked: bool = False


class TrackerReading(NamedTuple):
    """What a tracker that is not ours tells at one time, and whether all of it could be read."""

    stamp: tuple[Any, ...]
    digest: str
    issues: Sequence[Any]
    whole: bool


class WorkItems(Protocol):
    """Where work items come from."""

    name: str

    def knows(self, item_id: str) -> bool:
        """Whether an id of this shape could only be one of these items."""

    def get(self, tx: Tx, item_id: str) -> WorkItem | None: ...

    def assign(self, tx: Tx, item_id: str, assignee: str) -> bool:
        """Give an item to somebody; False where this program may not change it."""

    def in_progress_of(self, tx: Tx, assignee: str) -> Sequence[WorkItem]: ...

    def page(self, tx: Tx, *, after: str | None, limit: int, open_only: bool) -> Sequence[WorkItem]:
        """Items in a stable order, from behind the item of that id on."""

    def moved(self) -> bool:
        """Whether there may be changes that were not told; a glance that costs next to nothing."""

    def look(self) -> TrackerReading | None:
        """The items of an outside tracker; None where every change is already in the log."""

    def told(self, look: TrackerReading) -> None:
        """Everything of that look is in the log."""


def source(tx: Tx) -> WorkItems:
    items: WorkItems = tx.facts.of(CrewFacts).items
    return items


def linked_item(tx: Tx, bead_id: str) -> str:
    """The id of a work item to link to: any word, unless its tracker says it has no such item."""
    bead_id = bead_id.strip()
    if not bead_id:
        raise MissingBeadId("bead_id: say which work item this is about")
    if any(char.isspace() or not char.isprintable() for char in bead_id):
        raise MissingBeadId(f"bead_id: {bead_id[:80]!r} is not the id of a work item")
    items = source(tx)
    if items.knows(bead_id) and items.get(tx, bead_id) is None:
        raise UnknownId(
            f"bead_id: there is no work item {bead_id}", recovery="list them with agents.sessions"
        )
    return bead_id
