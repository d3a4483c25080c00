"""The attacker reads what is left around: output that was kept, and the list of processes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.surfaces.cli.conftest import Shell, has_store, repository, sh

__all__ = ["has_store", "repository", "sh"]

UP = ("up", "--port", "0")
SECRET = "correct-horse-battery-staple"


def test_up_shows_the_token_to_a_terminal_only(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    kept = sh(*UP).out + sh(*UP, "--json").out
    token = (sh.dir / "token").read_text().strip()
    assert token not in kept
    assert str(sh.dir / "token") in kept
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert f"/#token={token}" in sh(*UP).out


def test_a_token_on_the_command_line_is_warned_about_and_a_file_is_not(
    sh: Shell, tmp_path: Path
) -> None:
    (tmp_path / "secret").write_text(SECRET + "\n")
    quiet = sh(*UP, "--token-file", str(tmp_path / "secret"), "--json")
    assert quiet.err == ""
    pid = quiet.json["data"]["pid"]
    assert SECRET.encode() not in Path(f"/proc/{pid}/cmdline").read_bytes()
    loud = sh("status", "--token", SECRET, "--json")
    assert "--token-file" in loud.err
    assert json.loads(loud.out)["ok"]
    assert sh("status", "--token-file", str(tmp_path / "secret")).code == 0
    (tmp_path / "secret").write_text("wrong")
    assert sh("status", "--token-file", str(tmp_path / "secret")).code == 5


def test_bytes_of_others_are_not_written_to_a_terminal(
    sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "log").write_bytes(b"\x1b]0;owned\x07")
    sh("artifact", "add", str(tmp_path / "log"))
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    ran = sh("artifact", "get", "ART-001")
    assert (ran.code, "\x1b" in ran.out) == (2, False)
