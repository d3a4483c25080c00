"""What the store's tests write and read: one log row and one table row per call."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Callable, Collection, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from longhouse.store.database import Database
from longhouse.store.engine import StoreEngine
from longhouse.store.queries import Query
from longhouse.store.sqlite import SqliteEngine
from longhouse.store.tx import Call, Tx, sql
from tests.kit import CountedIds

WS = "acme"
CALL = Call(now_ms=1_800_000_000_000, ids=CountedIds(), actor="tester")
KEYS = Query(
    "keys",
    "SELECT key FROM idempotency WHERE ws = :ws ORDER BY key",
    "SELECT key FROM idempotency WHERE ws = :ws ORDER BY key",
)


def open_engine(url: str | None, folder: Path) -> StoreEngine:
    if url is None:
        return SqliteEngine(folder / "longhouse.db")
    from longhouse.store.postgres import PostgresEngine

    return PostgresEngine(url)


def put(key: str, *, then: Callable[[Tx], Any] | None = None) -> Callable[[Tx], Any]:
    """A write of one table row and one log row; `then` runs after both."""

    def work(tx: Tx) -> Any:
        seq = tx.append("keys", key, "put", {"key": key})
        tx.run(sql.idempotency_put, key=key, cmd="put", digest="d", ts_ms=tx.now_ms, answer="{}")
        return then(tx) if then else seq

    return work


def fail(error: BaseException) -> Callable[[Tx], Any]:
    def work(_tx: Tx) -> Any:
        raise error

    return work


def keys(db: Database, workspace: str = WS) -> list[str]:
    return [r["key"] for r in db.read(workspace, lambda tx: tx.all(KEYS), CALL)]


def log(db: Database, workspace: str = WS, after: int = 0) -> list[tuple[int, str]]:
    """Seq and subject of every log row."""

    def look(tx: Tx) -> list[tuple[int, str]]:
        rows = tx.all(sql.log_after, after=after, limit=1_000_000)
        return [(row["seq"], row["subject"]) for row in rows]

    return db.read(workspace, look, CALL)


def child(*args: str, **options: Any) -> subprocess.Popen[str]:
    """A process that writes to a store: see tests/store/writer.py."""
    return subprocess.Popen(
        [sys.executable, "-u", "-m", "tests.store.writer", *args],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


@asynccontextmanager
async def lane_held(db: Database, workspace: str = WS) -> AsyncIterator[None]:
    """Hold the workspace's lane, so that further writes collect in the next batch."""
    loop, held, go = asyncio.get_running_loop(), asyncio.Event(), threading.Event()

    def hold(_tx: Tx) -> None:
        loop.call_soon_threadsafe(held.set)
        assert go.wait(60)

    first = asyncio.create_task(db.write_async(workspace, hold, CALL))
    await held.wait()
    yield
    await asyncio.sleep(0)
    go.set()
    await first


async def together(
    db: Database, *works: Callable[[Tx], Any], workspace: str = WS, asking: Collection[Any] = ()
) -> list[Any]:
    """Run the writes in one batch.

    Writes in `asking` yield statements, all with the same `asks` or each with the one it maps to.
    """
    kinds = asking if isinstance(asking, Mapping) else dict.fromkeys(asking, "the same")
    async with lane_held(db, workspace):
        tasks = [
            asyncio.create_task(db.write_async(workspace, work, CALL, asks=kinds.get(work)))
            for work in works
        ]
    return await asyncio.gather(*tasks, return_exceptions=True)
