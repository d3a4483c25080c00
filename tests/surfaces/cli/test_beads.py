"""`longhouse beads`: issues are read and changed only through `bd`, with exact arguments.

A fake stands in for `bd` (see fake_bd.py); if a real one is on PATH, the whole walk also uses it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from longhouse.kernel.errors import LonghouseError
from longhouse.surfaces.cli.bd import ask_bd, tell_bd
from tests.surfaces.cli.conftest import Ran, Shell
from tests.surfaces.cli.test_agent import code, ok

FAKE = Path(__file__).with_name("fake_bd.py")
REAL = shutil.which("bd")


@pytest.fixture
def on_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Puts a `bd` of this text on PATH."""

    def make(text: str) -> Path:
        folder = tmp_path / "bin"
        folder.mkdir(exist_ok=True)
        program = folder / "bd"
        program.write_text(text)
        program.chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
        return program

    return make


class Beads:
    """A tracker with one issue, and the arguments `bd` was given."""

    def __init__(self, sh: Shell) -> None:
        self._sh = sh

    @property
    def _state(self) -> dict[str, Any]:
        state: dict[str, Any] = json.loads((self._sh.root / ".fake-bd.json").read_text())
        return state

    @property
    def changes(self) -> list[list[str]]:
        """Every argv except those that only list."""
        return [argv for argv in self._state["argv"] if argv[0] not in ("list", "create")]

    def issue(self, id_: str = "bb-1") -> dict[str, Any]:
        found: dict[str, Any] = self._state["issues"][id_]
        return found


@pytest.fixture
def beads(sh: Shell, on_path: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch) -> Beads:
    on_path(f"#!{sys.executable} -I\n{FAKE.read_text()}")
    monkeypatch.setenv("LONGHOUSE_ITEMS", "beads")
    subprocess.run(
        ["bd", "create", "Parser", "--json"], cwd=sh.root, check=True, capture_output=True
    )
    sh("beads", "refresh")
    sh("agent", "register", "--name", "amber-otter")
    return Beads(sh)


def sessions(sh: Shell) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = sh("call", "agents.sessions").json["result"]["sessions"]
    return found


@pytest.mark.parametrize(
    "words,argv,kinds",
    [
        (("close", "bb-1", "--reason", "Done."), ["close", "bb-1", "-r", "Done."], ["closed"]),
        (("close", "bb-1"), ["close", "bb-1"], ["closed"]),
        (("take", "bb-1"), ["update", "bb-1", "--claim"], ["status_changed", "assignee_changed"]),
        (
            ("assign", "bb-1", "cobalt-harbor"),
            ["update", "bb-1", "-a", "cobalt-harbor"],
            ["assignee_changed"],
        ),
        (("status", "bb-1", "blocked"), ["update", "bb-1", "-s", "blocked"], ["status_changed"]),
        (("comment", "bb-1", "Almost."), ["comments", "add", "bb-1", "Almost."], ["comment_added"]),
        (
            ("comment", "bb-1", "--", "--help"),
            ["comments", "add", "bb-1", "--", "--help"],
            ["comment_added"],
        ),
        (("close", "bb-1", "--reason=-x"), ["close", "bb-1", "-r", "-x"], ["closed"]),
    ],
)
def test_a_change_is_one_argv_and_then_told(
    sh: Shell, beads: Beads, words: tuple[str, ...], argv: list[str], kinds: list[str]
) -> None:
    verb, *rest = words
    ran = sh("beads", verb, "--agent", "amber-otter", "--json", *rest)
    data = ok(ran)
    assert beads.changes == [["--actor", "amber-otter", *argv]]
    assert (data["actor"], data["refreshed"]) == ("amber-otter", True)
    assert data["issue"] == beads.issue()
    assert [change["kind"] for change in data["changes"]] == kinds
    thread = sh("call", "agents.conversation", "bead_id=bb-1").json["result"]["thread"]
    assert [row["kind"] for row in thread] == kinds


def test_an_issue_is_closed_and_opened_again_for_a_reason(sh: Shell, beads: Beads) -> None:
    assert sh("beads", "close", "bb-1").out == "bb-1 is closed (closed, unassigned)\n"
    assert sessions(sh)[0]["session_state"] == "completed"
    ran = sh("beads", "reopen", "bb-1", "--reason", "Not yet.", "--json")
    assert ok(ran)["changes"][0]["kind"] == "reopened"
    assert beads.changes == [["close", "bb-1"], ["reopen", "bb-1", "-r", "Not yet."]]
    assert sessions(sh)[0]["status"] == "open"


@pytest.mark.parametrize("text", ["don't; echo INJECTED; can't", "$(id)", "`id`", "a\nb", "💥"])
def test_hostile_text_is_one_word(sh: Shell, beads: Beads, text: str) -> None:
    assert ok(sh("beads", "comment", "bb-1", text, "--json"))
    assert beads.changes == [["comments", "add", "bb-1", text]]
    assert beads.issue()["comments"][0]["text"] == text


@pytest.mark.parametrize(
    "words,expected",
    [
        (("close", "bb-9"), "BD_NON_ZERO_EXIT"),
        (("status", "bb-1", "lost"), "BD_NON_ZERO_EXIT"),
        (("close", "--", "--all"), "INVALID_INPUT"),
        (("close", "bb-1; ls"), "INVALID_INPUT"),
        (("comment", "bb-1", "  "), "INVALID_INPUT"),
        (("comment", "bb-1", "x" * 100_001), "INVALID_INPUT"),
        (("take", "bb-1", "--agent", "ghost-otter"), "AGENT_NOT_FOUND"),
    ],
)
def test_what_is_wrong_is_refused_before_or_by_bd(
    sh: Shell, beads: Beads, words: tuple[str, ...], expected: str
) -> None:
    before = beads.issue()
    ran = sh("beads", words[0], "--json", *words[1:])
    assert code(ran) == expected
    assert ran.json["error"]["recovery"]
    assert beads.issue() == before


def test_only_one_takes_an_issue(sh: Shell, beads: Beads) -> None:
    sh("agent", "register", "--name", "cobalt-harbor")
    assert (
        "is yours (in_progress, amber-otter)"
        in sh("beads", "take", "bb-1", "--agent", "amber-otter").out
    )
    late = sh("beads", "take", "bb-1", "--agent", "cobalt-harbor", "--json")
    assert code(late) == "BD_NON_ZERO_EXIT"
    assert "claimed by amber-otter" in late.json["error"]["message"]
    assert "longhouse beads refresh" in late.json["error"]["recovery"]


def test_nobody_acts_as_an_identity_from_elsewhere(sh: Shell, beads: Beads) -> None:
    sh("call", "agents.register", "name=cobalt-harbor")
    ran = sh("beads", "take", "bb-1", "--agent", "cobalt-harbor", "--json")
    assert code(ran) == "AGENT_TOKEN_REQUIRED"
    assert beads.changes == []


def test_a_change_that_is_not_shown_yet_says_so(
    sh: Shell, beads: Beads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.surfaces.cli.bd.LIST", ("list", "--nonsense"))
    ran = sh("beads", "close", "bb-1", "--json")
    data = ok(ran)
    assert (data["refreshed"], data["trouble"]) == (False, "BD_BAD_ARGS")
    assert beads.issue()["status"] == "closed"
    assert "longhouse beads refresh" in sh("beads", "close", "bb-1").out


def test_many_changes_are_told_to_the_last(
    sh: Shell, beads: Beads, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.crew.tracked.MOST", 1)
    for title in ("Lexer", "Docs"):
        subprocess.run(
            ["bd", "create", title, "--json"], cwd=sh.root, check=True, capture_output=True
        )
    told = ok(sh("beads", "refresh", "--json"))
    assert [one["bead_id"] for one in told["changes"]] == ["bb-2", "bb-3"]
    assert (told["count"], told["has_more"]) == (2, False)


def test_a_folder_that_cannot_be_written_is_told(sh: Shell, beads: Beads) -> None:
    (sh.dir / "beads.json").unlink()
    (sh.dir / "beads.json").mkdir()
    assert code(sh("beads", "refresh", "--json")) == "STORE_ERROR"
    assert ok(sh("beads", "close", "bb-1", "--json"))["trouble"] == "STORE_ERROR"
    assert beads.issue()["status"] == "closed"
    assert [path.name for path in sh.dir.glob("beads.json.*")] == []


def test_a_refresh_tells_how_to_show_what_it_read(
    sh: Shell, beads: Beads, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert sh("beads", "refresh").out == "issues read: 1; changes recorded: 0\n"
    assert [one["id"] for one in sessions(sh)] == ["bb-1"]
    monkeypatch.delenv("LONGHOUSE_ITEMS")
    assert 'items = "beads"' in sh("beads", "refresh").out
    assert sorted(path.name for path in sh.dir.glob("beads.json*")) == ["beads.json"]


def test_bd_is_asked_with_words_and_answers_in_json(
    on_path: Callable[[str], Path], tmp_path: Path
) -> None:
    on_path('#!/bin/sh\nprintf \'{"argv": "%s|%s"}\' "$1" "$2"')
    answer = ask_bd(["show", "don't; echo INJECTED"], cwd=tmp_path)
    assert answer == {"argv": "show|don't; echo INJECTED"}


@pytest.mark.parametrize(
    "script,expected,says",
    [
        ("echo 'Error: unknown flag: --all' >&2; exit 1", "BD_BAD_ARGS", "unknown flag"),
        ("echo 'no database' >&2; exit 1", "BD_NON_ZERO_EXIT", "bd list: no database"),
        ('echo \'{"error": "no database"}\' >&2; exit 1', "BD_NON_ZERO_EXIT", "no database"),
        ("printf '\\033[31mred' >&2; exit 1", "BD_NON_ZERO_EXIT", "bd list: [31mred"),
        ("exit 3", "BD_NON_ZERO_EXIT", "exit code 3"),
        ("echo hello", "BD_UNKNOWN", "not JSON"),
        ("sleep 20 & wait", "BD_TIMEOUT", "within 0.3 s"),
    ],
)
def test_each_way_that_bd_fails_has_its_code(
    on_path: Callable[[str], Path], tmp_path: Path, script: str, expected: str, says: str
) -> None:
    on_path(f"#!/bin/sh\n{script}\n")
    with pytest.raises(LonghouseError) as failed:
        ask_bd(["list", "--json"], cwd=tmp_path, timeout_s=0.3 if "sleep" in script else 20)
    assert failed.value.code == expected
    assert says in failed.value.message
    assert failed.value.recovery


def test_a_bd_that_cannot_be_run_is_told_from_one_that_is_not_there(
    on_path: Callable[[str], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    on_path("no program at all\0")
    with pytest.raises(LonghouseError) as broken:
        tell_bd(["close", "bb-1"], actor=None, cwd=tmp_path)
    assert broken.value.code == "BD_UNKNOWN"
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LonghouseError) as missing:
        ask_bd(["list"], cwd=tmp_path)
    assert (missing.value.code, "bd" in str(missing.value.recovery)) == ("BD_NOT_FOUND", True)


def by_a_fake(sh: Shell, on_path: Callable[[str], Path]) -> None:
    on_path(f"#!{sys.executable} -I\n{FAKE.read_text()}")


def by_the_real(sh: Shell, on_path: Callable[[str], Path]) -> None:
    for argv in (["git", "init", "-q"], ["bd", "init", "--quiet", "--prefix", "bb"]):
        subprocess.run(argv, cwd=sh.root, check=True, capture_output=True)


@pytest.mark.parametrize("provide", [by_a_fake, *([by_the_real] if REAL else [])])
def test_an_issue_from_its_start_to_its_end(
    sh: Shell,
    on_path: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    provide: Callable[[Shell, Callable[[str], Path]], None],
) -> None:
    provide(sh, on_path)
    monkeypatch.setenv("LONGHOUSE_ITEMS", "beads")
    monkeypatch.setenv("LONGHOUSE_AGENT_ID", "amber-otter")
    sh("agent", "register", "--name", "amber-otter")
    made = subprocess.run(
        ["bd", "create", "Parser", "--json"], cwd=sh.root, check=True, capture_output=True
    )
    issue = json.loads(made.stdout)["id"]
    assert ok(sh("beads", "refresh", "--json"))["issues"] == 1

    def run(verb: str, *more: str) -> Ran:
        return sh("beads", verb, issue, *more, "--json")

    assert ok(run("take"))["issue"]["assignee"] == "amber-otter"
    assert sessions(sh)[0]["session_state"] in ("active", "stale")
    assert ok(run("comment", "Almost."))
    assert ok(run("close", "--reason", "Done."))["issue"]["status"] == "closed"
    assert ok(run("reopen", "--reason", "Not yet."))["issue"]["status"] == "open"
    assert ok(run("status", "blocked"))["issue"]["status"] == "blocked"
