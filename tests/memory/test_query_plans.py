"""The queries behind pages use their index, whatever the planner knows about the data."""

from __future__ import annotations

from pathlib import Path

import pytest

from longhouse.memory.graph.room import sql as graph_sql
from longhouse.memory.room import sql
from longhouse.store.queries import Query
from longhouse.store.sqlite import SqliteEngine

PLANS = {
    "entries_before": "doc_entries_of_doc (doc_id=? AND seq>? AND seq<?)",
    "commits_before": "doc_entries_committed (branch_id=? AND seq<?)",
    "entry_by_source": "doc_entries_by_source (doc_id=? AND source_event_id=?)",
    "entry_by_origin": "doc_entries_by_origin (doc_id=? AND origin_seq=?)",
    "nodes_listed": "graph_nodes_listed (doc_id=? AND live=? AND seq<?)",
    "nodes_of_type": "graph_nodes_by_type (doc_id=? AND type=? AND live=? AND seq<?)",
    "nodes_of_status": "graph_nodes_by_status (doc_id=? AND status=? AND live=? AND seq<?)",
    "nodes_of_type_and_status": (
        "graph_nodes_by_type_and_status (doc_id=? AND type=? AND status=? AND live=? AND seq<?)"
    ),
    "nodes_named": "graph_nodes_named (ws=? AND key=?)",
    "nodes_tagged": "graph_tags_anywhere (ws=? AND tag=? AND live=? AND seq<?)",
    "edges_into": "graph_edges_into (doc_id=? AND to_id=?)",
    "nodes_of_tag": "graph_tags_by_tag (doc_id=? AND tag=? AND live=? AND seq<?)",
    "latest_of_keys": "graph_versions_by_key (doc_id=? AND key=? AND seq=?)",
    "first_of_keys": "graph_versions_by_key (doc_id=? AND key=?)",
    "edges_from": "graph_edges_between (doc_id=? AND from_id=?)",
    "edges_between": "graph_edges_between (doc_id=? AND from_id=? AND to_id=?)",
    "nodes_at": "sqlite_autoindex_graph_versions_1 (ws=? AND seq=?)",
    "versions_between": "graph_versions_of_doc (doc_id=? AND seq>? AND seq<?)",
    "conflicts_open": "graph_conflicts_open (into_id=? AND doc=? AND created_seq<?)",
    "newest_cutoff": "branches_by_base (base_branch_id=?)",
}


@pytest.mark.parametrize("name", PLANS)
def test_a_page_walks_its_index(tmp_path: Path, name: str) -> None:
    engine = SqliteEngine(tmp_path / "store.db")
    query: Query = getattr(graph_sql, name, None) or getattr(sql, name)
    with engine.reader() as reader:
        rows = reader.db.execute(f"EXPLAIN QUERY PLAN {query.sqlite}", Anything()).fetchall()
    engine.close()
    plan = [str(row[3]) for row in rows]
    assert any(step.endswith(PLANS[name]) for step in plan), plan
    assert not any(step.startswith(("SCAN graph_", "SCAN doc_")) for step in plan)


class Anything(dict):
    """Binds every name; a plan does not need the values."""

    def __missing__(self, name: str) -> str:
        return "[]"
