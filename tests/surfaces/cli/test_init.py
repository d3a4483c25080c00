"""`longhouse init`: adds entries to clients' files and changes nothing else in them."""

from __future__ import annotations

import json
import stat
import tomllib
from pathlib import Path

import pytest

from tests.surfaces.cli.conftest import Shell


@pytest.fixture
def has_store() -> bool:
    return False


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An unused home folder."""
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME"):
        monkeypatch.delenv(name, raising=False)
    return folder


def entry(path: Path) -> dict:
    return json.loads(path.read_text())["mcpServers"]["longhouse"]


def test_a_fresh_repository_gets_a_store_entries_and_three_next_steps(
    sh: Shell, home: Path
) -> None:
    ran = sh("init")
    assert ran.code == 0
    assert (sh.dir / "longhouse.db").exists()
    claude = entry(sh.root / ".mcp.json")
    codex = tomllib.loads((sh.root / ".codex" / "config.toml").read_text())
    codex = codex["mcp_servers"]["longhouse"]
    assert [claude["command"], *claude["args"][:-2]] == [codex["command"], *codex["args"][:-4]]
    assert claude["args"][-3:] == ["mcp", "--client", "claude-code"]
    assert codex["args"][-4:] == ["--format", "lines", "--client", "codex"]
    assert codex["required"] is True
    assert json.loads(ran.out.split("mcp.json\n  ")[1].splitlines()[0])["mcpServers"]
    assert [line[:5] for line in ran.out.splitlines()[-3:]] == ["  1. ", "  2. ", "  3. "]
    assert {path.name for path in home.iterdir()} == {".config", ".local"}  # no client's files


def test_saying_it_twice_changes_nothing(sh: Shell, home: Path) -> None:
    sh("init", "--approve")
    files = [sh.root / ".mcp.json", sh.root / ".codex/config.toml"]
    before = [(file.read_bytes(), file.stat().st_mtime_ns) for file in files]
    again = sh("init", "--approve", "--json").json["data"]
    assert {file["change"] for file in again["files"]} == {"unchanged"}
    assert [(file.read_bytes(), file.stat().st_mtime_ns) for file in files] == before


def test_a_dry_run_shows_the_difference_and_makes_nothing(sh: Shell, home: Path) -> None:
    ran = sh("init", "--dry-run", "--approve")
    assert "+[mcp_servers.longhouse]" in ran.out
    assert '+      "mcp__longhouse"' in ran.out
    assert [path.name for path in sh.root.iterdir()] == [".git"]


def test_user_scope_goes_where_the_clients_look(
    sh: Shell, home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    sh("init", "--scope", "user", "--approve")
    assert entry(home / ".claude.json")["args"][-3:] == ["mcp", "--client", "claude-code"]
    allowed = json.loads((home / ".claude" / "settings.json").read_text())
    assert allowed == {"permissions": {"allow": ["mcp__longhouse"]}}
    assert "longhouse" in (home / ".codex" / "config.toml").read_text()
    monkeypatch.setenv("CLAUDE_CONFIG_DIR", str(tmp_path / "claude"))
    monkeypatch.setenv("CODEX_HOME", str(tmp_path / "codex"))
    sh("init", "--scope", "user")
    assert entry(tmp_path / "claude" / ".claude.json")
    assert (tmp_path / "codex" / "config.toml").exists()


def test_json_keeps_its_order_its_indentation_and_what_others_wrote(sh: Shell, home: Path) -> None:
    file = sh.root / ".mcp.json"
    was = (
        '{\n\t"zeta": "ä",\n\t"mcpServers": {\n\t\t"other": {"command": "x"},\n'
        '\t\t"longhouse": {\n\t\t\t"env": {"A": "1"}\n\t\t}\n\t},\n\t"alpha": 1.50\n}'
    )
    file.write_text(was)
    file.chmod(0o640)
    sh("init", "--client", "claude-code")
    text = file.read_text()
    assert list(json.loads(text)) == ["zeta", "mcpServers", "alpha"]
    assert '\n\t"zeta": "ä"' in text
    assert not text.endswith("\n")
    assert entry(file)["env"] == {"A": "1"}
    assert json.loads(text)["mcpServers"]["other"] == {"command": "x"}
    assert stat.S_IMODE(file.stat().st_mode) == 0o640
    sh("init", "--client", "claude-code", "--remove")
    left = json.loads(file.read_text())
    assert left == {"zeta": "ä", "mcpServers": {"other": {"command": "x"}}, "alpha": 1.5}


TOML = """\
# my codex
model = "gpt"  # the good one

[mcp_servers.longhouse]
# slow machine
tool_timeout_sec = 30
args = [
  "old",  # was
]
command = "old"

[mcp_servers.longhouse.env]
A = "1"

[mcp_servers."other one"]
command = 'x'

# the end
"""


def test_toml_keeps_comments_order_and_every_other_key(sh: Shell, home: Path) -> None:
    file = sh.root / ".codex" / "config.toml"
    file.parent.mkdir()
    file.write_text(TOML)
    before = tomllib.loads(TOML)
    sh("init", "--client", "codex", "--approve")
    text = file.read_text()
    after = tomllib.loads(text)
    ours = after["mcp_servers"].pop("longhouse")
    assert ours["args"][-5:] == ["mcp", "--format", "lines", "--client", "codex"]
    assert (ours["tool_timeout_sec"], ours["env"]) == (30, {"A": "1"})
    assert ours["default_tools_approval_mode"] == "approve"
    before["mcp_servers"].pop("longhouse")
    assert after == before
    for comment in ("# my codex", "# the good one", "# slow machine", "# the end"):
        assert comment in text
    assert text.index("tool_timeout_sec") < text.index("[mcp_servers.longhouse.env]")
    sh("init", "--client", "codex", "--remove")
    left = file.read_text()
    assert tomllib.loads(left) == before
    assert "# my codex" in left
    assert "# the end" in left


def test_a_link_is_followed_and_stays_a_link(sh: Shell, home: Path, tmp_path: Path) -> None:
    kept = tmp_path / "dotfiles.json"
    kept.write_text('{"a": 1}\n')
    (home / ".claude.json").symlink_to(kept)
    sh("init", "--scope", "user", "--client", "claude-code")
    assert (home / ".claude.json").is_symlink()
    assert json.loads(kept.read_text())["a"] == 1
    assert entry(kept)


@pytest.mark.parametrize(
    "name, text",
    [
        (".mcp.json", '{"mcpServers": {} // mine\n}'),
        (".mcp.json", '{"a": 1, "a": 2}'),
        (".mcp.json", "[]"),
        (".mcp.json", '{"mcpServers": []}'),
        (".mcp.json", '{"mcpServers": {"longhouse": 7}}'),
        (".mcp.json", b"\xff\xfe{"),
        (".codex/config.toml", "model = "),
        (".codex/config.toml", "mcp_servers = { other = { command = 'x' } }"),
        (".codex/config.toml", "mcp_servers = 7"),
        (".codex/config.toml", "mcp_servers.longhouse.command = 'x'"),
    ],
)
def test_what_cannot_be_understood_is_left_alone_and_so_is_everything_else(
    sh: Shell, home: Path, name: str, text: str | bytes
) -> None:
    file = sh.root / name
    file.parent.mkdir(exist_ok=True)
    content = text if isinstance(text, bytes) else text.encode()
    file.write_bytes(content)
    ran = sh("init", "--json")
    assert (ran.code, ran.json["error"]["code"]) == (2, "CANNOT_EDIT")
    assert str(file) in ran.json["error"]["message"]
    assert ran.json["error"]["recovery"]
    assert file.read_bytes() == content
    assert sorted(path.name for path in sh.root.iterdir()) == sorted([".git", Path(name).parts[0]])


def test_remove_takes_out_what_init_put_in_and_keeps_the_store(sh: Shell, home: Path) -> None:
    sh("init", "--approve")
    ran = sh("init", "--remove", "--json").json["data"]
    assert {file["change"] for file in ran["files"]} == {"removed"}
    assert not (sh.root / ".mcp.json").exists()
    assert (sh.dir / "longhouse.db").exists()
    again = sh("init", "--remove", "--json").json["data"]
    assert {file["change"] for file in again["files"]} == {"not there"}


def test_what_was_said_to_init_is_said_in_the_entry(sh: Shell, home: Path, tmp_path: Path) -> None:
    where = tmp_path / "elsewhere"
    sh("init", "--dir", str(where), "-w", "team", "--agent-id", "ada")
    said = ["--dir", str(where), "--workspace", "team", "--agent-id", "ada"]
    assert entry(sh.root / ".mcp.json")["args"][-8:-2] == said


def test_a_secret_is_not_written_into_an_entry(sh: Shell, home: Path) -> None:
    ran = sh("init", "--db", "postgresql://me:secret@db/x")
    assert ran.code == 2
    assert "config.toml" in ran.err
    assert [path.name for path in sh.root.iterdir()] == [".git"]


def test_a_person_decides_how_the_clients_reads_are_answered(sh: Shell) -> None:
    sh("init", "--format", "json")
    codex = tomllib.loads((sh.root / ".codex" / "config.toml").read_text())
    assert codex["mcp_servers"]["longhouse"]["args"][-3:] == ["mcp", "--client", "codex"]
    sh("init", "--format", "lines")
    claude = entry(sh.root / ".mcp.json")["args"]
    assert claude[-5:] == ["mcp", "--format", "lines", "--client", "claude-code"]
    assert sh("init", "--format", "xml").code == 2
