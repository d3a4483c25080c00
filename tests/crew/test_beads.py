"""Beads as a source: read from its export, never written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from longhouse.crew.beads import BeadsItems
from longhouse.crew.issues import items_of, parse
from longhouse.house import House
from tests.crew.kit import join
from tests.kit import Lh, ManualClock

ISSUES: list[dict[str, object]] = [
    {"id": "bb-1", "title": "Parser", "issue_type": "epic", "status": "open"},
    {
        "id": "bb-1.1",
        "title": "Lexer",
        "status": "in_progress",
        "assignee": "amber-otter",
        "priority": 0,
        "updated_at": "2027-01-15T07:59:00Z",
        "dependencies": [{"issue_id": "bb-1.1", "depends_on_id": "bb-1", "type": "parent-child"}],
    },
    {
        "id": "bb-1.2",
        "title": "Tests",
        "status": "open",
        "dependencies": [{"depends_on_id": "bb-1.1", "type": "blocks"}],
    },
    {"id": "bb-2", "title": "Docs", "status": "closed", "updated_at": "2027-01-15T07:00:00+01:00"},
    {"id": "bb-3", "title": "Gone", "status": "tombstone"},
    {"id": "bb-4", "title": "An agent", "labels": ["gt:agent"]},
    {
        "id": "bb-5",
        "title": "Turns in circles",
        "dependencies": [{"depends_on_id": "bb-6", "type": "parent-child"}],
    },
    {
        "id": "bb-6",
        "title": "With this one",
        "dependencies": [{"depends_on_id": "bb-5", "type": "parent-child"}],
    },
]
LINES = "\n".join([*map(json.dumps, ISSUES), "", "not json", "[1]", '{"id": "bb-7"}', "{}"])


def test_what_is_no_issue_is_skipped_and_what_is_hidden_is_not_shown() -> None:
    shown = {issue.id: issue for issue in parse(LINES)}
    assert sorted(shown) == ["bb-1", "bb-1.1", "bb-1.2", "bb-2", "bb-5", "bb-6"]
    assert shown.keys() < {issue.id for issue in parse(LINES, everything=True)}
    assert (shown["bb-1.1"].priority, shown["bb-1.2"].priority) == (0, 2)
    assert shown["bb-1.1"].parent == "bb-1"
    assert parse(json.dumps(ISSUES)) == parse(LINES)
    assert parse("[broken") == parse("") == []


def test_items_know_their_epic_and_what_they_wait_for() -> None:
    items = {one.id: one for one in items_of(parse(LINES))}
    assert sorted(items) == ["bb-1.1", "bb-1.2", "bb-2", "bb-5", "bb-6"]
    lexer, tests = items["bb-1.1"], items["bb-1.2"]
    assert (lexer.in_progress, lexer.blocked, lexer.assignee) == (True, False, "amber-otter")
    assert (tests.blocked, tests.in_progress) == (True, False)
    assert lexer.epic is not None
    assert lexer.epic == tests.epic
    assert lexer.epic.title == "Parser"
    assert items["bb-2"].done
    assert items["bb-2"].epic is None
    assert items["bb-5"].epic is not None


def test_a_blocked_issue_is_blocked_whatever_it_waits_for() -> None:
    (item,) = items_of(parse('{"id": "bb-8", "title": "Wait", "status": "blocked"}'))
    assert item.blocked


@pytest.mark.parametrize("zone", ["", "Z", "+00:00"])
def test_a_time_without_a_zone_is_universal_time(zone: str) -> None:
    line = {"id": "bb-8", "title": "Wait", "updated_at": f"2027-01-15T08:00:00{zone}"}
    assert parse(json.dumps(line))[0].updated_at_ms == 1_800_000_000_000


def test_a_time_with_another_zone_is_that_moment() -> None:
    line = {"id": "bb-8", "title": "Wait", "updated_at": "2027-01-15T09:00:00+01:00"}
    assert parse(json.dumps(line))[0].updated_at_ms == 1_800_000_000_000


@pytest.mark.proves("OPS-001", "OPS-006")
def test_a_house_on_beads_shows_its_issues_and_leaves_the_file_alone(
    new_house: Callable[..., House], tmp_path: Path, clock: ManualClock
) -> None:
    file = tmp_path / ".beads" / "issues.jsonl"
    file.parent.mkdir()
    file.write_text(LINES)
    lh = Lh(new_house(items="beads", project_root=tmp_path), clock)
    a = join(lh, "amber-otter")
    lh("agents.heartbeat", **a)
    lh("agents.reserve", **a, scope="src", bead_id="bb-1.1")
    cards = {one["id"]: one for one in lh("agents.sessions")["sessions"]}
    assert cards["bb-1.1"]["session_state"] == "active"
    assert cards["bb-1.2"]["session_state"] == "needs_input"
    assert lh("agents.adopt", agent="amber-otter")["event"]["bead_id"] == "bb-1.1"
    assert file.read_text() == LINES
    ids = [one["id"] for one in lh("agents.sessions", open_only=True, limit=3)["sessions"]]
    assert ids == ["bb-1.1", "bb-1.2", "bb-5"]
    file.write_text(json.dumps({"id": "bb-9", "title": "New"}))
    assert [one["id"] for one in lh("agents.sessions")["sessions"]] == ["bb-9"]
    file.unlink()
    assert lh("agents.sessions")["sessions"] == []


@pytest.mark.parametrize(
    "line",
    [
        '{"id": "bb-1", "title": "x", "labels": 7, "dependencies": {"a": 1}, "priority": "high"}',
        '{"id": "bb-1", "title": "x", "dependencies": [{"depends_on_id": {}, "type": []}, 3]}',
        '{"id": "bb-1", "title": "half \\ud800", "assignee": ["a"], "updated_at": "yesterday"}',
        '{"id": "bb-1", "title": "x", "priority": 1e400, "comment_count": 99999999999999999999}',
        '{"id": "bb-1", "title": "x", "status": {"a": 1}, "issue_type": 3, "labels": [{}, "a"]}',
    ],
)
def test_what_an_issue_says_wrongly_is_as_if_it_did_not_say_it(line: str) -> None:
    (issue,) = parse(line)
    (shown,) = items_of([issue])
    assert (shown.id, shown.status, shown.assignee) == ("bb-1", "open", None)
    assert issue.title.encode()
    assert (issue.priority, issue.edges, issue.comments) == (2, (), 0)


@pytest.mark.parametrize("id_", ["a b", "a\nb", "\x1b[31m", "x" * 129, ""])
def test_an_id_that_nothing_can_be_linked_to_is_none(id_: str) -> None:
    assert parse(json.dumps({"id": id_, "title": "x"})) == []
    assert parse("[" * 100_000) == []


def test_the_newer_of_two_files_counts(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "beads.json", tmp_path / "issues.jsonl"
    items = BeadsItems(ours, theirs)
    for number, file in enumerate((ours, theirs, ours)):
        file.write_text(json.dumps([{"id": f"bb-{number}", "title": "x"}]))
        os.utime(file, ns=(number, number))
        look = items.look()
        assert look is not None
        assert [issue.id for issue in look.issues] == [f"bb-{number}"]
