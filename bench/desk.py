"""The desk: where you are costs the same in a small and in a large workspace.

The large one has 10,000 tasks, 100,000 steps, 1,000,000 events, 100,000 cards and 10,000 jobs; the
small one a hundredth of each. The same task is looked at in both, on both databases.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from bench import thinking, work
from bench._harness import interleave, report
from longhouse.house import House
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
    """A job for every task, most of them on tasks that nobody looks at."""
    work.fill(house, workspace, tasks)
    thinking.fill_cards(house, workspace, tasks * CARDS)
    for number in range(1, tasks + 1):
        job = {"title": "Look", "prompt": "Look at it.", "task": f"TASK-{number:03d}"}
        answer = house.call("jobs.create", {"workspace": workspace, **job})
        assert answer.success, answer.envelope["error"]
    answer = house.call("tasks.focus.set", {"workspace": workspace, "task": "TASK-050"})
    assert answer.success, answer.envelope["error"]


def looks(house: House, engine: str) -> bool:
    kept = True
    for workspace, tasks in SIZES.items():
        fill(house, workspace, tasks)
    if not house.db.engine.local:  # as it does by itself within a minute
        import psycopg

        with psycopg.connect(house.settings.db, autocommit=True) as db:
            db.execute("ANALYZE")
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
