"""Data derived from plans and tasks and stored with them, so that reads cost the same at any size.

Traits to list tasks by, counts by state, the order of ready tasks, the number of tasks a task waits
for, and the event count that step leases expire by. `verify` derives all of it again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from longhouse.kernel.errors import Conflict, InvalidInput, Suggestion
from longhouse.store.engine import Row
from longhouse.store.queries import Query
from longhouse.store.tx import Tx
from longhouse.work.lookup import task_row
from longhouse.work.room import room, sql
from longhouse.work.states import CLOSED, OPEN, RANK

__all__ = [
    "add_plan",
    "add_task",
    "before",
    "clock",
    "count_event",
    "counts",
    "depend",
    "depends_on",
    "differences",
    "drop_plan",
    "drop_task",
    "encoded",
    "free_dependents",
    "pages",
    "ready_at",
    "store_plan",
    "store_task",
    "traits",
    "waits_for",
]


_PLACES = 10**12
_JSON = ("tags", "checklist", "contract_data", "detail", "proof_modes", "confirmed")

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
    """Counts by state, of all `plans`, of all `tasks`, or of one plan's tasks by the plan's id."""
    return {row["name"]: int(row["n"]) for row in tx.all(sql.counts_of, scope=scope)}


def count_event(tx: Tx) -> None:
    tx.run(sql.count_add, scope="events", name="all", step=1)


def clock(tx: Tx) -> int:
    """How many task events this workspace has recorded."""
    return counts(tx, "events").get("all", 0)


def ready_at(row: Row) -> int | None:
    """The sort key of a task among ready tasks (priority, then age); None if it is not ready."""
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
    changed = {**row, **{name: encoded(value) for name, value in fields.items()}}
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
    """Store a task with these fields changed, and update what is derived from it."""
    changed = {**row, **{name: encoded(value) for name, value in fields.items()}}
    stored = tx.one(
        sql.task_set, ready_at=ready_at(changed), **{name: changed[name] for name in _TASK}
    )
    assert stored is not None
    _retrait(tx, row["number"], traits(row), traits(stored))
    if stored["status"] != row["status"]:
        _count_task(tx, row, -1)
        _count_task(tx, stored, 1)
    return stored


def before(row: Row, names: Iterable[str]) -> dict[str, Any]:
    """The values of columns that are about to change, for the event of the change."""
    return {
        name: msgspec.json.decode(row[name]) if name in _JSON and row[name] else row[name]
        for name in names
    }


def encoded(value: Any) -> Any:
    """A value as its column holds it."""
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


def depend(tx: Tx, task_id: str, wanted: list[str]) -> int:
    """Make a task wait for exactly these tasks; returns how many of them are open."""
    open_ones = 0
    for other in dict.fromkeys(wanted):
        open_ones += task_row(tx, other, "depends_on")["status"] not in CLOSED
        if other == task_id:
            raise InvalidInput(f"depends_on: {task_id} cannot wait for itself; fix: depends_on=[]")
        if tx.one(sql.dependency_reaches, start=other, goal=task_id):
            raise _circle(task_id, other)
    tx.run(sql.dependencies_clear, task_id=task_id)
    rows = [{"task_id": task_id, "depends_on": other} for other in dict.fromkeys(wanted)]
    if rows:
        tx.many(sql.dependency_add, rows)
    return open_ones


def _circle(task_id: str, other: str) -> Conflict:
    from longhouse.work.types.views import GetRadar

    return Conflict(
        f"depends_on: {other} waits for {task_id}, so {task_id} cannot wait for {other}",
        recovery=f"leave it out, or first run tasks.edit task={other} depends_on=[]",
        suggest=[Suggestion(GetRadar(task=other), f"see what {other} waits for")],
    )


def depends_on(tx: Tx, task_id: str) -> list[str]:
    """The tasks that a task waits for, done or not."""
    return [row["depends_on"] for row in tx.all(sql.dependencies_of, task_id=task_id)]


def waits_for(tx: Tx, task_id: str) -> list[str]:
    """The open tasks that a task waits for."""
    rows = tx.all(sql.dependencies_of, task_id=task_id)
    return [row["depends_on"] for row in rows if row["status"] not in CLOSED]


def free_dependents(tx: Tx, task_id: str) -> None:
    """Recount what the tasks that depend on a closed or reopened task still wait for."""
    waiting: list[Row] = tx.all(sql.dependents_of, task_id=task_id)
    for row in waiting:
        store_task(tx, row, waits_for=len(waits_for(tx, row["task_id"])))


_PAGE = 500


@room.check("stored counts, traits and ready order match the tasks")
def differences(tx: Tx) -> Iterator[str]:
    """One sentence for each stored value that does not match."""
    counted: Counter[tuple[str, str]] = Counter()
    for row in pages(tx, sql.plans_page):
        counted["plans", row["status"]] += 1
    wanted: set[tuple[str, int]] = set()
    for row in pages(tx, sql.tasks_page):
        counted["tasks", row["status"]] += 1
        counted[row["plan_id"], row["status"]] += 1
        wanted |= {(trait, row["number"]) for trait in traits(row)}
        yield from _of_task(tx, row)
    kept = {(row["scope"], row["name"]): int(row["n"]) for row in tx.all(sql.counts_kept)}
    for key in sorted(counted.keys() | kept.keys()):
        if counted[key] != kept.get(key, 0):
            yield f"{key[0]} in {key[1]}: {counted[key]}, but {kept.get(key, 0)} is stored"
    found = {(row["trait"], row["number"]) for row in tx.all(sql.traits_kept)}
    for trait, number in sorted(wanted ^ found):
        said = "lacks the trait" if (trait, number) in wanted else "has the stray trait"
        yield f"TASK-{number:03d} {said} {trait}"


def _of_task(tx: Tx, row: Row) -> Iterator[str]:
    task_id = row["task_id"]
    steps = tx.all(sql.steps_of_task, task_id=task_id)
    opened = sum(not step["completed"] for step in steps)
    if (row["steps_total"], row["steps_open"]) != (len(steps), opened):
        yield f"{task_id} has {opened} of {len(steps)} steps open, but other counts are stored"
    if row["status"] == "DONE" and opened:
        yield f"{task_id} is DONE with {opened} steps open"
    if row["waits_for"] != len(waits_for(tx, task_id)):
        waiting = len(waits_for(tx, task_id))
        yield f"{task_id} waits for {waiting} tasks, but {row['waits_for']} is stored"
    if row["ready_at"] != ready_at(row):
        yield f"{task_id} has the wrong position among ready tasks"


def pages(tx: Tx, query: Query) -> Iterator[Row]:
    """Every row of a query that pages by number."""
    after = 0
    while rows := tx.all(query, after=after, limit=_PAGE):
        yield from rows
        after = rows[-1]["number"]
