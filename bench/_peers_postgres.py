"""Other queues on PostgreSQL, each in a database of its own. See `_peer.py`.

One client or sixteen enqueue one job at a time; then the queue's own worker drains it.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg

from bench._peer import JOBS, WORKERS, Contestant, together

__all__ = ["dbos", "pgqueuer", "procrastinate"]


async def _timed(
    enqueue: Callable[[int], Awaitable[object]],
    clients: int,
    drain: Callable[[], Awaitable[object]],
) -> float:
    """Jobs per second from the first enqueue to the last completion."""

    async def client(index: int) -> None:
        for _ in range(JOBS // clients):
            await enqueue(index)

    started = time.perf_counter()
    await asyncio.gather(*(client(index) for index in range(clients)))
    await drain()
    return JOBS / (time.perf_counter() - started)


def pgqueuer(url: str) -> Contestant:
    """One worker that claims ten jobs at a time, its default."""
    from pgqueuer.db import PsycopgDriver  # type: ignore[import-not-found,unused-ignore]
    from pgqueuer.qm import QueueManager  # type: ignore[import-not-found,unused-ignore]
    from pgqueuer.queries import Queries  # type: ignore[import-not-found,unused-ignore]

    async def connect() -> Any:
        return PsycopgDriver(await psycopg.AsyncConnection.connect(url, autocommit=True))

    async def install() -> None:
        await Queries(await connect()).install()

    async def run(clients: int) -> float:
        queues = [Queries(await connect()) for _ in range(clients)]
        manager = QueueManager(Queries(await connect()))

        @manager.entrypoint("nothing")  # type: ignore[untyped-decorator,unused-ignore]
        async def nothing(_job: Any) -> None:
            pass

        workers: list[asyncio.Task[None]] = []

        async def drain() -> None:
            workers.append(asyncio.create_task(manager.run()))
            while await queues[0].queue_size():
                assert not workers[0].done(), workers[0].exception()
                await asyncio.sleep(0.005)

        rate = await _timed(lambda index: queues[index].enqueue("nothing", None), clients, drain)
        manager.shutdown.set()
        await workers[0]
        return rate

    asyncio.run(install())
    return lambda clients: asyncio.run(run(clients))


def procrastinate(url: str) -> Contestant:
    """Four jobs at a time."""
    from procrastinate import (  # type: ignore[import-not-found,unused-ignore]
        App,
        PsycopgConnector,
    )

    async def install() -> None:
        async with App(connector=PsycopgConnector(conninfo=url)).open_async() as app:
            await app.schema_manager.apply_schema_async()

    async def run(clients: int) -> float:
        connector = PsycopgConnector(conninfo=url, min_size=clients, max_size=clients + WORKERS)
        app = App(connector=connector)
        ran = 0

        @app.task(name="nothing")  # type: ignore[untyped-decorator,unused-ignore]
        async def nothing() -> None:
            nonlocal ran
            ran += 1

        async with app.open_async():
            rate = await _timed(
                lambda _index: nothing.defer_async(),
                clients,
                lambda: app.run_worker_async(
                    concurrency=WORKERS, wait=False, install_signal_handlers=False
                ),
            )
        assert ran == JOBS
        return rate

    asyncio.run(install())
    return lambda clients: asyncio.run(run(clients))


def dbos(url: str) -> Contestant:
    """A queue with four workers that polls a hundred times as often as by default.

    It runs only while it is measured: its threads would slow down the other contestants.
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

        started = time.perf_counter()
        together(client, clients)
        rate = JOBS / (time.perf_counter() - started)
        DBOS.destroy()
        return rate

    return contestant
