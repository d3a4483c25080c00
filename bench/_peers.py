"""Other queues on SQLite, run when they are installed: enqueue, claim, complete a no-op.

Each gives jobs per second with sixteen threads enqueuing one by one, and its own worker draining.
"""

from __future__ import annotations

import importlib.util
import threading
import time
from collections.abc import Callable
from pathlib import Path

__all__ = ["peers"]

JOBS = 320
THREADS = 16


def peers(folder: Path) -> dict[str, Callable[[], float]]:
    """The contestants that this machine has."""
    return {"huey": huey(folder)} if importlib.util.find_spec("huey") else {}


def huey(folder: Path) -> Callable[[], float]:
    """SqliteHuey with fsync, four worker threads."""
    from huey import SqliteHuey  # type: ignore[import-not-found,import-untyped,unused-ignore]

    queue = SqliteHuey("bench", filename=str(folder / "huey.db"), fsync=True, results=True)

    @queue.task()  # type: ignore[untyped-decorator,unused-ignore]
    def nothing() -> int:
        return 1

    def contestant() -> float:
        done = threading.Semaphore(0)
        ended = threading.Event()

        def enqueue() -> None:
            for _ in range(JOBS // THREADS):
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
        threads = [threading.Thread(target=enqueue) for _ in range(THREADS)]
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
