"""The store on PostgreSQL, compared with bare psycopg writing the same rows.

Per call, every contestant durably writes one log row, one table row and the new sequence number.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import msgspec
import psycopg

from bench._harness import interleave, report
from bench.store import CALL, DATA, Keys, note
from longhouse.store.database import Database
from longhouse.store.postgres import PostgresEngine
from longhouse.store.queries import Query
from longhouse.store.tx import sql
from tools.postgres import Postgres

WRITERS = 16


def at_once(workers: list[Callable[[int], None]], count: int) -> Callable[[], float]:
    """The calls per second of all workers together; each makes its share of the calls."""

    def contestant() -> float:
        share = count // len(workers)
        threads = [threading.Thread(target=worker, args=(share,)) for worker in workers]
        started = time.perf_counter()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return share * len(workers) / (time.perf_counter() - started)

    return contestant


class Bare:
    """One connection and the same statements with nothing around them."""

    def __init__(self, url: str, workspace: str, key: Keys) -> None:
        self.db = psycopg.connect(
            url, autocommit=False, prepare_threshold=0, cursor_factory=psycopg.RawCursor
        )
        self.db.execute("SET search_path TO longhouse")
        self.execute(sql.workspace_add, {"name": workspace, "guard": None, "now": CALL.now_ms})
        self.db.commit()
        self.workspace = workspace
        self.key = key

    def execute(self, query: Query, params: dict[str, Any]) -> psycopg.Cursor[Any]:
        text, names = query.postgres
        return self.db.execute(text, [params[name] for name in names])

    def __call__(self, count: int) -> None:
        execute = self.execute
        for _ in range(count):
            row = execute(sql.workspace_lock, {"name": self.workspace}).fetchone()
            assert row is not None
            ws, seq = row[0], row[1] + 1
            execute(
                sql.log_append,
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
            execute(
                sql.idempotency_put,
                {
                    "ws": ws,
                    "key": self.key(),
                    "cmd": "jobs.report",
                    "digest": "d" * 64,
                    "ts_ms": CALL.now_ms,
                    "answer": '{"ok":true}',
                },
            )
            execute(sql.seq_store, {"ws": ws, "seq": seq})
            self.db.commit()


def main() -> None:
    server = Postgres()
    try:
        key = Keys()
        db = Database(PostgresEngine(server.url()))

        def writer(workspace: str) -> Callable[[int], None]:
            def work(count: int) -> None:
                for _ in range(count):
                    db.write(workspace, note(key()), CALL)

            return work

        bare = [Bare(server.url(), f"bare-{n}", key) for n in range(WRITERS)]
        figures = interleave(
            {
                "one": at_once([writer("acme")], 300),
                "16-of-one": at_once([writer("acme")] * WRITERS, 1600),
                "16-workspaces": at_once([writer(f"ours-{n}") for n in range(WRITERS)], 1600),
                "bare-16": at_once(list(bare), 1600),
                "bare-one": at_once(list(bare[:1]), 300),
            }
        )
        for one in bare:
            one.db.close()
        db.close()
    finally:
        server.stop()
    report("postgres-one-workspace", figures.ratio("16-of-one", "one"), ">=2.0", figures)
    report("postgres-16-workspaces", figures.ratio("16-workspaces", "bare-16"), ">=0.8")


if __name__ == "__main__":
    main()
