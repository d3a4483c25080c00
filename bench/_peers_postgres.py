"""Other queues on PostgreSQL, run when they are installed, each in a database of its own.

As in `_peers.py`: one client or sixteen enqueue one by one, and the queue's own worker drains.
"""

from __future__ import annotations

import asyncio
import importlib.util
import threading
import time
from collections.abc import Callable, Coroutine, Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any

import psycopg

from bench._peers import CLIENTS, JOBS, name_of
from tools.postgres import Postgres

__all__ = ["peers_on_postgres"]

WORKERS = 4
Contestant = Callable[[int], float]
"""Jobs per second with so many clients."""


def peers_on_postgres(server: Postgres, stack: ExitStack) -> dict[str, Callable[[], float]]:
    """The contestants that this machine has; what they keep open ends with the stack."""
    known = {"pgqueuer": pgqueuer, "procrastinate": procrastinate, "dbos": dbos}
    found: dict[str, Callable[[], float]] = {}
    for name, make in known.items():
        if importlib.util.find_spec(name):
            with psycopg.connect(server.url(), autocommit=True) as db:
                db.execute(f"CREATE DATABASE {name}".encode())
            made = stack.enter_context(make(server.url(name)))
            found |= {name_of(name, clients): partial(made, clients) for clients in CLIENTS}
    return found


class Countdown:
    """Set once so many jobs have run."""

    def __init__(self) -> None:
        self.left = JOBS
        self.done = asyncio.Event()

    def __call__(self) -> None:
        self.left -= 1
        if not self.left:
            self.done.set()


async def _timed(
    enqueue: Callable[[int], Coroutine[Any, Any, object]],
    countdown: Countdown,
    worker: asyncio.Task[None],
    clients: int,
) -> float:
    """Jobs per second from the first enqueue to the last run."""

    async def client(index: int) -> None:
        for _ in range(JOBS // clients):
            await enqueue(index)

    started = time.perf_counter()
    await asyncio.gather(*(client(index) for index in range(clients)))
    done = asyncio.create_task(countdown.done.wait())
    await asyncio.wait({done, worker}, return_when="FIRST_COMPLETED")
    assert done.done(), worker.exception()
    return JOBS / (time.perf_counter() - started)


@contextmanager
def pgqueuer(url: str) -> Iterator[Contestant]:
    """One worker that claims ten at a time, as it does by default."""
    from pgqueuer.db import PsycopgDriver  # type: ignore[import-not-found,unused-ignore]
    from pgqueuer.qm import QueueManager  # type: ignore[import-not-found,unused-ignore]
    from pgqueuer.queries import Queries  # type: ignore[import-not-found,unused-ignore]

    async def connect() -> Any:
        return PsycopgDriver(await psycopg.AsyncConnection.connect(url, autocommit=True))

    async def install() -> None:
        await Queries(await connect()).install()

    async def run(clients: int) -> float:
        countdown = Countdown()
        queues = [Queries(await connect()) for _ in range(clients)]
        manager = QueueManager(Queries(await connect()))

        @manager.entrypoint("nothing")  # type: ignore[untyped-decorator,unused-ignore]
        async def nothing(_job: Any) -> None:
            countdown()

        worker = asyncio.create_task(manager.run())
        rate = await _timed(
            lambda index: queues[index].enqueue("nothing", None), countdown, worker, clients
        )
        manager.shutdown.set()
        await worker
        return rate

    asyncio.run(install())
    yield lambda clients: asyncio.run(run(clients))


@contextmanager
def procrastinate(url: str) -> Iterator[Contestant]:
    """Four jobs at a time."""
    from procrastinate import (  # type: ignore[import-not-found,unused-ignore]
        App,
        PsycopgConnector,
    )

    async def install() -> None:
        async with App(connector=PsycopgConnector(conninfo=url)).open_async() as app:
            await app.schema_manager.apply_schema_async()

    async def run(clients: int) -> float:
        countdown = Countdown()
        connector = PsycopgConnector(conninfo=url, min_size=clients, max_size=clients + WORKERS)
        app = App(connector=connector)

        @app.task(name="nothing")  # type: ignore[untyped-decorator,unused-ignore]
        async def nothing() -> None:
            countdown()

        async with app.open_async():
            worker = asyncio.create_task(
                app.run_worker_async(concurrency=WORKERS, install_signal_handlers=False)
            )
            rate = await _timed(lambda _index: nothing.defer_async(), countdown, worker, clients)
            worker.cancel()
            await asyncio.gather(worker, return_exceptions=True)
        return rate

    asyncio.run(install())
    yield lambda clients: asyncio.run(run(clients))


@contextmanager
def dbos(url: str) -> Iterator[Contestant]:
    """A queue of four workers that looks for work a hundred times as often as by default.

    It is there only while it is measured: its threads would take time from everyone else.
    """
    from dbos import DBOS  # type: ignore[import-not-found,unused-ignore]

    @DBOS.workflow(name="nothing")  # type: ignore[untyped-decorator,unused-ignore]
    def nothing() -> int:
        return 1

    def contestant(clients: int) -> float:
        DBOS(config={"name": "bench", "system_database_url": url, "log_level": "ERROR"})
        DBOS.launch()
        queue = DBOS.register_queue("bench", worker_concurrency=WORKERS, polling_interval_sec=0.01)

        def client() -> None:
            for handle in [queue.enqueue(nothing) for _ in range(JOBS // clients)]:
                handle.get_result()

        threads = [threading.Thread(target=client) for _ in range(clients)]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        rate = JOBS / (time.perf_counter() - started)
        DBOS.destroy()
        return rate

    yield contestant
