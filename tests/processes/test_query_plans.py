"""The queries run for each keystroke cost the same, however much was typed before."""

from __future__ import annotations

from pathlib import Path

import psycopg
import pytest

from longhouse.processes.room import sql
from longhouse.store.postgres import PostgresEngine
from longhouse.store.sqlite import SqliteEngine
from tests.kit import Lh
from tests.processes.kit import Runner

PLANS = {
    "ops_count": "PRIMARY KEY (ws=? AND n=?)",
    "ops_waiting": "COVERING INDEX tool_ops_waiting (ws=? AND n=?)",
}

ON_POSTGRES = {
    "ops_count": "Index Only Scan Backward using tool_ops_pkey",
    "ops_waiting": "using tool_ops_waiting",
}

MANY = """
INSERT INTO workspaces (ws, name, seq, created_at_ms) VALUES (1, 'acme', 40000, 0);
INSERT INTO tool_ops (ws, n, k, kind, payload, pending, turn)
SELECT 1, n % 20, n / 20 + 1, 'stdin', '{}', CASE WHEN n > 39900 THEN 1 ELSE 0 END, n
FROM generate_series(1, 40000) n;
"""


@pytest.mark.parametrize("name", PLANS)
def test_a_query_goes_by_its_index(tmp_path: Path, name: str) -> None:
    engine = SqliteEngine(tmp_path / "plans.db")
    text = getattr(sql, name).sqlite
    with engine.reader() as reader:
        rows = reader.db.execute(f"EXPLAIN QUERY PLAN {text}", {"ws": 1, "n": 1}).fetchall()
    engine.close()
    assert PLANS[name] in "\n".join(str(row[3]) for row in rows)


def test_on_postgres_it_does_so_among_many_operations(postgres_url: str) -> None:
    PostgresEngine(postgres_url).close()
    with psycopg.connect(postgres_url) as db:
        db.execute("SET search_path TO longhouse")
        db.execute(MANY)
        db.execute("ANALYZE")
        for name, index in ON_POSTGRES.items():
            text = b"EXPLAIN (GENERIC_PLAN, COSTS OFF) " + getattr(sql, name).postgres.text
            plan = "\n".join(row[0] for row in db.execute(text))
            assert index in plan, (name, plan)
        db.rollback()


def test_operations_are_counted_from_one_and_go_on_behind_those_that_are_done(lh: Lh) -> None:
    runner = Runner(lh)
    task_id = runner.start(execution_mode="pty")
    for count in (1, 2, 3):
        op = lh("tool.task_resize", task_id=task_id, rows=30, cols=100)["op_id"]
        assert op == f"{task_id}.{count}"
        sized = {"type": "tool_task_resized", "op_id": op, "rows": 30, "cols": 100}
        runner.append(task_id, sized)
