"""Other queues on SQLite, run when they are installed: enqueue, claim, complete a no-op.

Each gives jobs per second, from the first enqueue to the last end: with one client that enqueues
one by one while the queue's own workers drain, as such queues are measured, and with as many
clients as ours has. None of them keeps reports or a history, as each of our jobs does.
"""

from __future__ import annotations

import importlib.util
import threading
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["CLIENTS", "JOBS", "name_of", "peers"]

JOBS = 320
CLIENTS = (1, 16)


def name_of(peer: str, clients: int) -> str:
    return peer if clients == 1 else f"{peer}-with-{clients}-clients"


def peers(folder: Path) -> dict[str, Callable[[], float]]:
    """The contestants that this machine has."""
    if not importlib.util.find_spec("huey"):
        return {}
    return {name_of("huey", clients): huey(folder, clients) for clients in CLIENTS}


def huey(folder: Path, clients: int) -> Callable[[], float]:
    """SqliteHuey with fsync, four worker threads."""
    from huey import SqliteHuey  # type: ignore[import-not-found,import-untyped,unused-ignore]

    queue = SqliteHuey(
        "bench", filename=str(folder / f"huey-{clients}.db"), fsync=True, results=True
    )

    @queue.task()  # type: ignore[untyped-decorator,unused-ignore]
    def nothing() -> int:
        return 1

    def contestant() -> float:
        done = threading.Semaphore(0)
        ended = threading.Event()

        def enqueue() -> None:
            for _ in range(JOBS // clients):
                nothing()

        def work() -> None:
            while not ended.is_set():
                task = queue.dequeue()
                if task is None:
                    time.sleep(0.001)
                    continue
                queue.execute(task)
                done.release()

        started = time.perf_counter()
        threads = [threading.Thread(target=enqueue) for _ in range(clients)]
        threads += [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for _ in range(JOBS):
            done.acquire()
        took = time.perf_counter() - started
        ended.set()
        for thread in threads:
            thread.join()
        return JOBS / took

    return contestant
