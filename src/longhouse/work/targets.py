"""Tells memory whether a plan or task exists, with its title and status."""

from __future__ import annotations

from longhouse.memory.types.documents import TargetInfo
from longhouse.store.tx import Tx
from longhouse.work.room import room, sql

__all__ = ["known_target"]


@room.resolves_targets
def known_target(tx: Tx, target_id: str) -> TargetInfo | None:
    """The plan or task with that id, or None."""
    kind = "task" if target_id.startswith("TASK-") else "plan"
    query = sql.task_by_id if kind == "task" else sql.plan_by_id
    row = tx.one(query, **{f"{kind}_id": target_id})
    if row is None:
        return None
    return TargetInfo(id=target_id, kind=kind, title=row["title"], status=row["status"])  # type: ignore[arg-type]
