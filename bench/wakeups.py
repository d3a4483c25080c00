"""Wake-ups: from a commit in one process to a waiting reader in another, on both engines.

The figure is the median in milliseconds, so the promised ratio is also in milliseconds.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

from bench._harness import report
from bench.store import CALL, note
from longhouse.store.database import Database
from longhouse.store.engine import StoreEngine
from longhouse.store.sqlite import SqliteEngine
from longhouse.store.tx import Tx, sql
from tools.postgres import Postgres

COMMITS = 60


def open_engine(where: str) -> StoreEngine:
    if not where.startswith("postgresql"):
        return SqliteEngine(Path(where))
    from longhouse.store.postgres import PostgresEngine

    return PostgresEngine(where)


def write(where: str) -> None:
    """The other process: commits at intervals; prints each seq with the time after its commit."""
    db = Database(open_engine(where))
    db.write("acme", note("first"), CALL)
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(COMMITS):
        time.sleep(0.03)
        print(db.write("acme", note(f"key-{number}"), CALL), time.monotonic(), flush=True)
    db.close()


def delays_ms(where: str) -> list[float]:
    """The time from each commit until this process had read the row."""
    db = Database(open_engine(where))
    argv = [sys.executable, "-m", "bench.wakeups", where]
    writer = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert writer.stdin is not None
    assert writer.stdout is not None
    assert writer.stdout.readline() == "ready\n"
    db.wakeups.wait("acme", 0, 10)

    def look(tx: Tx) -> int:
        rows = tx.all(sql.log_after, after=seen, limit=100)
        return int(rows[-1]["seq"]) if rows else seen

    heard: dict[int, float] = {}
    seen = 1
    writer.stdin.write("go\n")
    writer.stdin.flush()
    while seen < COMMITS + 1:
        if not db.wakeups.wait("acme", seen, 10):
            raise TimeoutError(f"nothing heard after seq {seen}")
        latest = db.read("acme", look, CALL)
        now = time.monotonic()
        heard |= dict.fromkeys(range(seen + 1, latest + 1), now)
        seen = latest
    printed = writer.communicate()[0].split()
    db.close()
    committed = {int(s): float(t) for s, t in zip(printed[::2], printed[1::2], strict=True)}
    return [max(0.0, heard[seq] - at) * 1000 for seq, at in committed.items()]


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="longhouse-bench-") as folder:
        sqlite = delays_ms(str(Path(folder) / "longhouse.db"))
    server = Postgres()
    try:
        postgres = delays_ms(server.url())
    finally:
        server.stop()
    for name, delays, promise in (("sqlite", sqlite, "<=30"), ("postgres", postgres, "<=10")):
        print(f"# wakeup-{name}-ms worst {max(delays):.2f} of {len(delays)}")
        report(f"wakeup-{name}-ms", median(delays), promise)


if __name__ == "__main__":
    write(sys.argv[1]) if sys.argv[1:] else main()
