"""Other queues on SQLite, compared if installed: enqueue, claim and complete a no-op, durably.

The figure is jobs per second, from the first enqueue to the last completion on disk. One client or
sixteen enqueue one job at a time; then the queue's own workers drain it. Unlike ours, none of these
queues stores reports or a history for each job.
"""

from __future__ import annotations

import importlib.util
import threading
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["CLIENTS", "JOBS", "WORKERS", "name_of", "peers", "together"]

JOBS = 960
CLIENTS = (1, 16)
WORKERS = 4


def together(work: Callable[[], None], threads: int) -> None:
    """Run the same function in several threads at once."""
    started = [threading.Thread(target=work) for _ in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def name_of(peer: str, clients: int) -> str:
    return peer if clients == 1 else f"{peer}-with-{clients}-clients"


def peers(folder: Path) -> dict[str, Callable[[], float]]:
    """The contestants installed on this machine."""
    if not importlib.util.find_spec("huey"):
        return {}
    return {name_of("huey", clients): huey(folder, clients) for clients in CLIENTS}


def huey(folder: Path, clients: int) -> Callable[[], float]:
    """SqliteHuey with fsync and four worker threads."""
    from huey import SqliteHuey  # type: ignore[import-not-found,import-untyped,unused-ignore]

    queue = SqliteHuey(
        "bench", filename=str(folder / f"huey-{clients}.db"), fsync=True, results=True
    )

    @queue.task()  # type: ignore[untyped-decorator,unused-ignore]
    def nothing() -> int:
        return 1

    def contestant() -> float:
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
