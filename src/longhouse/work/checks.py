"""For `verify`: what is kept beside plans, tasks and steps is what they amount to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from longhouse.store.engine import Row
from longhouse.store.queries import Query
from longhouse.store.tx import Tx
from longhouse.work.counting import ready_at, traits
from longhouse.work.dependencies import waits_for
from longhouse.work.room import room, sql

__all__ = ["differences"]

_PAGE = 500


@room.check("counts, traits and places of tasks are what the tasks amount to")
def differences(tx: Tx) -> Iterator[str]:
    """One sentence for each task, plan or count that is not as it should be."""
    counted: Counter[tuple[str, str]] = Counter()
    for row in _pages(tx, sql.plans_page):
        counted["plans", row["status"]] += 1
    wanted: set[tuple[str, int]] = set()
    for row in _pages(tx, sql.tasks_page):
        counted["tasks", row["status"]] += 1
        counted[row["plan_id"], row["status"]] += 1
        wanted |= {(trait, row["number"]) for trait in traits(row)}
        yield from _of_task(tx, row)
    kept = {(row["scope"], row["name"]): int(row["n"]) for row in tx.all(sql.counts_kept)}
    for key in sorted(counted.keys() | kept.keys()):
        if counted[key] != kept.get(key, 0):
            yield f"{key[0]} in {key[1]}: {counted[key]}, but {kept.get(key, 0)} are kept"
    found = {(row["trait"], row["number"]) for row in tx.all(sql.traits_kept)}
    for trait, number in sorted(wanted ^ found):
        said = "has no trait" if (trait, number) in wanted else "has the stray trait"
        yield f"TASK-{number:03d} {said} {trait}"


def _of_task(tx: Tx, row: Row) -> Iterator[str]:
    task_id = row["task_id"]
    steps = tx.all(sql.steps_of_task, task_id=task_id)
    opened = sum(not step["completed"] for step in steps)
    if (row["steps_total"], row["steps_open"]) != (len(steps), opened):
        yield f"{task_id} has {opened} of {len(steps)} steps open, but keeps other counts"
    if row["status"] == "DONE" and opened:
        yield f"{task_id} is DONE with {opened} steps open"
    if row["waits_for"] != len(waits_for(tx, task_id)):
        yield f"{task_id} waits for {len(waits_for(tx, task_id))}, but keeps {row['waits_for']}"
    if row["ready_at"] != ready_at(row):
        yield f"{task_id} is not where it should be among what is ready"


def _pages(tx: Tx, query: Query) -> Iterator[Row]:
    after = 0
    while rows := tx.all(query, after=after, limit=_PAGE):
        yield from rows
        after = rows[-1]["number"]
