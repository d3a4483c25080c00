"""The crew's queries use the index made for them: on SQLite whatever statistics the planner has,
on PostgreSQL with many rows and the generic plan of a prepared statement."""

from __future__ import annotations

import re
from pathlib import Path

import apsw
import psycopg
import pytest

from longhouse.crew.room import sql
from longhouse.store.postgres import PostgresEngine
from longhouse.store.sqlite import SqliteEngine

PLANS = {
    "reservations_in_the_way": [
        "reservations_by_path (ws=? AND path=?)",
        "reservations_by_path (ws=? AND path>? AND path<?)",
    ],
    "reservations_at": ["reservations_by_path (ws=? AND path=?)"],
    "reservations_live": ["reservations_live (ws=? AND seq<?)"],
    "reservations_live_of_agent": ["reservations_held (ws=? AND agent_id=? AND seq<?)"],
    "reservations_live_of_bead": ["reservations_for (ws=? AND bead_id=? AND seq<?)"],
    "reservations_unended": [
        "COVERING INDEX reservations_until (ws=? AND expires_at_ms>?)",
        "COVERING INDEX reservations_until (ws=? AND expires_at_ms<?)",
    ],
    "reservations_archive": ["reservations_until (ws=? AND expires_at_ms<?)"],
    "reservations_counted_of_agent": ["reservations_of_agent (ws=? AND agent_id=?)"],
    "reservations_counted_of_bead": ["reservations_of_bead (ws=? AND bead_id=?)"],
    "incursions_standing": [
        "PRIMARY KEY (ws=? AND agent_id=? AND path=? AND below=? AND bead_id=?)"
    ],
    "inbox": ["messages_to (ws=? AND to_agent=? AND seq<?)"],
    "inbox_unread": ["messages_unread (ws=? AND to_agent=? AND seq<?)"],
    "messages_due": ["messages_due (ws=?)"],
    "messages_between": ["messages_of_bead (ws=? AND bead_id=? AND seq>? AND seq<?)"],
    "talk_of": ["PRIMARY KEY (ws=? AND bead_id=?)"],
    "agents_of_role": ["agents_by_role (ws=? AND role=?)"],
    "reservations_covering": [
        "reservations_by_path (ws=? AND path=?)",
        "reservations_given_back (ws=? AND path=? AND released_at_ms>?)",
    ],
    "changes_outside_newest": ["log_of_changes_outside (ws=? AND kind=?)"],
    "incursions_newest": ["log_of_incursions (ws=? AND kind=?)"],
    "tracked_all": ["PRIMARY KEY (ws=? AND bead_id>?)"],
}

UPKEEP = ("reservations_ended", "incursions_over", "agents_newest", "agents_void", "agents_clamp")
"""These read whole tables: `verify`, the incursions every ten minutes, the identities by last
activity, since every sign of life would have to update an index on that, and what an import or a
clock that jumped makes of all identities."""

MANY = """
INSERT INTO workspaces (ws, name, seq, created_at_ms) VALUES (1, 'acme', 40000, 0);
INSERT INTO agents
SELECT 1, 'agent-' || n, 'agent', 'x', 'role-' || n % 50, 'idle', 'x', NULL, 0, n, NULL
FROM generate_series(1, 1000) n;
INSERT INTO reservations
SELECT 1, n, '/src/' || n % 500 || '/' || n, 0, 'exclusive', 'agent-' || n % 1000 + 1,
    'bd-' || n % 5000, CASE n % 20 WHEN 0 THEN 'active' WHEN 1 THEN 'expired' ELSE 'released' END,
    0, n, NULL, NULL
FROM generate_series(1, 40000) n;
INSERT INTO messages
SELECT 1, n, 't', 'bd-' || n % 5000, 'agent-1', 'agent-' || n % 1000 + 1, 'INFO', 's', 'b',
    n % 10 / 9, 0, CASE WHEN n % 10 > 0 THEN n END, CASE WHEN n % 100 > 0 THEN n END
FROM generate_series(1, 40000) n;
INSERT INTO item_talk SELECT 1, 'bd-' || n, 0, 0, 0, NULL, NULL FROM generate_series(1, 5000) n;
INSERT INTO log (ws, seq, ts_ms, stream, subject, kind, actor, data, span)
SELECT 1, n, 0, 'crew', 'bd-' || n % 5000,
    CASE n % 500 WHEN 0 THEN 'INCURSION' WHEN 1 THEN 'changed_outside' ELSE 'x' END, NULL, '{}', 1
FROM generate_series(1, 40000) n;
INSERT INTO incursions
SELECT 1, 'agent-' || n % 1000 + 1, '/src/' || n, 0, 'bd-' || n % 5000, n, 'active', n
FROM generate_series(1, 5000) n;
INSERT INTO tracked SELECT 1, 'bd-' || n, 0, '{}' FROM generate_series(1, 5000) n;
ANALYZE;
"""


@pytest.mark.parametrize("name", PLANS)
def test_a_query_walks_its_index(tmp_path: Path, name: str) -> None:
    SqliteEngine(tmp_path / "store.db").close()
    db = apsw.Connection(str(tmp_path / "store.db"))
    rows = db.execute(f"EXPLAIN QUERY PLAN {getattr(sql, name).sqlite}", Anything()).fetchall()
    db.close()
    plan = [str(row[3]) for row in rows]
    for expected in PLANS[name]:
        assert any(step.endswith(expected) for step in plan), plan


def test_no_query_reads_a_whole_table_of_a_large_store(postgres_url: str) -> None:
    PostgresEngine(postgres_url).close()
    with psycopg.connect(postgres_url) as db:
        db.execute("SET search_path TO longhouse")
        db.execute(MANY)
        plans = {}
        for query in sql:
            text = b"EXPLAIN (GENERIC_PLAN, COSTS OFF) " + query.postgres.text
            rows = db.execute(text).fetchall()
            plans[query.name.rpartition(".")[2]] = "\n".join(row[0] for row in rows)
        db.rollback()
    whole = {name for name, plan in plans.items() if "Seq Scan" in plan}
    assert whole <= set(UPKEEP), {name: plans[name] for name in whole - set(UPKEEP)}
    for name, expected in PLANS.items():
        for step in expected:
            index = re.search(r"(\w+) \(", step)
            assert index is not None
            walked = f" {index[1]}" if index[1] != "KEY" else "_pkey"
            assert walked in plans[name], plans[name]


class Anything(dict):
    """Binds every name: a plan does not depend on the values."""

    def __missing__(self, name: str) -> int:
        return 1
