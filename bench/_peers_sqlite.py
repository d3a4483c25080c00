"""Other queues on SQLite: enqueue, claim and complete a no-op, durably. See `_peer.py`.

The figure is jobs per second, from the first enqueue to the last completion on disk. One client or
sixteen enqueue one job at a time; then the queue's own workers drain it. Unlike ours, none of these
queues stores reports for each job.
"""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path

from bench._peer import JOBS, WORKERS, Contestant, together

__all__ = ["hermes", "huey"]


def huey(where: str) -> Contestant:
    """SqliteHuey with fsync and four worker threads."""
    from huey import SqliteHuey  # type: ignore[import-not-found,import-untyped,unused-ignore]

    queue = SqliteHuey("bench", filename=f"{where}/huey.db", fsync=True, results=True)

    @queue.task()  # type: ignore[untyped-decorator,unused-ignore]
    def nothing() -> int:
        return 1

    def contestant(clients: int) -> float:
        def enqueue() -> None:
            for _ in range(JOBS // clients):
                nothing()

        def drain() -> None:
            while task := queue.dequeue():
                queue.execute(task)

        started = time.perf_counter()
        together(enqueue, clients)
        together(drain, WORKERS)
        return JOBS / (time.perf_counter() - started)

    return contestant


def hermes(where: str) -> Contestant:
    """The board of hermes-agent: a process creates, claims and completes so many tasks."""
    os.environ["HERMES_HOME"] = os.environ["HERMES_KANBAN_HOME"] = where
    sys.path[:] = [path for path in sys.path if not (Path(path) / "bench").is_dir()]  # our tools
    from hermes_cli import (  # type: ignore[import-not-found,import-untyped,unused-ignore]
        kanban_db as board,
    )

    db = board.connect(Path(where) / "kanban.db")

    def contestant(lives: int) -> float:
        started = time.perf_counter()
        for _ in range(lives):
            task = board.create_task(db, title="Look", body="Look at it.", assignee="r1")
            assert board.claim_task(db, task) is not None
            assert board.complete_task(db, task, result="done", summary="done")
        return lives / (time.perf_counter() - started)

    return contestant
