"""Durable jobs: a full life compared with bare code and with peers, claims and radar at scale, and
the wake-up.

A life is four commits: create, claim, report, complete. Like our runner, the clients send an
idempotency key with each claim, report and completion. The floor makes the same four commits with
the same rows and nothing around them. Peers run in an environment of their own (`_peers.py`); one
that is absent is a miss.
"""

from __future__ import annotations

import asyncio
import itertools
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import apsw
import psycopg
from psycopg.pq import ExecStatus

from bench._harness import Figures, interleave, report
from bench._peers import peers_at, running
from longhouse.config import load
from longhouse.dispatch.calls import Caller
from longhouse.house import House
from longhouse.jobs.room import sql
from longhouse.jobs.routing import Need
from longhouse.kernel.envelope import Answer
from longhouse.kernel.registry import Role
from longhouse.store.queries import Query
from longhouse.store.recall.room import sql as recall
from longhouse.store.sqlite import SqliteEngine
from longhouse.store.tx import sql as store
from tools.postgres import Postgres

CLIENTS = 16
NOW = 1_800_000_000_000
NOTHING = {
    "input_tokens": 0,
    "output_tokens": 0,
    "cost_microusd": 0,
    "uncosted": 0,
    "runtime": None,
}
DATA = '{"message":"half of it is done","status":"RUNNING","revision":1,"runner_id":"r1"}'

OWNER = "operator"
ANSWER = '{"job":{"id":"JOB-001","title":"Look","status":"RUNNING"},"event":' + DATA + "}"


@contextmanager
def opened(folder: str, name: str, **flags: str) -> Iterator[House]:
    flags |= {"dir": str(Path(folder) / name), "workspace": "bench"}
    with House(load(flags, environ={}, cwd=Path(folder))) as house:
        yield house


def result_of(answer: Answer) -> dict[str, Any]:
    assert answer.success, answer.envelope["error"]
    result: dict[str, Any] = answer.envelope["result"]
    return result


def call(house: House, cmd: str, **args: Any) -> dict[str, Any]:
    return result_of(house.call(cmd, args))


KEYS = itertools.count()


def new_key() -> dict[str, str]:
    return {"idempotency_key": f"{next(KEYS):032x}"}


def claim(house: House, runner: str) -> dict[str, Any]:
    return call(house, "jobs.claim", runner_id=runner, **new_key())


Steps = Generator[tuple[str, dict[str, Any]], dict[str, Any], None]


def steps(runner: str) -> Steps:
    """The calls of one job's life; with other clients, it claims whichever job is next."""
    yield "jobs.create", {"title": "Look", "prompt": "Look at it."}
    job = (yield "jobs.claim", {"runner_id": runner, **new_key()})["job"]
    fence = {"job": job["id"], "runner_id": runner, "claim_revision": job["revision"]}
    yield "jobs.report", {**fence, "message": "half of it is done", **new_key()}
    yield "jobs.complete", {**fence, "status": "DONE", "summary": "done", **new_key()}


def life(house: House, runner: str) -> None:
    calls = steps(runner)
    cmd, args = next(calls)
    with suppress(StopIteration):
        while True:
            cmd, args = calls.send(call(house, cmd, **args))


async def life_async(house: House, runner: str) -> None:
    calls, me = steps(runner), Caller(Role.OPERATOR)
    cmd, args = next(calls)
    with suppress(StopIteration):
        while True:
            cmd, args = calls.send(result_of(await house.dispatcher.call_async(cmd, args, me)))


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
        n, fence = self.n, {"runner_id": "r1", "owner": OWNER, "revision": 1, "n": self.n}
        fence["identity"] = None
        need = {"route": Need().route(), "task_id": None, "anchor_id": None}
        counter = {"name": "job", "value": n}
        spec = {"n": n, "prompt": "Look at it.", "meta": '{"executor":"auto"}'}
        new = {"n": n, "title": "Look", "kind": "codex_cli", "priority": 1, "require_proof": 0}
        new |= {"max_attempts": 1, "retry_backoff_ms": 30_000, "waits": 0, "not_before_ms": 0}
        new |= {"status": "QUEUED", "created_at_ms": NOW}
        new |= {"deadline_ms": 0, "max_tokens": 0, "max_cost_microusd": 0}
        new |= {"creator": OWNER, "creator_agent": None}
        self.commit(
            "created",
            (store.counter_now, counter),
            (store.counter_store, counter),
            (sql.spec_add, spec),
            (sql.job_add, new | need),
            (sql.leases_active, {"limit": 200}),
            _indexed(b"\nlook\t88\njob\t40\n001\t40\njob001\t40"),
        )
        taken = {"n": n, "runner_id": "r1", "owner": OWNER, "agent": None, "in_crew": 0}
        taken |= {"expires": NOW + 1, "allow_stale": 0, "identity": None}
        self.commit(
            "claimed", *self.keyed("claim"), (sql.claim_look, taken), (sql.job_claim, taken)
        )
        said = {"kind": "progress", "proof": 0, "percent": None, "expires": NOW + 1, "tells": 0}
        report = (sql.job_report, fence | said | NOTHING)
        self.commit("progress", *self.keyed("report"), report, _indexed(b"\nhalf\t08\ndone\t08"))
        end = {"status": "DONE", "failed": 0, "proved": 1, "summary": "done", "refs": "[]"}
        done = (sql.job_end, fence | end | NOTHING)
        self.commit("completed", *self.keyed("complete"), done, _indexed(b"\ndone\t10"))

    def keyed(self, cmd: str) -> list[tuple[Any, dict[str, Any]]]:
        """The extra reads and writes of a call with a key."""
        key = f"{cmd}-{self.n:024d}"
        row: dict[str, Any] = {
            "name": "bench",
            "key": key,
            "keys": f'["{key}"]',
            "cmd": f"jobs.{cmd}",
        }
        row |= {"digest": "d" * 64, "ts_ms": NOW, "answer": ANSWER}
        return [(store.idempotency_of, row), (store.idempotency_put, row)]

    def commit(self, kind: str, *statements: tuple[Any, dict[str, Any]]) -> None:
        execute = self.db.execute
        execute("BEGIN IMMEDIATE")
        ((ws, seq, *_),) = execute(store.workspace_lock.sqlite, {"name": "bench"})
        now = {"seq": seq + 1, "last_seq": seq + 1, "now": NOW}
        for query, params in statements:
            list(execute(query.sqlite, {**params, **now, "ws": ws}))
        row = {
            "ws": ws,
            "seq": seq + 1,
            "ts_ms": NOW,
            "stream": "jobs",
            "actor": None,
            "subject": f"JOB-{self.n:03d}",
            "kind": kind,
            "data": DATA,
            "span": 1,
        }
        execute(store.log_append.sqlite, row)
        execute(store.seq_store.sqlite, {"ws": ws, "seq": seq + 1})
        execute("COMMIT")


def _indexed(terms: bytes) -> tuple[Any, dict[str, Any]]:
    """The row by which search finds what was said."""
    terms += b"\n\x01all \t01\n\x01kind job\t01\n"
    return recall.fresh_add, {"part": "job", "terms": terms}


def rate(count: int, work: Callable[[], object]) -> Callable[[], float]:
    def contestant() -> float:
        started = time.perf_counter()
        for _ in range(count):
            work()
        return count / (time.perf_counter() - started)

    return contestant


def crowd(count: int, work: Callable[[int], object], clients: int = CLIENTS) -> list[float]:
    """The time each client took for its share; all start together."""
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


LIVES = 480


def in_threads(house: House) -> float:
    """Lives per second with sixteen threads."""
    return LIVES / max(crowd(LIVES, lambda index: life(house, f"r{index}")))


def in_tasks(house: House) -> float:
    """Lives per second with sixteen tasks on one event loop."""

    async def client(index: int) -> None:
        for _ in range(LIVES // CLIENTS):
            await life_async(house, f"r{index}")

    async def all_of_them() -> float:
        started = time.perf_counter()
        await asyncio.gather(*(client(index) for index in range(CLIENTS)))
        return LIVES / (time.perf_counter() - started)

    return asyncio.run(all_of_them())


def lives(folder: str) -> None:
    bare = Bare(Path(folder) / "bare.db")
    with opened(folder, "lives") as house, running("huey", folder) as peer:
        contestants: dict[str, Callable[[], float]] = {
            "bare": rate(150, bare.life),
            "one": rate(150, lambda: life(house, "r1")),
            "threads": partial(in_threads, house),
            "tasks": partial(in_tasks, house),
        }
        found = peers_at({"huey": peer})
        figures = interleave({**contestants, **found}, rounds=5)
        report("jobs-life-one-client", figures.ratio("one", "bare"), ">=0.6", figures)
        report("jobs-life-16-clients", figures.ratio("threads", "bare"), ">=1.0")
        for name in found:
            report(f"jobs-16-clients-{name}", figures.ratio("threads", name), ">=1.0")
            report(f"jobs-16-tasks-{name}", figures.ratio("tasks", name), ">=1.2")
        took = crowd(400, lambda index: life(house, f"f{index}"), clients=4)
        report("jobs-fair-4-workers", min(took) / max(took), ">=0.5")


def new_db(server: Postgres, name: str) -> str:
    """The URL of a new database."""
    with psycopg.connect(server.url(), autocommit=True) as db:
        db.execute(f'CREATE DATABASE "{name}"'.encode())
    return server.url(name)


def postgres(folder: str) -> None:
    """Sixteen clients compared with queues built on PostgreSQL.

    Peers made for event loops run as tasks on one loop, and so do our clients. The figures for
    peers with sixteen clients, and for ours as threads, are printed as well.
    """
    least = {"pgqueuer": ">=1.0", "procrastinate": ">=3.0", "dbos": ">=3.0"}
    with ExitStack() as stack:
        server = Postgres()
        stack.callback(server.stop)
        peers = {name: stack.enter_context(running(name, new_db(server, name))) for name in least}
        found = peers_at(peers)
        house = stack.enter_context(opened(folder, "postgres", db=server.url()))
        ours = {"tasks": partial(in_tasks, house), "threads": partial(in_threads, house)}
        figures = interleave({**ours, **found}, rounds=5)
        for name, rates in figures.raw.items():
            print(f"# {name} on PostgreSQL:", *(f"{rate:.4g}" for rate in rates))
        for name in found:
            if name in least:
                report(f"jobs-postgres-{name}", figures.ratio("tasks", name), least[name])
            else:
                print(f"# sixteen tasks: {figures.ratio('tasks', name):.3f} of {name}")
            print(f"# sixteen threads: {figures.ratio('threads', name):.3f} of {name}")


DIGITS = "(VALUES (0), (1), (2), (3), (4), (5), (6), (7), (8), (9))"
TO_A_MILLION = f"""(
    SELECT 1 + a.x + 10 * b.x + 100 * c.x + 1000 * d.x + 10000 * e.x + 100000 * f.x AS n
    FROM {", ".join(f"(SELECT column1 AS x FROM {DIGITS} AS digits) AS {d}" for d in "abcdef")}
)"""


def bulk(house: House, text: str, **params: int | str) -> None:
    """Change many rows directly in the database, as no command does."""
    query = Query("bulk", text, text)
    if house.db.engine.local:
        with closing(apsw.Connection(house.settings.db)) as db:
            db.execute("PRAGMA busy_timeout=10000; PRAGMA synchronous=OFF")
            db.execute(query.sqlite, params)
        return
    with psycopg.connect(house.settings.db, options="-c search_path=longhouse") as db:
        values = [str(params[name]).encode() for name in query.postgres.names]
        result = db.pgconn.exec_params(query.postgres.text, values)
        assert result.status == ExecStatus.COMMAND_OK, result.get_error_message()


def known(house: House) -> None:
    """Analyze the tables, as PostgreSQL does on its own after a minute."""
    if not house.db.engine.local:
        bulk(house, "ANALYZE")


def fill(house: House, queued: int) -> None:
    """Queue many jobs at once, in the state that creating them one by one would leave."""
    call(house, "jobs.create", title="seed", prompt="p")
    bulk(
        house,
        f"""
        INSERT INTO jobs (ws, n, title, kind, priority, route, require_proof, max_attempts,
            retry_backoff_ms, created_at_ms, created_seq, status, updated_at_ms, last_seq)
        SELECT ws, numbers.n, title, kind, numbers.n % 3, route, 0, 1, 0, :now, 1, 'QUEUED', :now, 1
        FROM jobs, {TO_A_MILLION} AS numbers
        WHERE jobs.n = 1 AND numbers.n BETWEEN 2 AND CAST(:last AS INTEGER)
        """,
        last=queued,
        now=NOW,
    )
    bulk(house, "INSERT INTO job_specs SELECT ws, n, 'p', '{}' FROM jobs WHERE n > 1")
    bulk(house, "UPDATE counters SET value = :last WHERE name = 'job'", last=queued)
    known(house)


@contextmanager
def engines(folder: str) -> Iterator[Iterator[tuple[str, Callable[[str], House]]]]:
    """Each database by name, with a function that opens a new store in it."""
    with ExitStack() as stack:
        server = Postgres()
        stack.callback(server.stop)

        def on_sqlite(name: str) -> House:
            return stack.enter_context(opened(folder, name))

        def on_postgres(name: str) -> House:
            return stack.enter_context(opened(folder, name, db=new_db(server, name)))

        yield iter({"": on_sqlite, "postgres-": on_postgres}.items())


def claims(folder: str) -> None:
    """Claiming from a thousand queued jobs and from a million."""
    with engines(folder) as each:
        for engine, make in each:
            small, large = make(f"{engine}small"), make(f"{engine}large")
            fill(small, 1_000)
            fill(large, 1_000_000)
            figures = interleave(
                {
                    "1,000": rate(60, partial(claim, small, "r1")),
                    "1,000,000": rate(60, partial(claim, large, "r1")),
                }
            )
            ratio = 1 / figures.ratio("1,000,000", "1,000")
            report(f"jobs-{engine}claim-of-1M", ratio, "<=1.5", figures)


def radar(folder: str) -> None:
    """The radar over a hundred jobs, and over 100,000 with a million events."""
    with engines(folder) as each:
        for engine, make in each:
            small, large = make(f"{engine}radar-small"), make(f"{engine}radar-large")
            busy(small, 100)
            busy(large, 100_000)
            figures = interleave(
                {
                    "100": rate(40, partial(call, small, "jobs.radar")),
                    "100,000": rate(40, partial(call, large, "jobs.radar")),
                }
            )
            ratio = 1 / figures.ratio("100,000", "100")
            report(f"jobs-{engine}radar-100k", ratio, "<=2.0", figures)


def busy(house: House, jobs: int) -> None:
    """Fill a store with jobs of ten events each; thirty are running and have a question."""
    fill(house, jobs)
    bulk(
        house,
        f"""
        INSERT INTO log (ws, seq, ts_ms, stream, subject, kind, actor, data)
        SELECT jobs.ws, jobs.n * 10 + ten.n, :now, 'jobs',
            'JOB-' || CASE WHEN jobs.n < 10 THEN '00' WHEN jobs.n < 100 THEN '0' ELSE '' END
            || jobs.n, 'progress', NULL, :data
        FROM jobs, (SELECT 1 + column1 AS n FROM {DIGITS} AS digits) AS ten
        """,
        now=NOW,
        data=DATA,
    )
    bulk(house, "UPDATE jobs SET last_seq = n * 10 + 10")
    bulk(house, "UPDATE workspaces SET seq = 2000000")
    for _ in range(30):
        job = claim(house, "r1")["job"]
        fence = {"job": job["id"], "runner_id": "r1", "claim_revision": job["revision"]}
        call(house, "jobs.report", **fence, message="which?", kind="question")
    known(house)


def waking(folder: str) -> None:
    """The median time from jobs.create to a waiting claimer, compared with fifty milliseconds."""
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
                assert claim(house, "r1")["job"]
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
