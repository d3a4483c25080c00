"""What runs often costs the same however many jobs there are: each query goes by its own index."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhouse.jobs.room import sql
from longhouse.store.sqlite import SqliteEngine

PLANS = {
    "active_of_task": "jobs_of_task (ws=? AND task_id=?)",
    "after_of": "job_after_of (ws=? AND n=?)",
    "after_this": "PRIMARY KEY (ws=? AND after_n=?)",
    "claim_delayed": "jobs_delayed (ws=? AND not_before_ms>? AND not_before_ms<?)",
    "claim_due": "jobs_delayed (ws=? AND not_before_ms>? AND not_before_ms<?)",
    "claim_expired": "jobs_leased (ws=? AND claim_expires_at_ms<?)",
    "claim_head": "jobs_ready (ws=? AND route>?)",
    "claim_look": "jobs_ready (ws=?)",
    "count_up_to": "jobs_by_status (ws=? AND status=?)",
    "job_claim": "(ws=? AND n=?)",
    "job_end": "(ws=? AND n=?)",
    "job_report": "(ws=? AND n=?)",
    "jobs_newest_of_anchor": "jobs_of_anchor (ws=? AND anchor_id=? AND n<?)",
    "jobs_newest_of_status": "jobs_by_status (ws=? AND status=? AND n<?)",
    "jobs_newest_of_task": "jobs_of_task (ws=? AND task_id=? AND n<?)",
    "next_expiry": "jobs_leased (ws=? AND claim_expires_at_ms>?)",
    "radar_active": "jobs_active (ws=?)",
    "radar_of_anchor": "jobs_of_anchor (ws=? AND anchor_id=?)",
    "radar_of_status": "jobs_by_status (ws=? AND status=?)",
    "radar_of_task": "jobs_of_task (ws=? AND task_id=?)",
    "radar_stale": "jobs_leased (ws=? AND claim_expires_at_ms<?)",
    "running_of": "jobs_of_runner (ws=? AND runner_id=?)",
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
    few = name.endswith(("_of_task", "_of_anchor"))  # a task has few jobs: sorting them is cheap
    assert few or "TEMP B-TREE" not in plan
