"""Frequent queries cost the same at any number of tasks: each uses its own index."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from longhouse.store.sqlite import SqliteEngine
from longhouse.work.room import sql

PLANS = {
    "counts_of": "PRIMARY KEY (ws=? AND scope=?)",
    "dependencies_of": "(ws=? AND task_id=?)",
    "dependents_of": "task_dependents (ws=? AND depends_on=?)",
    "event_last": "log_of_work (ws=?)",
    "events_after": "log_of_work (ws=? AND seq>?)",
    "events_of_before": "log_of_subject (ws=? AND subject=? AND seq<?)",
    "leases_of_task": "steps_of_task (ws=? AND task_id=?)",
    "parked_due": "tasks_parked (ws=? AND plan_id=? AND parked_until_ts_ms>? AND "
    "parked_until_ts_ms<?)",
    "parked_next": "tasks_parked (ws=? AND plan_id=? AND parked_until_ts_ms>?)",
    "plan_by_title": "plans_by_title (ws=? AND title=?)",
    "plans_open_page": "plans_open (ws=? AND number>?)",
    "plans_page": "plans_by_number (ws=? AND number>?)",
    "plans_status_page": "plans_by_status (ws=? AND status=? AND number>?)",
    "proofs_of_task": "step_proofs_of_step (ws=? AND step_id=?)",
    "stale_count": "tasks_touched (ws=? AND plan_id=? AND updated_at_ms<?)",
    "steps_of_task": "steps_of_task (ws=? AND task_id=?)",
    "tasks_page": "tasks_by_number (ws=? AND number>?)",
    "tasks_ready_page": "tasks_ready (ws=? AND ready_at>?)",
    "tasks_with_traits": "PRIMARY KEY (ws=? AND trait=? AND number>?)",
}
FEW = ("dependencies_of", "dependents_of", "proofs_of_task", "steps_of_task")
"""These belong to one task, so sorting them is cheap."""


class Anything(dict[str, int]):
    """Binds every name."""

    def __missing__(self, key: str) -> int:
        return 1


@pytest.mark.parametrize("name", PLANS)
def test_a_query_goes_by_its_index(tmp_path: Path, name: str) -> None:
    SqliteEngine(tmp_path / "plans.db").close()
    db = apsw.Connection(str(tmp_path / "plans.db"))
    text = getattr(sql, name).sqlite
    plan = "\n".join(row[3] for row in db.execute(f"EXPLAIN QUERY PLAN {text}", Anything()))
    db.close()
    assert PLANS[name] in plan
    assert "SCAN tasks" not in plan
    assert "SCAN log" not in plan
    assert name in FEW or "TEMP B-TREE" not in plan, plan
