"""Jobs, durable: a whole life beside bare code and peers, claims and radar at scale, the wake-up.

A life is four commits: create, claim, report, complete. The floor makes the same four commits with
the same statements and nothing around them. Peers run when installed (`requirements-peers.in`).
"""

from __future__ import annotations

import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import apsw

from bench._harness import Figures, interleave, report
from bench._peers import peers
from bench._peers_postgres import peers_on_postgres
from longhouse.config import load
from longhouse.house import House
from longhouse.jobs.room import sql
from longhouse.jobs.routing import Need
from longhouse.store.sqlite import SqliteEngine
from longhouse.store.tx import sql as store
from tools.postgres import Postgres

CLIENTS = 16
NOW = 1_800_000_000_000
NOTHING = {"input_tokens": 0, "output_tokens": 0, "cost_microusd": 0, "runtime": None}
DATA = '{"message":"half of it is done","status":"RUNNING","revision":1,"runner_id":"r1"}'


@contextmanager
def opened(folder: str, name: str, **flags: str) -> Iterator[House]:
    flags |= {"dir": str(Path(folder) / name), "workspace": "bench"}
    with House(load(flags, environ={}, cwd=Path(folder))) as house:
        yield house


def call(house: House, cmd: str, **args: Any) -> dict[str, Any]:
    answer = house.call(cmd, args)
    assert answer.success, answer.envelope["error"]
    result: dict[str, Any] = answer.envelope["result"]
    return result


def life(house: House, runner: str) -> None:
    """One job from its creation to its end; with others around, whichever job is next."""
    call(house, "jobs.create", title="Look", prompt="Look at it.")
    job = call(house, "jobs.claim", runner_id=runner)["job"]
    fence = {"job": job["id"], "runner_id": runner, "claim_revision": job["revision"]}
    call(house, "jobs.report", **fence, message="half of it is done")
    call(house, "jobs.complete", **fence, status="DONE", summary="done")


class Bare:
    """The same four commits with the same rows."""

    def __init__(self, path: Path) -> None:
        SqliteEngine(path).close()
        self.db = apsw.Connection(str(path), statementcachesize=256)
        self.db.execute("PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON")
        self.db.execute(store.workspace_add.sqlite, {"name": "bench", "guard": None, "now": NOW})
        self.n = 0

    def life(self) -> None:
        self.n += 1
        n, fence = self.n, {"runner_id": "r1", "revision": 1, "n": self.n}
        need = {"route": Need().route(), "task_id": None, "anchor_id": None}
        counter = {"name": "job", "value": n}
        spec = {"n": n, "prompt": "Look at it.", "meta": '{"executor":"auto"}'}
        new = {"n": n, "title": "Look", "kind": "codex_cli", "priority": 1, "require_proof": 0}
        new |= {"max_attempts": 1, "retry_backoff_ms": 0, "waits": 0, "not_before_ms": 0}
        new |= {"status": "QUEUED", "created_at_ms": NOW}
        self.commit("created", (store.counter_now, counter), (store.counter_store, counter),
                    (sql.spec_add, spec), (sql.job_add, new | need),
                    (sql.leases_active, {"limit": 200}))  # fmt: skip
        claim = {"n": n, "runner_id": "r1", "expires": NOW + 1, "allow_stale": 0}
        self.commit("claimed", (sql.claim_look, claim), (sql.job_claim, claim))
        said = {"kind": "progress", "proof": 0, "percent": None, "expires": NOW + 1}
        self.commit("progress", (sql.job_report, fence | said | NOTHING))
        end = {"status": "DONE", "failed": 0, "proved": 1, "summary": "done", "refs": "[]"}
        self.commit("completed", (sql.job_end, fence | end | NOTHING))

    def commit(self, kind: str, *statements: tuple[Any, dict[str, Any]]) -> None:
        execute = self.db.execute
        execute("BEGIN IMMEDIATE")
        ((ws, seq, _),) = execute(store.workspace_lock.sqlite, {"name": "bench"})
        now = {"seq": seq + 1, "last_seq": seq + 1, "now": NOW}
        for query, params in statements:
            list(execute(query.sqlite, {**params, **now, "ws": ws}))
        row = {"ws": ws, "seq": seq + 1, "ts_ms": NOW, "stream": "jobs", "actor": None,
               "subject": f"JOB-{self.n:03d}", "kind": kind, "data": DATA, "span": 1}  # fmt: skip
        execute(store.log_append.sqlite, row)
        execute(store.seq_store.sqlite, {"ws": ws, "seq": seq + 1})
        execute("COMMIT")


def rate(count: int, work: Callable[[], object]) -> Callable[[], float]:
    def contestant() -> float:
        started = time.perf_counter()
        for _ in range(count):
            work()
        return count / (time.perf_counter() - started)

    return contestant


def crowd(count: int, work: Callable[[int], object], clients: int = CLIENTS) -> list[float]:
    """What each client took for its share, started together."""
    took = [0.0] * clients
    gate = threading.Barrier(clients)

    def client(index: int) -> None:
        gate.wait()
        started = time.perf_counter()
        for _ in range(count // clients):
            work(index)
        took[index] = time.perf_counter() - started

    threads = [threading.Thread(target=client, args=(index,)) for index in range(clients)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return took


def sixteen(house: House) -> Callable[[], float]:
    """Lives per second of sixteen clients at once."""
    return lambda: 480 / max(crowd(480, lambda index: life(house, f"r{index}")))


def lives(folder: str) -> None:
    bare = Bare(Path(folder) / "bare.db")
    with opened(folder, "lives") as house:
        contestants = {
            "bare": rate(150, bare.life),
            "one": rate(150, lambda: life(house, "r1")),
            "sixteen": sixteen(house),
        }  # fmt: skip
        found = peers(Path(folder))
        figures = interleave({**contestants, **found}, rounds=5)
        report("jobs-life-one-client", figures.ratio("one", "bare"), ">=0.6", figures)
        report("jobs-life-16-clients", figures.ratio("sixteen", "bare"), ">=1.0")
        for name in found:
            report(f"jobs-16-clients-{name}", figures.ratio("sixteen", name), ">=1.0")
        took = crowd(400, lambda index: life(house, f"f{index}"), clients=4)
        report("jobs-fair-4-workers", min(took) / max(took), ">=0.5")


def postgres(folder: str) -> None:
    """Sixteen clients beside the queues that live on PostgreSQL, as they are measured.

    What those do with sixteen clients of their own is shown as well.
    """
    least = {"pgqueuer": ">=1.0", "procrastinate": ">=3.0", "dbos": ">=3.0"}
    with ExitStack() as stack:
        server = Postgres()
        stack.callback(server.stop)
        found = peers_on_postgres(server, stack)
        house = stack.enter_context(opened(folder, "postgres", db=server.url()))
        figures = interleave({"sixteen": sixteen(house), **found}, rounds=3)
        for name, rates in figures.raw.items():
            print(f"# {name} on PostgreSQL:", *(f"{rate:.4g}" for rate in rates))
        for name in found:
            ratio = figures.ratio("sixteen", name)
            if name in least:
                report(f"jobs-postgres-{name}", ratio, least[name])
            else:
                print(f"# {ratio:.3f} of {name}")


def bulk(house: House, text: str, params: dict[str, Any] | None = None) -> None:
    """Change many rows behind the house's back, as no command does."""
    path = house.settings.db
    db = apsw.Connection(path)
    db.execute("PRAGMA busy_timeout=10000; PRAGMA synchronous=OFF")
    db.execute(text, params or {})
    db.close()


def fill(house: House, queued: int) -> None:
    """Queue many jobs at once, as creating them one by one would leave them."""
    call(house, "jobs.create", title="seed", prompt="p")
    bulk(
        house,
        """
        WITH RECURSIVE numbers (n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM numbers WHERE n < :last)
        INSERT INTO jobs (ws, n, title, kind, priority, route, require_proof, max_attempts,
            retry_backoff_ms, created_at_ms, created_seq, status, updated_at_ms, last_seq)
        SELECT ws, numbers.n, title, kind, numbers.n % 3, route, 0, 1, 0, :now, 1, 'QUEUED', :now, 1
        FROM jobs, numbers WHERE jobs.n = 1
        """,
        {"last": queued, "now": NOW},
    )
    bulk(house, "INSERT INTO job_specs SELECT ws, n, 'p', '{}' FROM jobs WHERE n > 1")
    bulk(house, "UPDATE counters SET value = :last WHERE name = 'job'", {"last": queued})


def claims(folder: str) -> None:
    """Claim out of a thousand and out of a million."""
    with opened(folder, "small") as small, opened(folder, "large") as large:
        fill(small, 1_000)
        fill(large, 1_000_000)
        figures = interleave(
            {
                "1,000": rate(60, lambda: call(small, "jobs.claim", runner_id="r1")),
                "1,000,000": rate(60, lambda: call(large, "jobs.claim", runner_id="r1")),
            }
        )
    report("jobs-claim-of-1M", 1 / figures.ratio("1,000,000", "1,000"), "<=1.5", figures)


def radar(folder: str) -> None:
    """The radar over a hundred jobs, and over 100,000 with a million events."""
    with opened(folder, "radar-small") as small, opened(folder, "radar-large") as large:
        for house, jobs in ((small, 100), (large, 100_000)):
            fill(house, jobs)
            bulk(
                house,
                """
                WITH RECURSIVE ten (k) AS (SELECT 1 UNION ALL SELECT k + 1 FROM ten WHERE k < 10)
                INSERT INTO log (ws, seq, ts_ms, stream, subject, kind, actor, data)
                SELECT ws, n * 10 + k, :now, 'jobs', printf('JOB-%03d', n), 'progress', NULL, :data
                FROM jobs, ten;
                """,
                {"now": NOW, "data": DATA},
            )
            bulk(house, "UPDATE jobs SET last_seq = n * 10 + 10")
            bulk(house, "UPDATE workspaces SET seq = 2000000")
            for _ in range(30):
                job = call(house, "jobs.claim", runner_id="r1")["job"]
                fence = {"job": job["id"], "runner_id": "r1", "claim_revision": job["revision"]}
                call(house, "jobs.report", **fence, message="which?", kind="question")
        figures = interleave(
            {
                "100": rate(40, lambda: call(small, "jobs.radar")),
                "100,000": rate(40, lambda: call(large, "jobs.radar")),
            }
        )
    report("jobs-radar-100k", 1 / figures.ratio("100,000", "100"), "<=2.0", figures)


def waking(folder: str) -> None:
    """From jobs.create to a claimer that waits: the median against fifty milliseconds."""
    with opened(folder, "waking") as house:
        times: list[float] = []
        for _ in range(40):
            claimed: list[float] = []
            started: list[float] = []
            ready = threading.Event()

            def claimer(claimed: list[float] = claimed, ready: threading.Event = ready) -> None:
                ready.set()
                while not call(house, "jobs.wait", runner_id="r1").get("claimable"):
                    pass
                assert call(house, "jobs.claim", runner_id="r1")["job"]
                claimed.append(time.perf_counter())

            thread = threading.Thread(target=claimer)
            thread.start()
            ready.wait()
            time.sleep(0.005)
            started.append(time.perf_counter())
            call(house, "jobs.create", title="Look", prompt="Look at it.")
            thread.join()
            times.append(claimed[0] - started[0])
    figures = Figures({"seconds": tuple(times)})
    report("jobs-wake-up-50ms", statistics.median(times) / 0.050, "<=1.0", figures)


def main() -> None:
    parts = [lives, postgres, claims, radar, waking]
    wanted = sys.argv[1:]
    for part in [p for p in parts if not wanted or p.__name__ in wanted]:
        with tempfile.TemporaryDirectory(prefix="longhouse-bench-") as folder:
            part(folder)


if __name__ == "__main__":
    main()
