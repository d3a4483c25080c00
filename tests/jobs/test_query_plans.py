"""Frequent queries cost the same however many jobs there are: each uses its own index.

On SQLite, whatever statistics the planner has; on PostgreSQL, with the generic plan of a prepared
statement, before and after the server has analyzed its tables.
"""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from longhouse.jobs.room import sql
from longhouse.store.postgres import PostgresEngine
from longhouse.store.sqlite import SqliteEngine

PLANS = {
    "active_of_task": "jobs_of_task (ws=? AND task_id=?)",
    "after_of": "job_after_of (ws=? AND n=?)",
    "after_this": "PRIMARY KEY (ws=? AND after_n=?)",
    "after_this_in_all": "sqlite_autoindex_jobs_1 (ws=? AND n>? AND n<?)",
    "claim_delayed": "jobs_delayed (ws=? AND not_before_ms>? AND not_before_ms<?)",
    "claim_due": "jobs_delayed (ws=? AND not_before_ms>? AND not_before_ms<?)",
    "claim_expired": "jobs_by_status (ws=? AND status=?)",
    "claim_head": "jobs_ready (ws=? AND route>?)",
    "claim_look": "jobs_ready (ws=?)",
    "count_up_to": "jobs_by_status (ws=? AND status=?)",
    "job_claim": "(ws=? AND n=?)",
    "job_end": "(ws=? AND n=?)",
    "job_report": "(ws=? AND n=?)",
    "jobs_newest_of_anchor": "jobs_of_anchor (ws=? AND anchor_id=? AND n<?)",
    "jobs_newest_of_status": "jobs_by_status (ws=? AND status=? AND n<?)",
    "jobs_newest_of_task": "jobs_of_task (ws=? AND task_id=? AND n<?)",
    "leases_active": "jobs_of_runner (ws=? AND runner_id=?)",
    "next_expiry": "jobs_by_status (ws=? AND status=?)",
    "radar_active": "jobs_active (ws=?)",
    "radar_of_anchor": "jobs_of_anchor (ws=? AND anchor_id=?)",
    "radar_of_status": "jobs_by_status (ws=? AND status=?)",
    "radar_of_task": "jobs_of_task (ws=? AND task_id=?)",
    "radar_stale": "jobs_by_status (ws=? AND status=?)",
    "usage_of_task": "jobs_of_task (ws=? AND task_id=?)",
}


class Anything(dict[str, int]):
    """Binds every name."""

    def __missing__(self, key: str) -> int:
        return 1


@pytest.mark.parametrize("name", PLANS)
def test_a_query_goes_by_its_index(tmp_path: Path, name: str) -> None:
    engine = SqliteEngine(tmp_path / "plans.db")
    text = getattr(sql, name).sqlite
    with engine.reader() as reader:
        rows = reader.db.execute(f"EXPLAIN QUERY PLAN {text}", Anything()).fetchall()
    engine.close()
    plan = "\n".join(str(row[3]) for row in rows)
    assert PLANS[name] in plan
    assert "SCAN jobs" not in plan
    # A task has few jobs, few are running, and there are few runners: sorting them is cheap.
    few = name.endswith(("_of_task", "_of_anchor", "_expired", "_stale", "leases_active"))
    assert few or "TEMP B-TREE" not in plan


BY_KEY = {query.name.rpartition(".")[2] for query in sql if "AND n = :n" in query.sqlite}
"""The queries about one job."""

ON_POSTGRES = {
    **{name: "jobs_pkey" for name in BY_KEY if name.startswith(("job_", "after_"))},
    "active_of_task": "jobs_of_task",
    "claim_delayed": "jobs_delayed",
    "claim_due": "jobs_delayed",
    "claim_head": "jobs_ready",
    "claim_look": "jobs_ready",
    "count_up_to": "jobs_by_status",
    "jobs_newest_of_status": "jobs_by_status",
    "jobs_oldest_of_status": "jobs_by_status",
    "leases_active": "jobs_of_runner",
    "radar_active": "jobs_active",
    "radar_of_status": "jobs_by_status",
    "radar_of_task": "jobs_of_task",
    "usage_of_task": "jobs_of_task",
}
OF_UPKEEP = {"after_all", "claims_of_nobody", "refs_to_processes"}
"""Read all jobs, once per import, removal of old output or moment of the past: too rare to justify
an index."""

MANY = """
INSERT INTO workspaces (ws, name, seq, created_at_ms) VALUES (1, 'acme', 40000, 0);
INSERT INTO jobs (ws, n, title, kind, priority, task_id, route, require_proof, max_attempts,
    retry_backoff_ms, created_at_ms, created_seq, status, runner_id, claim_expires_at_ms,
    not_before_ms, updated_at_ms, last_seq)
SELECT 1, n, 't', 'k', n % 3, 'TASK-' || n % 5000, '{}', 0, 1, 0, 0, n,
    CASE WHEN n % 1000 = 0 THEN 'RUNNING' WHEN n % 100 = 1 THEN 'QUEUED' WHEN n % 1000 = 2
         THEN 'FAILED' ELSE 'DONE' END,
    'r' || n % 20, n, CASE WHEN n % 10000 = 1 THEN n ELSE 0 END, n, n
FROM generate_series(1, 40000) n;
INSERT INTO job_specs SELECT 1, n, 'p', '{}' FROM generate_series(1, 40000) n;
INSERT INTO job_after SELECT 1, n, n + 1 FROM generate_series(1, 40000, 20) n;
INSERT INTO runner_leases
SELECT 1, 'r' || n, 'idle', NULL, n, 1, '{}', '{}', 0, 0 FROM generate_series(1, 2000) n;
"""


def test_one_job_is_found_by_its_key_and_none_by_reading_all(postgres_url: str) -> None:
    PostgresEngine(postgres_url).close()
    with psycopg.connect(postgres_url) as db:
        db.execute("SET search_path TO longhouse")
        db.execute(MANY)
        for known in (False, True):
            if known:
                db.execute("ANALYZE")
            for query in sql:
                name = query.name.rpartition(".")[2]
                if name in OF_UPKEEP:
                    continue
                text = b"EXPLAIN (GENERIC_PLAN, COSTS OFF) " + query.postgres.text
                plan = "\n".join(row[0] for row in db.execute(text))
                assert "Seq Scan on job" not in plan, (name, plan)
                if name in ON_POSTGRES and (known or name in BY_KEY):
                    assert f" {ON_POSTGRES[name]} " in plan, (name, plan)
        db.rollback()
