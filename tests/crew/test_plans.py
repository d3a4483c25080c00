"""The crew's queries walk the index made for them, whatever the planner knows of the data."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

from longhouse.crew.room import sql
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
    "reservations_counted_of_agent": ["reservations_of_agent (ws=? AND agent_id=?)"],
    "reservations_counted_of_bead": ["reservations_of_bead (ws=? AND bead_id=?)"],
    "inbox": ["messages_to (ws=? AND to_agent=? AND seq<?)"],
    "inbox_unread": ["messages_unread (ws=? AND to_agent=? AND seq<?)"],
    "messages_due": ["messages_due (ws=?)"],
    "messages_between": ["messages_of_bead (ws=? AND bead_id=? AND seq>? AND seq<?)"],
    "talk_of": ["PRIMARY KEY (ws=? AND bead_id=?)"],
    "agents_of_role": ["agents_by_role (ws=? AND role=?)"],
    "incursions_newest": ["log_of_incursions (ws=? AND kind=?)"],
}


@pytest.mark.parametrize("name", PLANS)
def test_a_query_walks_its_index(tmp_path: Path, name: str) -> None:
    SqliteEngine(tmp_path / "store.db").close()
    db = apsw.Connection(str(tmp_path / "store.db"))
    rows = db.execute(f"EXPLAIN QUERY PLAN {getattr(sql, name).sqlite}", Anything()).fetchall()
    db.close()
    plan = [str(row[3]) for row in rows]
    for expected in PLANS[name]:
        assert any(step.endswith(expected) for step in plan), plan


class Anything(dict):
    """Binds of every name: a plan does not ask for their values."""

    def __missing__(self, name: str) -> int:
        return 1
