"""A clone wants its programs run by the client that works in it: Codex, Claude Code.

Here are the command lines; `tests/clients/test_hostile_folders.py` tries the real clients.
"""

from __future__ import annotations

import json
import os
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from longhouse.config import user_file
from longhouse.executors.base import Executor, Invocation
from longhouse.executors.claude_code import ClaudeCode
from longhouse.executors.codex import Codex
from longhouse.executors.instructions import MOST_BYTES
from longhouse.executors.trouble import NotHere
from tests.runner.kit import Rig
from tests.runner.test_executors import after, given, planned

SESSIONS = pytest.mark.parametrize("session", [None, "S-1"], ids=["first", "resumed"])


def settings(plan: Invocation) -> dict[str, Any]:
    """Codex's settings, read as Codex reads them."""
    return {key: tomllib.loads(f"x = {value}")["x"] for key, value in given(plan).items()}


def told(plan: Invocation) -> str:
    """What the client is told: its prompt, and the file for its system prompt."""
    flag = "--append-system-prompt-file"
    return plan.stdin + (Path(after(plan.argv, flag)).read_text() if flag in plan.argv else "")


def git(folder: Path, *words: str) -> None:
    person = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org"]
    subprocess.run([*person, *words], cwd=folder, check=True, capture_output=True)


@SESSIONS
@pytest.mark.parametrize("sandbox", ["read-only", "workspace-write", "full"])
def test_codex_trusts_no_folder_by_which_it_could_trust_this_one(
    tmp_path: Path, sandbox: str, session: str | None
) -> None:
    main, linked = tmp_path / "main", tmp_path / "linked"
    (main / "a" / "b").mkdir(parents=True)
    git(main, "init", "-q")
    (main / "a" / "b" / "x").touch()
    git(main, "add", "-A")
    git(main, "commit", "-qm", "first")
    git(main, "worktree", "add", "-q", "--detach", str(linked))
    (tmp_path / "link").symlink_to(linked)
    cwd = tmp_path / "link" / "a" / "b"
    found = settings(planned(Codex("codex"), tmp_path, cwd=cwd, sandbox=sandbox, session=session))
    folders = {linked, linked / "a", linked / "a" / "b", main, cwd, tmp_path / "link", Path("/")}
    assert {str(folder) for folder in folders} <= set(found["projects"])
    assert {one["trust_level"] for one in found["projects"].values()} == {"untrusted"}


@pytest.mark.parametrize("name", ['q"uote', "back\\slash", "new\nline", "del\x7f", "ünï", "a=b'"])
def test_the_name_of_a_folder_stays_a_name_on_codex_command_line(tmp_path: Path, name: str) -> None:
    cwd = tmp_path / f'{name}"={{trust_level="trusted"}}#'
    cwd.mkdir()
    found = settings(planned(Codex("codex"), tmp_path, cwd=cwd))
    assert str(cwd) in found["projects"]
    assert {one["trust_level"] for one in found["projects"].values()} == {"untrusted"}


def test_a_folder_that_codex_cannot_be_told_about_is_not_worked_in(tmp_path: Path) -> None:
    cwd = Path(os.fsdecode(bytes(tmp_path) + b"/\xff"))
    with pytest.raises(NotHere, match="UTF-8"):
        planned(Codex("codex"), tmp_path, cwd=cwd)


@SESSIONS
@pytest.mark.parametrize("sandbox", ["read-only", "workspace-write", "full"])
def test_claude_reads_the_persons_settings_and_our_servers_only(
    tmp_path: Path, sandbox: str, session: str | None
) -> None:
    plan = planned(ClaudeCode("claude"), tmp_path, sandbox=sandbox, session=session)
    assert "--strict-mcp-config" in plan.argv
    assert after(plan.argv, "--setting-sources") == "user"


@pytest.mark.parametrize(
    "sandbox, base", [("read-only", ":read-only"), ("workspace-write", ":workspace")]
)
def test_a_job_of_the_runner_is_denied_the_store_and_the_persons_settings(
    tmp_path: Path, sandbox: str, base: str
) -> None:
    hidden = (tmp_path / "store", tmp_path / ".config" / "longhouse")
    found = settings(planned(Codex("codex"), tmp_path, sandbox=sandbox, hidden=hidden))
    assert found["default_permissions"] == "longhouse"
    assert found["permissions.longhouse"]["extends"] == base
    assert found["permissions.longhouse"]["filesystem"] == {str(one): "deny" for one in hidden}
    plan = planned(ClaudeCode("claude"), tmp_path, sandbox=sandbox, hidden=hidden)
    denied = json.loads(after(plan.argv, "--settings"))["permissions"]["deny"]
    assert f"Read(/{hidden[0]}/**)" in denied
    full = settings(planned(Codex("codex"), tmp_path, sandbox="full", hidden=hidden))
    assert "default_permissions" not in full


def test_every_slice_of_a_runner_hides_the_store(rig: Rig) -> None:
    job = rig.run(f"done({rig.note()!r})")
    (profile,) = [word for word in rig.argv(job) if word.startswith("permissions.longhouse=")]
    assert str(rig.context.home) in profile
    own = user_file()
    assert own is not None
    assert f'"{own.parent}"="deny"' in profile


@pytest.mark.parametrize("name", ["star*", "q?", "br[1]", "tab\t", "new\nline"])
def test_a_store_that_codex_would_not_hide_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(NotHere, match="cannot hide"):
        planned(Codex("codex"), tmp_path, hidden=(tmp_path / name,))


def test_claude_can_still_use_a_worktree_inside_a_hidden_folder(tmp_path: Path) -> None:
    cwd = tmp_path / "store" / "worktrees" / "JOB-001"
    cwd.mkdir(parents=True)
    (tmp_path / "store" / "token").touch()
    (tmp_path / "store" / "worktrees" / "JOB-002").mkdir()
    plan = planned(ClaudeCode("claude"), tmp_path, cwd=cwd, hidden=(tmp_path / "store",))
    denied = json.loads(after(plan.argv, "--settings"))["permissions"]["deny"]
    assert {rule[5:-1] for rule in denied if rule.startswith("Read(") and "**" not in rule} == {
        f"/{tmp_path}/store/token",
        f"/{tmp_path}/store/worktrees/JOB-002",
    }


@pytest.mark.parametrize(
    "executor, name",
    [(Codex("codex"), "AGENTS.md"), (ClaudeCode("claude"), "CLAUDE.md")],
    ids=["codex", "claude_code"],
)
class TestInstructionFiles:
    def test_they_are_told_from_the_top_of_the_work_tree_down(
        self, tmp_path: Path, executor: Executor, name: str
    ) -> None:
        cwd = tmp_path / "repo" / "a"
        cwd.mkdir(parents=True)
        git(cwd.parent, "init", "-q")
        (tmp_path / name).write_text("above")
        (tmp_path / "repo" / name).write_text("of the top")
        (cwd / name).write_text("of a")
        said = told(planned(executor, tmp_path, cwd=cwd))
        assert "above" not in said
        assert said.index("of the top") < said.index("of a")
        assert "of a" not in told(planned(executor, tmp_path, cwd=cwd, session="S-1"))

    @pytest.mark.parametrize(
        "target", ["../secret.md", "/etc/passwd", ".env", ".git/config", "st/a.md"]
    )
    def test_a_link_or_an_import_brings_no_other_file(
        self, tmp_path: Path, executor: Executor, name: str, target: str
    ) -> None:
        cwd = tmp_path / "repo"
        (cwd / "st").mkdir(parents=True)
        git(cwd, "init", "-q")
        for path in (tmp_path / "secret.md", cwd / ".env", cwd / "st" / "a.md"):
            path.write_text("the secret")
        (cwd / ".git" / "config").write_text("the secret")
        hidden = (cwd / "st",)
        (cwd / name).symlink_to(target)
        assert told(planned(executor, tmp_path, cwd=cwd, hidden=hidden)) == "the prompt"
        (cwd / name).unlink()
        (cwd / name).write_text(f"plain\n@{target}\n@~/secret.md\n")
        said = told(planned(executor, tmp_path, cwd=cwd, hidden=hidden))
        assert "plain" in said
        assert "the secret" not in said
        assert "root:" not in said

    def test_a_link_to_another_instruction_file_is_followed_and_length_is_bounded(
        self, tmp_path: Path, executor: Executor, name: str
    ) -> None:
        cwd = tmp_path / "repo"
        cwd.mkdir()
        (cwd / "OTHER.md").write_text("start " + "x" * 10 * MOST_BYTES)
        (cwd / name).symlink_to("OTHER.md")
        said = told(planned(executor, tmp_path, cwd=cwd))
        assert "start x" in said
        assert f"read the rest in {name}" in said
        assert len(said) < MOST_BYTES + 1000

    def test_a_fifo_or_a_circle_of_imports_does_not_hang(
        self, tmp_path: Path, executor: Executor, name: str
    ) -> None:
        cwd = tmp_path / "repo"
        cwd.mkdir()
        os.mkfifo(cwd / "pipe.md")
        (cwd / "b.md").write_text(f"@{name}\n@pipe.md\n")
        (cwd / name).write_text("plain\n@b.md\n")
        assert told(planned(executor, tmp_path, cwd=cwd)).count("plain") == 1
