"""The attacker wants a store that a clone brings along to be used: jobs, tokens and settings."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from longhouse.config import UntrustedStore, load
from longhouse.kernel.errors import InvalidInput
from tests.security.clone import GIT, REQUESTS, Clone, git

DOORS = (
    ("status",),
    ("note", "hello"),
    ("up", "--port", "0"),
    ("serve", "--port", "0"),
    ("down", "--force"),
    ("doctor",),
    ("init",),
    ("mcp", "--embedded"),
    ("runner", "--once", "--dry-run"),
    ("verify",),
    ("backup", "taken"),
)
HARMLESS = 'workspace = "acme"\n'


def test_every_door_refuses_a_tracked_store_by_name_and_says_the_way_out(tmp_path: Path) -> None:
    clone = Clone(tmp_path, {".longhouse/config.toml": HARMLESS})
    for words in DOORS:
        error = clone.run(*words, "--json").error
        assert error["code"] == "UNTRUSTED_STORE", words
        assert ".longhouse/config.toml" in error["message"]
    bridge = clone.run("mcp", stdin=REQUESTS)
    assert "git tracks" in bridge.out
    assert [path.name for path in clone.dir.iterdir()] == ["config.toml"]
    _, _, command = error["recovery"].partition(": ")
    subprocess.run(command.partition(";")[0], shell=True, check=True, cwd=tmp_path)
    assert clone.run("init").code == 0
    assert clone.run("status", "--json").code == 0


def test_a_store_elsewhere_is_the_other_way_out(tmp_path: Path) -> None:
    clone = Clone(tmp_path, {".longhouse/config.toml": HARMLESS})
    assert clone.run("status", "--dir", str(tmp_path / "mine")).code == 0


def test_git_need_not_be_installed_to_notice(tmp_path: Path) -> None:
    clone = Clone(tmp_path, {".longhouse/jobs": "x"})
    assert clone.run("status", "--json", PATH="/nowhere").error["code"] == "UNTRUSTED_STORE"


@pytest.mark.parametrize(
    "prepare",
    [
        ["update-index", "--index-version", "3"],
        ["update-index", "--index-version", "4"],
        ["update-index", "--split-index"],
        ["update-index", "--skip-worktree", ".longhouse/x"],
    ],
)
def test_no_kind_of_index_hides_it(tmp_path: Path, prepare: list[str]) -> None:
    before = {f".a/{number:03}": "x" for number in range(300)}
    clone = Clone(tmp_path, {**before, ".longhouse-not": "", ".longhouse/x": "", "z": ""})
    git(clone.root, *prepare)
    with pytest.raises(UntrustedStore, match=r"git tracks \.longhouse/x"):
        load({}, environ={}, cwd=clone.root)


def test_an_index_of_long_digests_is_read_too(tmp_path: Path) -> None:
    root = tmp_path / "acme"
    subprocess.run([GIT, "init", "-q", "--object-format=sha256", str(root)], check=True)
    (root / ".longhouse").mkdir()
    (root / ".longhouse" / "x").write_text("")
    (root / "a").write_text("")
    git(root, "add", "--all")
    with pytest.raises(UntrustedStore, match=r"git tracks \.longhouse/x"):
        load({}, environ={}, cwd=root)


def test_a_neighbour_with_a_similar_name_is_no_store(tmp_path: Path) -> None:
    names = (".longhouse-notes/x", ".longhous", "docs/.longhouse/x", ".longhouse.toml")
    clone = Clone(tmp_path, dict.fromkeys(names, ""))
    assert load({}, environ={}, cwd=clone.root).dir == clone.dir


def test_a_submodule_is_no_store(tmp_path: Path) -> None:
    inner = Clone(tmp_path / "inner", {"config.toml": HARMLESS})
    clone = Clone(tmp_path, {"a": ""})
    allow = ["-c", "protocol.file.allow=always"]
    git(clone.root, *allow, "submodule", "add", "-q", str(inner.root), ".longhouse")
    with pytest.raises(UntrustedStore):
        load({}, environ={}, cwd=clone.root)
    (clone.dir / ".git").unlink()
    with pytest.raises(UntrustedStore, match="git tracks"):
        load({}, environ={}, cwd=clone.root)


def test_what_was_pulled_into_a_store_of_ones_own_is_noticed(tmp_path: Path) -> None:
    clone = Clone(tmp_path, {"a": ""})
    assert clone.run("init").code == 0
    origin = tmp_path / "origin" / "acme"
    (origin / ".longhouse").mkdir()
    (origin / ".longhouse" / "config.toml").write_text(HARMLESS)
    git(origin, "add", "--all")
    git(origin, "commit", "-q", "-m", "A gift")
    git(clone.root, "pull", "-q")
    assert clone.run("status", "--json").error["code"] == "UNTRUSTED_STORE"


def test_a_link_in_the_place_of_the_folder_is_refused(tmp_path: Path) -> None:
    target = tmp_path / "victim"
    target.mkdir(mode=0o700)
    clone = Clone(tmp_path, {"a": ""}, links={".longhouse": str(target)})
    error = clone.run("up", "--json").error
    assert (error["code"], "symbolic link" in error["message"]) == ("UNTRUSTED_STORE", True)
    assert list(target.iterdir()) == []


@pytest.mark.parametrize("name", ["server.out", "server.log", "token", "longhouse.db", "agents"])
def test_a_link_inside_the_folder_is_not_written_through(tmp_path: Path, name: str) -> None:
    """An archive that was unpacked: git knows nothing of it."""
    clone, victim = Clone(tmp_path, {"a": ""}), tmp_path / "victim"
    victim.write_text("precious")
    clone.dir.mkdir(mode=0o700)
    (clone.dir / name).symlink_to(victim)
    error = clone.run("up", "--port", "0", "--json").error
    assert (error["code"], name in error["message"]) == ("UNTRUSTED_STORE", True)
    assert victim.read_text() == "precious"


@pytest.mark.parametrize("mode", [0o770, 0o707, 0o777, 0o720])
def test_a_folder_that_others_can_change_is_refused(tmp_path: Path, mode: int) -> None:
    (tmp_path / ".longhouse").mkdir()
    (tmp_path / ".longhouse").chmod(mode)
    with pytest.raises(UntrustedStore, match="other users") as caught:
        load({}, environ={}, cwd=tmp_path)
    assert "chmod 700" in str(caught.value.recovery)


def test_a_folder_of_another_user_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / ".longhouse").mkdir(mode=0o700)
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(UntrustedStore, match="another user"):
        load({}, environ={}, cwd=tmp_path)


@pytest.mark.parametrize(
    "line, name",
    [
        ('db = "postgresql://evil.example/x"', "db"),
        ('host = "0.0.0.0"', "host"),
        ("port = 80", "port"),
        ('allowed_hosts = ["evil.example"]', "allowed_hosts"),
        ('token = "known-to-the-attacker"', "token"),
        ('token_file = "/etc/passwd"', "token_file"),
        ('artifacts = "/etc"', "artifacts"),
        ('policy = "full-auto"', "policy"),
        ("otel = true", "otel"),
        ('agent_id = "ada"', "agent_id"),
        ('[runner]\nurl = "http://evil.example"', "runner.url"),
        ('[runner]\nroot = "/"', "runner.root"),
        ('[runner]\ncodex_bin = "./codex"', "runner.codex_bin"),
        ('[runner]\nclaude_bin = "./claude"', "runner.claude_bin"),
        ('[runner]\nsandbox = "full"', "runner.sandbox"),
        ('[runner]\nisolation = "none"', "runner.isolation"),
        ('[stores."x"]\ndb = "y"', "stores"),
        ("whatever = 1", "whatever"),
    ],
)
def test_the_stores_file_cannot_set_what_is_the_persons(
    tmp_path: Path, line: str, name: str
) -> None:
    (tmp_path / ".longhouse").mkdir(mode=0o700)
    (tmp_path / ".longhouse" / "config.toml").write_text(line)
    with pytest.raises(InvalidInput) as caught:
        load({}, environ={"HOME": str(tmp_path / "home")}, cwd=tmp_path)
    assert f"may not set {name}:" in caught.value.message
    assert str(tmp_path / "home" / ".config" / "longhouse" / "config.toml") in str(
        caught.value.recovery
    )


def test_doctor_says_where_each_setting_came_from(tmp_path: Path) -> None:
    clone = Clone(tmp_path, {"a": ""})
    clone.dir.mkdir(mode=0o700)
    (clone.dir / "config.toml").write_text("jobs_max_running = 3\n")
    clone.write_user_file(f'[stores."{clone.dir}"]\nallowed_hosts = ["a.example"]\n')
    said = clone.run("doctor", "--toolset", "core", LONGHOUSE_TOKEN="do-not-show-this-one").out
    for expected in (
        f"jobs_max_running = 3, from {clone.dir / 'config.toml'}",
        f'allowed_hosts = a.example, from {clone.user_file} [stores."{clone.dir}"]',
        "toolset = core, from --toolset",
        "token = ***, from LONGHOUSE_TOKEN",
    ):
        assert expected in said
    assert "do-not-show-this-one" not in said
