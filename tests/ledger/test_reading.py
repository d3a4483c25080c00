"""Finding subagents again: lists, refs, the tree."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import apsw
import pytest

from longhouse.ledger.room import sql
from longhouse.store.sqlite import SqliteEngine
from tests.kit import Lh

PARAMS = {"mode": "ad_hoc", "prompt_ns": "docs", "prompt_key": "reader", "instructions": "Read."}


def start(lh: Lh, dispatch_id: str, **more: Any) -> None:
    lh("jobs.subagent.start", **{"dispatch_id": dispatch_id, "depth": 1, "params": PARAMS, **more})


def listed(lh: Lh, **args: Any) -> list[str]:
    return [one["dispatch_id"] for one in lh("jobs.subagent.list", **args)["subagents"]]


@pytest.fixture
def tree(lh: Lh) -> Lh:
    """d1 dispatched d2 and d3; d4 is another session's."""
    start(lh, "d1", session_id="s-1", lease_ttl_ms=300_000)
    start(lh, "d2", session_id="s-1", parent_id="d1", depth=2)
    start(lh, "d3", session_id="s-1", parent_id="d1", depth=2, lease_ttl_ms=300_000)
    start(lh, "d4", session_id="s-2", lease_ttl_ms=300_000)
    lh("jobs.subagent.finish", dispatch_id="d4", outcome="failed", message="no model")
    lh.clock.advance(100_000)
    return lh


def test_subagents_are_listed_newest_first_by_how_and_where_they_ran(tree: Lh) -> None:
    assert listed(tree) == ["d4", "d3", "d2", "d1"]
    assert listed(tree, status="running") == ["d3", "d1"]
    assert listed(tree, status="interrupted") == ["d2"]
    assert listed(tree, status="failed") == ["d4"]
    assert listed(tree, session_id="s-1") == ["d3", "d2", "d1"]
    assert listed(tree, session_id="s-1", status="interrupted") == ["d2"]
    assert listed(tree, parent_id="d1") == ["d3", "d2"]
    assert listed(tree, parent_id="d1", status="running") == ["d3"]
    assert listed(tree, parent_id="d1", session_id="s-2") == []


@pytest.mark.parametrize(
    "filters", [{}, {"session_id": "s"}, {"parent_id": "p"}, {"status": "running"}]
)
def test_pages_give_every_subagent_once(lh: Lh, filters: dict[str, str]) -> None:
    for number in range(7):
        start(lh, f"d{number}", session_id="s", parent_id="p")
    found: list[str] = []
    cursor = None
    while True:
        page = lh("jobs.subagent.list", limit=3, cursor=cursor, **filters)
        found += [one["dispatch_id"] for one in page["subagents"]]
        cursor = page["next_cursor"]
        if not page["has_more"]:
            break
    assert found == [f"d{number}" for number in reversed(range(7))]


def test_a_subagent_opens_by_its_ref_its_event_and_its_dispatch(tree: Lh) -> None:
    by_id = tree("open", id="SUB-001")
    assert (by_id["kind"], by_id["parent"], by_id["children"]) == (
        "subagent",
        None,
        ["SUB-002", "SUB-003"],
    )
    below = tree("open", id="dispatch:d3")
    assert (below["parent"], below["children"]) == ("SUB-001", [])
    assert tree("open", id=below["ref"])["subagent"] == below["subagent"]


@pytest.mark.parametrize("wrong", ["SUB-009", "SUB-001@2", "SUB-002@99999", "dispatch:d9"])
def test_what_is_not_there_is_told_with_the_way_to_what_is(tree: Lh, wrong: str) -> None:
    envelope = tree.envelope("open", id=wrong)
    assert envelope["error"]["code"] == "UNKNOWN_ID"
    tree.run_actions(envelope)


def test_lines_show_one_subagent_a_row(tree: Lh) -> None:
    refs = [one["ref"] for one in tree("jobs.subagent.list")["subagents"]]
    assert tree.lines("jobs.subagent.list") == [
        "subagents count=4",
        f"{refs[0]} (failed) docs/reader depth=1 | no model",
        f"{refs[1]} (running) docs/reader depth=2 | Read.",
        f"{refs[2]} (interrupted) docs/reader depth=2 | Read.",
        f"{refs[3]} (running) docs/reader depth=1 | Read.",
    ]


PLANS = {
    "subagent_of": "subagents_by_dispatch (ws=? AND dispatch_id=?)",
    "subagent_end": "subagents_by_dispatch (ws=? AND dispatch_id=?)",
    "subagent_renew": "subagents_by_dispatch (ws=? AND dispatch_id=?)",
    "subagent_resume": "subagents_by_dispatch (ws=? AND dispatch_id=?)",
    "subagents_lapsed": "subagents_leased (ws=? AND lease_expires_at_ms<?)",
    "subagents_of_parent": "subagents_of_parent (ws=? AND parent_id=? AND n<?)",
    "subagents_of_session": "subagents_of_session (ws=? AND session_id=? AND n<?)",
    "subagents_of_status": "subagents_by_status (ws=? AND status=? AND n<?)",
    "subagents_running": "subagents_by_status (ws=? AND status=? AND n<?)",
    "subagents_snapshots": "subagents_snapshots (ws=?",
}


class Anything(dict[str, int]):
    """Binds every name."""

    def __missing__(self, key: str) -> int:
        return 1


@pytest.mark.parametrize("name", PLANS)
def test_a_query_walks_its_index(tmp_path: Path, name: str) -> None:
    SqliteEngine(tmp_path / "store.db").close()
    db = apsw.Connection(str(tmp_path / "store.db"))
    rows = db.execute(f"EXPLAIN QUERY PLAN {getattr(sql, name).sqlite}", Anything()).fetchall()
    db.close()
    assert any(PLANS[name] in str(row[3]) for row in rows), rows
