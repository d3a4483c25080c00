"""Helpers for the crew's tests: agents with their tokens, and a small tracker."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from longhouse.crew.facts import CrewFacts
from longhouse.crew.items import TrackerReading, WorkItem
from longhouse.store.tx import Tx
from tests.kit import Lh

MINUTE = 60_000


def join(lh: Lh, name: str, role: str = "agent", **more: Any) -> dict[str, Any]:
    """Register an agent; returns the arguments it passes with every call."""
    made = lh("agents.register", name=name, role=role, **more)
    return {"agent": name, "agent_token": made["agent_token"]}


def item(id_: str, **changes: Any) -> WorkItem:
    values: dict[str, Any] = {
        "title": f"Item {id_}",
        "status": "open",
        "updated_at_ms": 1_800_000_000_000,
        "done": False,
        "in_progress": False,
        **changes,
    }
    return WorkItem(id=id_, **values)


class Tracker:
    """Work items in memory."""

    name = "tracker"

    def __init__(self, *items: WorkItem) -> None:
        self.items = sorted(items, key=lambda one: one.id)

    def knows(self, item_id: str) -> bool:
        return item_id.startswith("TR-")

    def get(self, tx: Tx, item_id: str) -> WorkItem | None:
        return next((one for one in self.items if one.id == item_id), None)

    def assign(self, tx: Tx, item_id: str, assignee: str) -> bool:
        return False

    def in_progress_of(self, tx: Tx, assignee: str) -> Sequence[WorkItem]:
        return [one for one in self.items if one.in_progress and one.assignee == assignee]

    def page(self, tx: Tx, *, after: str | None, limit: int, open_only: bool) -> Sequence[WorkItem]:
        shown = [one for one in self.items if not (open_only and one.done)]
        return [one for one in shown if one.id > (after or "")][:limit]

    def moved(self) -> bool:
        return False

    def look(self) -> None:
        return None

    def told(self, look: TrackerReading) -> None: ...


def use(lh: Lh, *items: WorkItem) -> None:
    """Make these the work items of the house."""
    settle(lh, items=Tracker(*items))


def settle(lh: Lh, **changes: Any) -> None:
    """Change the crew's facts about the house."""
    facts = lh.house.facts
    facts.put(facts.of(CrewFacts)._replace(**changes))
