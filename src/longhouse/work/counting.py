"""What is kept beside plans and tasks so that lists and horizons cost the same however many.

Traits to list tasks by, counts by state, the place in the list of what is ready, and the number of
events, which is the clock of step leases. Whoever stores a task goes through `store_task`.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work.room import sql
from longhouse.work.states import CLOSED, OPEN, RANK

__all__ = [
    "add_plan",
    "add_task",
    "clock",
    "count_event",
    "counts",
    "drop_plan",
    "drop_task",
    "ready_at",
    "store_plan",
    "store_task",
    "traits",
]

_PLACES = 10**12
_PLAN = (
    "plan_id",
    "title",
    "description",
    "context",
    "contract",
    "contract_data",
    "checklist",
    "checklist_at",
    "checklist_doc",
    "status",
    "priority",
    "tags",
)
_TASK = (
    "task_id",
    "title",
    "description",
    "context",
    "domain",
    "status",
    "priority",
    "assignee",
    "reasoning_mode",
    "tags",
    "parked_until_ts_ms",
    "waits_for",
)


def counts(tx: Tx, scope: str) -> dict[str, int]:
    """By state: of all `plans`, of all `tasks`, or of the tasks of one plan, by its id."""
    return {row["name"]: int(row["n"]) for row in tx.all(sql.counts_of, scope=scope)}


def count_event(tx: Tx) -> None:
    tx.run(sql.count_add, scope="events", name="all", step=1)


def clock(tx: Tx) -> int:
    """How many events this workspace's work has seen."""
    return counts(tx, "events").get("all", 0)


def ready_at(row: Row) -> int | None:
    """Where a task stands among what can be worked on: priority, then age."""
    startable = row["status"] in ("TODO", "ACTIVE") or row["parked_until_ts_ms"] is not None
    if row["waits_for"] or not startable or row["status"] in CLOSED:
        return None
    return RANK[row["priority"]] * _PLACES + int(row["number"])


def add_plan(tx: Tx, row: Row) -> None:
    _count(tx, "plans", row["status"], 1)


def drop_plan(tx: Tx, row: Row) -> None:
    _count(tx, "plans", row["status"], -1)


def store_plan(tx: Tx, row: Row, **fields: Any) -> Row:
    """Store a plan with these fields changed."""
    changed = {**row, **{name: _encoded(value) for name, value in fields.items()}}
    stored = tx.one(sql.plan_set, **{name: changed[name] for name in _PLAN})
    assert stored is not None
    if stored["status"] != row["status"]:
        drop_plan(tx, row)
        add_plan(tx, stored)
    return stored


def add_task(tx: Tx, row: Row) -> None:
    _retrait(tx, row["number"], set(), traits(row))
    _count_task(tx, row, 1)


def drop_task(tx: Tx, row: Row) -> None:
    _retrait(tx, row["number"], traits(row), set())
    _count_task(tx, row, -1)


def store_task(tx: Tx, row: Row, **fields: Any) -> Row:
    """Store a task with these fields changed, and all that is kept beside it."""
    changed = {**row, **{name: _encoded(value) for name, value in fields.items()}}
    stored = tx.one(
        sql.task_set, ready_at=ready_at(changed), **{name: changed[name] for name in _TASK}
    )
    assert stored is not None
    _retrait(tx, row["number"], traits(row), traits(stored))
    if stored["status"] != row["status"]:
        _count_task(tx, row, -1)
        _count_task(tx, stored, 1)
    return stored


def _encoded(value: Any) -> Any:
    return msgspec.json.encode(value).decode() if isinstance(value, list | tuple | dict) else value


def traits(row: Row) -> set[str]:
    plan, status = row["plan_id"], row["status"]
    found = {f"status:{status}", f"plan:{plan}", f"plan:{plan}:{status}"}
    if status in OPEN:
        found |= {"open", f"plan:{plan}:open"}
    found |= {f"{name}:{row[name]}" for name in ("assignee", "domain") if row[name]}
    return found | {f"tag:{tag}" for tag in msgspec.json.decode(row["tags"])}


def _retrait(tx: Tx, number: int, before: set[str], after: set[str]) -> None:
    for query, traits in ((sql.trait_drop, before - after), (sql.trait_add, after - before)):
        if traits:
            tx.many(query, [{"trait": trait, "number": number} for trait in sorted(traits)])


def _count_task(tx: Tx, row: Row, step: int) -> None:
    _count(tx, "tasks", row["status"], step)
    _count(tx, row["plan_id"], row["status"], step)


def _count(tx: Tx, scope: str, name: str, step: int) -> None:
    tx.run(sql.count_add, scope=scope, name=name, step=step)
