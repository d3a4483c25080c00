"""Changes in Beads are recorded once, by the first server that sees them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longhouse.crew.facts import CrewFacts
from longhouse.crew.tracked import differences
from longhouse.house import House
from tests.contracts.world import fingerprint
from tests.kit import Lh, ManualClock

ISSUE = {"id": "bb-1", "title": "Parser", "status": "open", "updated_at": "2027-01-15T08:00:00Z"}


class Export:
    """The file that `bd` exports, with a distinct time for each version."""

    def __init__(self, root: Path) -> None:
        self.path = root / ".beads" / "issues.jsonl"
        self.path.parent.mkdir()
        self._version = 0

    def write(self, *issues: dict[str, Any], more: str = "") -> None:
        self._version += 1
        self.path.write_text("\n".join(map(json.dumps, issues)) + more)
        os.utime(self.path, ns=(self._version, self._version))


@pytest.fixture
def export(tmp_path: Path) -> Export:
    return Export(tmp_path)


@pytest.fixture
def houses(
    new_house: Callable[..., House], tmp_path: Path, clock: ManualClock, export: Export
) -> list[Lh]:
    """Two servers of one store and one project, whose items are issues of Beads."""
    return [Lh(new_house(items="beads", project_root=tmp_path), clock) for _ in range(2)]


def told(lh: Lh) -> list[tuple[str, str]]:
    return [(one["bead_id"], one["kind"]) for one in lh("agents.items.sync")["changes"]]


def test_the_first_look_tells_nothing(houses: list[Lh], export: Export) -> None:
    lh, other = houses
    assert lh("agents.items.sync")["count"] == 0
    export.write(ISSUE, {"id": "bb-2", "title": "Docs"})
    before = fingerprint(lh)["workspaces"]
    assert [told(lh), told(other), told(lh)] == [[], [], []]
    assert fingerprint(lh)["workspaces"] == before


def test_an_empty_tracker_was_looked_at_too(houses: list[Lh], export: Export) -> None:
    lh, other = houses
    export.write()
    assert told(lh) == []
    export.write(ISSUE)
    assert told(other) == [("bb-1", "created")]


@pytest.mark.parametrize(
    "before,after,kinds",
    [
        ({}, {"status": "closed"}, ["closed"]),
        ({"status": "closed"}, {"status": "open"}, ["reopened"]),
        ({"status": "closed"}, {"status": "in_progress"}, ["reopened"]),
        ({}, {"status": "in_progress"}, ["status_changed"]),
        ({}, {"updated_at": "2027-01-15T09:00:00Z"}, []),
        ({}, {"title": "Lexer"}, ["title_changed"]),
        ({}, {"priority": 0}, ["priority_changed"]),
        ({}, {"assignee": "amber-otter"}, ["assignee_changed"]),
        ({}, {"issue_type": "bug"}, ["type_changed"]),
        ({}, {"description": "More."}, ["description_changed"]),
        ({"labels": ["a", "b"]}, {"labels": ["b", "a"]}, []),
        ({}, {"labels": ["a"]}, ["labels_changed"]),
        ({}, {"due_at": "2027-02-01T00:00:00Z"}, ["due_date_changed"]),
        ({}, {"estimated_minutes": 30}, ["estimate_changed"]),
        ({}, {"comment_count": 2}, ["comment_added"]),
        ({}, {"dependencies": [{"depends_on_id": "bb-9", "type": "blocks"}]}, ["dependency_added"]),
        (
            {"dependencies": [{"depends_on_id": "bb-9"}]},
            {"dependencies": []},
            ["dependency_removed"],
        ),
        (
            {},
            {"status": "closed", "priority": 1, "assignee": "a-b", "title": "Lexer"},
            ["closed", "title_changed", "priority_changed", "assignee_changed"],
        ),
    ],
)
def test_each_thing_that_changed_is_one_event(
    houses: list[Lh], export: Export, before: Any, after: Any, kinds: list[str]
) -> None:
    lh, other = houses
    export.write({**ISSUE, **before})
    told(lh)
    export.write({**ISSUE, **before, **after})
    assert told(other) == [("bb-1", kind) for kind in kinds]
    assert told(lh) == []
    thread = lh("agents.conversation", bead_id="bb-1")["thread"]
    assert [row["kind"] for row in thread] == kinds


def test_what_comes_goes_and_comes_back(houses: list[Lh], export: Export) -> None:
    lh, _ = houses
    export.write(ISSUE)
    told(lh)
    export.write(ISSUE, {"id": "bb-2", "title": "Docs", "assignee": "amber-otter"})
    assert told(lh) == [("bb-2", "created")]
    (row,) = lh("agents.conversation", bead_id="bb-2")["thread"]
    assert (row["type"], row["label"]) == ("activity", "Created")
    assert row["data"] == {
        "title": "Docs",
        "status": "open",
        "priority": 2,
        "type": "task",
        "assignee": "amber-otter",
    }
    export.write(ISSUE, more='\n{"id": "bb-2", "ti')
    assert told(lh) == []
    export.write(ISSUE)
    assert told(lh) == [("bb-2", "deleted")]
    export.write(ISSUE, {"id": "bb-2", "title": "Docs"}, {"id": "bb-2", "title": "Docs"})
    assert told(lh) == [("bb-2", "created")]
    assert told(lh) == []


def test_an_older_file_changes_nothing(houses: list[Lh], export: Export) -> None:
    lh, _ = houses
    newer = {**ISSUE, "status": "closed", "updated_at": "2027-01-15T09:00:00Z"}
    export.write(newer)
    told(lh)
    export.write(ISSUE)
    assert told(lh) == []
    export.write({**newer, "status": "open", "updated_at": "2027-01-15T10:00:00Z"})
    assert told(lh) == [("bb-1", "reopened")]


def test_a_flood_is_told_in_portions(
    houses: list[Lh], export: Export, monkeypatch: pytest.MonkeyPatch
) -> None:
    from longhouse.crew import tracked

    monkeypatch.setattr(tracked, "MOST", 3)
    lh, other = houses
    export.write()
    told(lh)
    export.write(*({"id": f"bb-{number}", "title": "x"} for number in range(8)))
    portions = [lh("agents.items.sync") for lh in (lh, other, lh, other)]
    assert [(one["count"], one["has_more"]) for one in portions] == [
        (3, True),
        (3, True),
        (2, False),
        (0, False),
    ]
    ids = [change["bead_id"] for one in portions for change in one["changes"]]
    assert ids == [f"bb-{number}" for number in range(8)]


def test_a_running_server_looks_by_itself_and_only_when_the_file_moved(
    houses: list[Lh], export: Export
) -> None:
    lh, _ = houses
    troubles: list[object] = []
    upkeep = lh.house.maintenance(lambda *trouble: troubles.append(trouble))
    lh("agents.register", name="amber-otter")
    items = lh.house.facts.of(CrewFacts).items
    assert not items.moved()
    export.write(ISSUE)
    for now_s in (0.0, 2.0, 4.0):
        upkeep.step(now_s)
    assert not items.moved()
    export.write({**ISSUE, "status": "closed"})
    assert items.moved()
    for now_s in (6.0, 8.0, 10.0):
        upkeep.step(now_s)
    assert not items.moved()
    assert troubles == []
    assert told(lh) == []
    (row,) = lh("agents.conversation", bead_id="bb-1")["thread"]
    assert (row["kind"], row["data"]) == (
        "closed",
        {"field": "status", "from": "open", "to": "closed"},
    )


def test_another_workspace_hears_nothing_by_itself(houses: list[Lh], export: Export) -> None:
    lh, _ = houses
    upkeep = lh.house.maintenance(lambda *_: None)
    lh("agents.register", name="amber-otter", workspace="elsewhere")
    export.write(ISSUE)
    upkeep.step(0.0)
    export.write({**ISSUE, "status": "closed"})
    upkeep.step(2.0)
    assert lh("agents.conversation", bead_id="bb-1", workspace="elsewhere")["thread"] == []


def test_our_own_tasks_are_in_the_log_by_themselves(lh: Lh) -> None:
    assert lh("agents.items.sync") == {
        "source": "tasks",
        "items": 0,
        "changes": [],
        "count": 0,
        "has_more": False,
        "truncated": False,
    }
    assert not lh.house.facts.of(CrewFacts).items.moved()


def test_what_an_earlier_version_did_not_keep_is_not_told_as_changed() -> None:
    now = {
        "title": "x",
        "status": "open",
        "priority": 2,
        "type": "task",
        "assignee": None,
        "description": "",
        "labels": [],
        "edges": [],
        "comments": 3,
        "due": None,
        "estimate": None,
    }
    assert list(differences({"status": "open"}, now)) == []
