"""Beads as a source: read from its export, asked through `bd`, never written."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from longhouse.crew.beads import items_of, parse
from longhouse.house import House
from longhouse.kernel.errors import LonghouseError
from longhouse.surfaces.cli.bd import ask_bd
from tests.crew.kit import join
from tests.kit import Lh, ManualClock

ISSUES: list[dict[str, object]] = [
    {"id": "bb-1", "title": "Parser", "issue_type": "epic", "status": "open"},
    {"id": "bb-1.1", "title": "Lexer", "status": "in_progress", "assignee": "amber-otter",
     "priority": 0, "updated_at": "2027-01-15T07:59:00Z",
     "dependencies": [{"issue_id": "bb-1.1", "depends_on_id": "bb-1", "type": "parent-child"}]},
    {"id": "bb-1.2", "title": "Tests", "status": "open",
     "dependencies": [{"depends_on_id": "bb-1.1", "type": "blocks"}]},
    {"id": "bb-2", "title": "Docs", "status": "closed", "updated_at": "2027-01-15T07:00:00+01:00"},
    {"id": "bb-3", "title": "Gone", "status": "tombstone"},
    {"id": "bb-4", "title": "An agent", "labels": ["gt:agent"]},
    {"id": "bb-5", "title": "Turns in circles",
     "dependencies": [{"depends_on_id": "bb-6", "type": "parent-child"}]},
    {"id": "bb-6", "title": "With this one",
     "dependencies": [{"depends_on_id": "bb-5", "type": "parent-child"}]},
]  # fmt: skip
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


@pytest.fixture
def bd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Puts a `bd` of these lines of shell on PATH, and nothing else of that name."""

    def make(script: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "bd"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return folder

    return make


def test_bd_is_asked_with_words_and_answers_in_json(
    bd: Callable[[str], Path], tmp_path: Path
) -> None:
    bd('printf \'{"argv": "%s|%s"}\' "$1" "$2"')
    answer = ask_bd(["show", "don't; echo INJECTED"], cwd=tmp_path)
    assert answer == {"argv": "show|don't; echo INJECTED"}


@pytest.mark.parametrize(
    "script,code",
    [
        ("echo 'Error: unknown flag: --all' >&2; exit 1", "BD_BAD_ARGS"),
        ("echo 'no database' >&2; exit 1", "BD_FAILED"),
        ("echo hello", "BD_FAILED"),
        ("exec sleep 20", "BD_TIMEOUT"),
    ],
)
def test_each_way_that_bd_fails_has_its_code(
    bd: Callable[[str], Path], tmp_path: Path, script: str, code: str
) -> None:
    bd(script)
    with pytest.raises(LonghouseError) as failed:
        ask_bd(["list", "--json"], cwd=tmp_path, timeout_s=0.3 if "sleep" in script else 20)
    assert failed.value.code == code


def test_a_machine_without_bd_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LonghouseError) as failed:
        ask_bd(["list"], cwd=tmp_path)
    assert (failed.value.code, "bd" in str(failed.value.recovery)) == ("BD_NOT_FOUND", True)
