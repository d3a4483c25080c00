"""The store on SQLite, compared with bare apsw writing the same rows.

Per call, every contestant durably writes one log row, one table row and the new sequence number.
"""

from __future__ import annotations

import asyncio
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import msgspec

from bench._harness import interleave, report
from longhouse.kernel.clock import RandomIds
from longhouse.store.database import Database
from longhouse.store.sqlite import SqliteEngine
from longhouse.store.tx import Call, Tx, sql

WRITERS = 64
CALL = Call(now_ms=1_800_000_000_000, ids=RandomIds(), actor="bench")
DATA = {"message": "half of it is done", "refs": ["notes@12"], "percent": 50}


def note(key: str) -> Callable[[Tx], int]:
    def work(tx: Tx) -> int:
        seq = tx.append("jobs", "JOB-001", "progress", DATA)
        tx.run(
            sql.idempotency_put,
            key=key,
            cmd="jobs.report",
            digest="d" * 64,
            ts_ms=tx.now_ms,
            answer='{"ok":true}',
        )
        return seq

    return work


class Bare:
    """The same statements with nothing around them."""

    def __init__(self, path: Path) -> None:
        SqliteEngine(path).close()
        self.db = apsw.Connection(str(path), statementcachesize=256)
        self.db.execute("PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON")
        self.db.execute(
            sql.workspace_add.sqlite, {"name": "acme", "guard": None, "now": CALL.now_ms}
        )

    def row(self, key: str) -> int:
        execute = self.db.execute
        ((ws, seq, *_),) = execute(sql.workspace_lock.sqlite, {"name": "acme"})
        self.insert(ws, seq + 1, key)
        execute(sql.seq_store.sqlite, {"ws": ws, "seq": seq + 1})
        return int(seq) + 1

    def insert(self, ws: int, seq: int, key: str) -> None:
        self.db.execute(
            sql.log_append.sqlite,
            {
                "ws": ws,
                "seq": seq,
                "ts_ms": CALL.now_ms,
                "stream": "jobs",
                "subject": "JOB-001",
                "kind": "progress",
                "actor": "bench",
                "data": msgspec.json.encode(DATA).decode(),
                "span": 1,
            },
        )
        self.db.execute(
            sql.idempotency_put.sqlite,
            {
                "ws": ws,
                "key": key,
                "cmd": "jobs.report",
                "digest": "d" * 64,
                "ts_ms": CALL.now_ms,
                "answer": '{"ok":true}',
            },
        )


class Keys:
    def __init__(self) -> None:
        self.at = 0

    def __call__(self) -> str:
        self.at += 1
        return f"key-{self.at}"


def rate(count: int, work: Callable[[int], Any]) -> Callable[[], float]:
    def contestant() -> float:
        started = time.perf_counter()
        work(count)
        return count / (time.perf_counter() - started)

    return contestant


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="longhouse-bench-") as folder:
        key = Keys()
        bare, loop = Bare(Path(folder) / "bare.db"), Bare(Path(folder) / "loop.db")
        db = Database(SqliteEngine(Path(folder) / "ours.db"))

        def bare_single(count: int) -> None:
            for _ in range(count):
                bare.db.execute("BEGIN IMMEDIATE")
                bare.row(key())
                bare.db.execute("COMMIT")

        def our_single(count: int) -> None:
            for _ in range(count):
                db.write("acme", note(key()), CALL)

        async def bare_group(count: int) -> None:
            """The waiting requests of one event loop: a savepoint each, one commit for all."""
            waiting: list[tuple[str, asyncio.Future[int]]] = []
            arrived = asyncio.Event()

            async def writer() -> None:
                while True:
                    await arrived.wait()
                    arrived.clear()
                    batch, waiting[:] = waiting[:], []
                    execute = loop.db.execute
                    execute("BEGIN IMMEDIATE")
                    ((ws, seq, *_),) = execute(sql.workspace_lock.sqlite, {"name": "acme"})
                    for name, _ in batch:
                        execute("SAVEPOINT work")
                        seq += 1
                        loop.insert(ws, seq, name)
                        execute("RELEASE work")
                    execute(sql.seq_store.sqlite, {"ws": ws, "seq": seq})
                    execute("COMMIT")
                    for _, future in batch:
                        future.set_result(seq)

            async def client(calls: int) -> None:
                for _ in range(calls):
                    future = asyncio.get_running_loop().create_future()
                    waiting.append((key(), future))
                    arrived.set()
                    await future

            task = asyncio.create_task(writer())
            await asyncio.gather(*(client(count // WRITERS) for _ in range(WRITERS)))
            task.cancel()

        async def our_group(count: int) -> None:
            async def client(calls: int) -> None:
                for _ in range(calls):
                    await db.write_async("acme", note(key()), CALL)

            await asyncio.gather(*(client(count // WRITERS) for _ in range(WRITERS)))

        def our_threads(count: int) -> None:
            threads = [
                threading.Thread(target=our_single, args=(count // WRITERS,))
                for _ in range(WRITERS)
            ]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        figures = interleave(
            {
                "bare": rate(1000, bare_single),
                "one": rate(1000, our_single),
                "bare-loop": rate(6400, lambda n: asyncio.run(bare_group(n))),
                "64-tasks": rate(6400, lambda n: asyncio.run(our_group(n))),
                "64-threads": rate(3200, our_threads),
            }
        )
        db.close()
    report("store-one-writer", figures.ratio("one", "bare"), ">=0.6", figures)
    report("store-64-writers-floor", figures.ratio("64-tasks", "bare-loop"), ">=0.4")
    report("store-64-writers-one", figures.ratio("64-tasks", "one"), ">=4.0")


if __name__ == "__main__":
    main()
