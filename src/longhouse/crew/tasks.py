"""Longhouse's own tasks as work items: the protocol's `in_progress` is the status ACTIVE."""

from __future__ import annotations

import re
from collections.abc import Sequence

from longhouse.crew.items import TrackerReading, WorkItem
from longhouse.crew.types.sessions import Epic
from longhouse.kernel.errors import InvalidInput, UnknownId
from longhouse.kernel.refs import ref_grammar
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work import assign, entity_row, is_plan, tasks_page

__all__ = ["TaskItems"]

MOST_OWNED = 100
DONE = ("DONE", "CANCELED")
_CURSOR = re.compile(r"TASK-([0-9]{3,15})\Z")


class TaskItems:
    """The tasks of the work room; a task's epic is its plan."""

    name = "tasks"

    def knows(self, item_id: str) -> bool:
        return any(one.kind in ("task", "plan") for one in ref_grammar().kinds_of(item_id))

    def get(self, tx: Tx, item_id: str) -> WorkItem | None:
        if not self.knows(item_id):
            return None
        try:
            return _item(entity_row(tx, item_id), None)
        except UnknownId:
            return None

    def assign(self, tx: Tx, item_id: str, assignee: str) -> bool:
        return assign(tx, item_id, assignee)

    def in_progress_of(self, tx: Tx, assignee: str) -> Sequence[WorkItem]:
        rows = tasks_page(tx, [f"assignee:{assignee}", "status:ACTIVE"], limit=MOST_OWNED)
        return [_item(row, None) for row in rows]

    def page(self, tx: Tx, *, after: str | None, limit: int, open_only: bool) -> Sequence[WorkItem]:
        start = _CURSOR.match(after) if after else None
        if after and start is None:
            raise InvalidInput(
                f"cursor: {after[:80]!r} is not a task; fix: cursor=TASK-001",
                recovery="pass the next_cursor of the previous page, or leave cursor out",
            )
        traits = ["open"] if open_only else []
        rows = tasks_page(tx, traits, after=int(start[1]) if start else 0, limit=limit)
        plans = {plan: entity_row(tx, plan) for plan in {row["plan_id"] for row in rows}}
        return [_item(row, plans[row["plan_id"]]) for row in rows]

    def moved(self) -> bool:
        return False

    def look(self) -> TrackerReading | None:
        """Nothing to compare: every change to a task is already in the log."""
        return None

    def told(self, look: TrackerReading) -> None: ...


def _item(row: Row, plan: Row | None) -> WorkItem:
    task = not is_plan(row)
    return WorkItem(
        id=row["task_id"] if task else row["plan_id"],
        title=row["title"],
        status=row["status"],
        assignee=row["assignee"] if task else None,
        epic=Epic(id=plan["plan_id"], title=plan["title"], status=plan["status"]) if plan else None,
        updated_at_ms=row["updated_at_ms"],
        done=row["status"] in DONE,
        in_progress=row["status"] == "ACTIVE",
        blocked=task and bool(row["waits_for"]),
    )
