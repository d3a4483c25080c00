"""Work: lists, radars and closes cost the same with 100 tasks and with 10,000.

Two workspaces of one store are filled with rows in large transactions: 100 tasks with 1,000 steps
and 10,000 events, and a hundred times that. Half of the log belongs to other rooms, and all tasks
are in one plan. The benchmark measures complete calls, as a surface makes them.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import Any

from bench import memory
from bench._harness import interleave, report, timed
from longhouse.config import load
from longhouse.house import House
from longhouse.store.tx import Tx
from longhouse.store.tx import sql as store_sql
from longhouse.work.projections import ready_at, traits
from longhouse.work.room import sql
from longhouse.work.states import CLOSED

SIZES = {"small": 100, "large": 10_000}
STEPS = 10
EVENTS = 100
CALLS = 20
BATCH = 100
STATES = ("TODO", "TODO", "ACTIVE", "PARKED", "DONE", "DONE", "DONE", "CANCELED", "TODO", "DONE")
DAY = 86_400_000


def fill(house: House, workspace: str, tasks: int) -> None:
    """Add one plan with all of the tasks; every task has steps and a history."""
    house.call("tasks.plan.create", {"workspace": workspace, "title": "Everything"})
    memory.fill(house, workspace, tasks, add, BATCH)


def add(tx: Tx, numbers: range) -> None:
    tx.count("task", len(numbers))
    tx.count("step", len(numbers) * STEPS)
    tasks = range(numbers.start + 1, numbers.stop + 1)
    for number in tasks:
        add_task(tx, number)
    add_steps(tx, tasks)
    add_events(tx, tasks)


def add_task(tx: Tx, number: int) -> None:
    status = STATES[number % len(STATES)]
    row = tx.one(
        sql.task_add,
        task_id=f"TASK-{number:03d}",
        number=number,
        plan_id="PLAN-001",
        title=f"Task {number} of many, with a title of usual length",
        description="why " * 20,
        reasoning_mode="normal",
        assignee=f"agent-{number % 20}",
        priority="MEDIUM",
        ready_at=None,
        now=tx.now_ms - (number % 40) * DAY,
    )
    assert row is not None
    parked = tx.now_ms + ((number // 10) % 7 - 3) * DAY if status == "PARKED" else None
    tags = '["rare"]' if number % 50 == 0 else '["common"]'
    row = {**row, "status": status, "parked_until_ts_ms": parked, "tags": tags}
    names = (
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
    tx.run(sql.task_set, ready_at=ready_at(row), **{name: row[name] for name in names})
    closed = status in CLOSED
    tx.run(sql.task_count_steps, task_id=row["task_id"], total=STEPS, open=0 if closed else STEPS)
    tx.many(sql.trait_add, [{"trait": t, "number": number} for t in sorted(traits(row))])
    for scope in ("tasks", "PLAN-001"):
        tx.run(sql.count_add, scope=scope, name=status, step=1)


def add_steps(tx: Tx, numbers: range) -> None:
    rows = [
        {
            "step_id": f"STEP-{(number - 1) * STEPS + at + 1:08X}",
            "task_id": f"TASK-{number:03d}",
            "parent_id": None,
            "ordinal": at,
            "title": f"Step {at}",
            "detail": '{"success_criteria":["It works"]}',
            "proof_modes": "{}",
            "now": tx.now_ms,
        }
        for number in numbers
        for at in range(STEPS)
    ]
    tx.many(sql.step_add, rows)
    done = {"confirmed": "[]", "completed": 1, "blocked": 0, "block_reason": None}
    tx.many(
        sql.step_set,
        [
            {**row, **done, "completed_at_ms": tx.now_ms}
            for row in rows
            if STATES[int(str(row["task_id"])[5:]) % len(STATES)] in CLOSED
        ],
    )


def add_events(tx: Tx, numbers: range) -> None:
    """Add log rows, alternating between work and other rooms."""
    first = tx.seqs(len(numbers) * EVENTS)
    rows = []
    for at in range(EVENTS):
        for offset, number in enumerate(numbers):
            mine = at % 2 == 0
            rows.append(
                {
                    "seq": first + at * len(numbers) + offset,
                    "ts_ms": tx.now_ms,
                    "stream": "work" if mine else "memory",
                    "subject": f"TASK-{number:03d}" if mine else "main",
                    "kind": "step_noted" if mine else "filled",
                    "actor": None,
                    "span": 1,
                    "data": '{"payload":{"note":"one of many"},"path":"s:0"}',
                }
            )
    tx.many(store_sql.log_append, rows)


def calls(house: House, workspace: str, cmd: str, args: dict[str, Any]) -> Callable[[], float]:
    def work() -> None:
        for _ in range(CALLS):
            answer = house.call(cmd, {"workspace": workspace, **args})
            assert answer.success, answer.envelope["error"]

    return timed(work)


def closes(house: House, workspace: str) -> Callable[[], float]:
    """A contestant that closes another step of an open task with each call."""
    steps = ((task, at) for task in count(10, 10) for at in range(STEPS))

    def work() -> None:
        for _ in range(CALLS):
            task, at = next(steps)
            answer = house.call(
                "tasks.step.close",
                {
                    "workspace": workspace,
                    "task": f"TASK-{task:03d}",
                    "path": f"s:{at}",
                    "checkpoints": "gate",
                },
            )
            assert answer.success, answer.envelope["error"]

    return timed(work)


READS: dict[str, tuple[str, dict[str, Any]]] = {
    "context": ("tasks.context", {}),
    "context-status": ("tasks.context", {"tasks_status": "ACTIVE", "tasks_limit": 10}),
    "context-tag": ("tasks.context", {"tags": ["rare"], "include_all": True, "tasks_limit": 2}),
    "ready": ("tasks.ready", {"limit": 20}),
    "radar-task": ("tasks.radar", {"task": "TASK-050"}),
    "radar-plan": ("tasks.radar", {"plan": "PLAN-001"}),
    "snapshot": ("tasks.snapshot", {"task": "TASK-050"}),
    "delta": ("tasks.delta", {"limit": 50}),
    "history": ("tasks.history", {"task": "TASK-050", "limit": 20}),
    "status": ("status", {}),
}


def main() -> int:
    kept = True
    with tempfile.TemporaryDirectory(prefix="longhouse-bench-") as folder:
        settings = load({"dir": folder, "workspace": "small"}, environ={}, cwd=Path(folder))
        with House(settings) as house:
            for workspace, tasks in SIZES.items():
                fill(house, workspace, tasks)
            for name, (cmd, args) in READS.items():
                figures = interleave({w: calls(house, w, cmd, args) for w in SIZES})
                ratio = figures.ratio("large", "small")
                kept &= report(f"work-{name}-10000-tasks", ratio, "<=2.0", figures)
            figures = interleave({w: closes(house, w) for w in SIZES}, rounds=3)
            ratio = figures.ratio("large", "small")
            kept &= report("work-close-10000-tasks", ratio, "<=2.0", figures)
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
