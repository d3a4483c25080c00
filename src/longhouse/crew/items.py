"""Work items as the crew sees them: one small interface, so that any tracker can be the source.

The crew links to items and shows who works on them. It changes only the assignee, when a handoff
is accepted. `CrewFacts` chooses the source from the settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol

from longhouse.crew.errors import MissingBeadId
from longhouse.crew.facts import CrewFacts
from longhouse.crew.types.sessions import Epic
from longhouse.kernel.errors import UnknownId
from longhouse.kernel.values import Value
from longhouse.memory import standing
from longhouse.store.tx import Tx

__all__ = [
    "TrackerReading",
    "WorkItem",
    "WorkItems",
    "linked_item",
    "source",
]


class WorkItem(Value, frozen=True, kw_only=True):
    """One work item with its status and assignee."""

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
    """One read of an external tracker, and whether all of it was readable."""

    stamp: tuple[Any, ...]
    digest: str
    issues: Sequence[Any]
    whole: bool


class WorkItems(Protocol):
    """A source of work items."""

    name: str

    def knows(self, item_id: str) -> bool:
        """Whether an id of this form can only be one of these items."""

    def get(self, tx: Tx, item_id: str) -> WorkItem | None: ...

    def assign(self, tx: Tx, item_id: str, assignee: str) -> bool:
        """Assign an item; False if this program may not change it."""

    def in_progress_of(self, tx: Tx, assignee: str) -> Sequence[WorkItem]: ...

    def page(self, tx: Tx, *, after: str | None, limit: int, open_only: bool) -> Sequence[WorkItem]:
        """Items in a stable order, starting after the item with that id."""

    def moved(self) -> bool:
        """Whether there may be unrecorded changes; a very cheap check."""

    def look(self) -> TrackerReading | None:
        """Read an external tracker; None if every change is already in the log."""

    def told(self, look: TrackerReading) -> None:
        """Note that everything in that reading is now in the log."""


def source(tx: Tx) -> WorkItems:
    """The work items of this workspace; an external tracker's are those of its own project."""
    items: WorkItems = tx.facts.of(CrewFacts).items
    if items.name == "tasks":
        return items
    from longhouse.crew.tasks import TaskItems
    from longhouse.store.projects import is_home

    if is_home(tx):
        return items

    return TaskItems()


def linked_item(tx: Tx, given: str | None) -> str:
    """The id of a work item to link to: any word, unless its tracker has no such item.

    If none is given it is the caller's: the task in focus, else the one assigned to it.
    """
    bead_id = (_own_item(tx) if given is None else given).strip()
    if not bead_id:
        raise MissingBeadId("bead_id: expected the work item; nothing is in focus or yours")
    if any(char.isspace() or not char.isprintable() for char in bead_id):
        raise MissingBeadId(f"bead_id: {bead_id[:80]!r} is not a valid work item id")
    items = source(tx)
    if items.knows(bead_id) and items.get(tx, bead_id) is None:
        raise UnknownId(
            f"bead_id: there is no work item {bead_id}", recovery="list them with agents.sessions"
        )
    return bead_id


def _own_item(tx: Tx) -> str:
    if focus := standing(tx).focus:
        return focus
    mine = source(tx).in_progress_of(tx, tx.by.who) if tx.by.named and tx.by.who else []
    return mine[0].id if mine else ""
