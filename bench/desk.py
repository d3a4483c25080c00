"""The desk's views cost the same in a small and in a large workspace.

The large one has 10,000 tasks, 100,000 steps, 1,000,000 events, 100,000 cards and 10,000 jobs; the
small one has a hundredth of each and passes `longhouse verify`. The same task is read in both, on
both databases.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import memory, thinking, work
from bench._harness import interleave, report
from longhouse.house import House
from longhouse.jobs.creating import add_job
from longhouse.jobs.types.jobs import CreateJob
from longhouse.store.artifacts import artifacts_of
from longhouse.store.tx import Tx
from longhouse.store.upkeep import verify
from tools.postgres import Postgres

SIZES = {"small": 100, "large": 10_000}
CARDS = 10
LOOKS: dict[str, tuple[str, dict[str, Any]]] = {
    "snapshot": ("tasks.snapshot", {"task": "TASK-050"}),
    "snapshot-delta": ("tasks.snapshot", {"task": "TASK-050", "delta": True, "read_only": True}),
    "resume": ("tasks.resume.super", {"task": "TASK-050", "max_chars": 6_000}),
    "status": ("status", {}),
}


def fill(house: House, workspace: str, tasks: int) -> None:
    """Add a job for every task; most tasks are never read."""
    work.fill(house, workspace, tasks)
    thinking.fill_cards(house, workspace, tasks * CARDS)
    memory.fill(house, workspace, tasks, add_jobs, work.BATCH)
    answer = house.call("tasks.focus.set", {"workspace": workspace, "task": "TASK-050"})
    assert answer.success, answer.envelope["error"]


def add_jobs(tx: Tx, numbers: range) -> None:
    for number in numbers:
        task = f"TASK-{number + 1:03d}"
        add_job(tx, CreateJob(title="Look", prompt="Look at it.", task=task))


def verified(house: House, workspace: str) -> None:
    """Check that the bulk-written rows are what the house itself would have written."""
    call = memory.called(house)
    found = verify(house.db, artifacts_of(house), house.registry, call, workspace=workspace)
    assert found.ok, found.problems[:5]


def looks(house: House, engine: str) -> bool:
    kept = True
    for workspace, tasks in SIZES.items():
        fill(house, workspace, tasks)
    verified(house, "small")
    for name, (cmd, args) in LOOKS.items():
        figures = interleave({w: work.calls(house, w, cmd, args) for w in SIZES})
        ratio = figures.ratio("large", "small")
        kept &= report(f"desk-{engine}{name}", ratio, "<=2.0", figures)
    return kept


def main() -> int:
    with tempfile.TemporaryDirectory() as folder, thinking.open_house(Path(folder)) as house:
        kept = looks(house, "")
    server = Postgres()
    try:
        with (
            tempfile.TemporaryDirectory() as folder,
            thinking.open_house(Path(folder), db=server.url()) as house,
        ):
            kept &= looks(house, "postgres-")
    finally:
        server.stop()
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
