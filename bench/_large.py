"""A large workspace: 1,000 agents, 10,000 tasks, 10,000 jobs and 1,000,000 log rows."""

from __future__ import annotations

import time
from pathlib import Path

from bench.crew import Crew
from bench.jobs import DATA, TO_A_MILLION, bulk, call, fill, known
from longhouse.house import House

__all__ = ["make"]

AGENTS, TASKS, JOBS, ROWS = 1_000, 10_000, 10_000, 1_000_000
RESERVED = 200


def make(base: Path, db: str | None = None) -> None:
    """Fill and close the store in a folder; a tenth of the jobs are queued, the rest are done."""
    crew = Crew(base, AGENTS, db)
    house = crew.house
    with house:
        crew.work(TASKS)
        crew.reserve(RESERVED)
        crew.talk(AGENTS, TASKS)
        fill(house, JOBS)
        bulk(
            house,
            "UPDATE jobs SET status = 'DONE', completed_at_ms = :now WHERE n > :n",
            n=JOBS // 10,
            now=_now_ms(),
        )
        _history(house)
        known(house)


def _history(house: House) -> None:
    """Add as many log rows as years of work would."""
    head = call(house, "status")["seq"]
    bulk(
        house,
        f"""
        INSERT INTO log (ws, seq, ts_ms, stream, subject, kind, actor, data)
        SELECT jobs.ws, CAST(:head AS INTEGER) + numbers.n, :now, 'jobs',
            'JOB-' || (1000 + numbers.n % 9000), 'progress', 'r1', :data
        FROM jobs, {TO_A_MILLION} AS numbers WHERE jobs.n = 1 ORDER BY numbers.n
        """,
        head=head,
        now=_now_ms(),
        data=DATA,
    )
    bulk(house, "UPDATE workspaces SET seq = :last", last=head + ROWS)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
