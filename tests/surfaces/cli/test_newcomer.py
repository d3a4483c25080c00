"""A newcomer's first steps: where a store is created, what is accepted, and what is printed."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from longhouse.supervisor.groups import ControlGroups
from longhouse.surfaces.cli.parse import ParsedLine, parse
from longhouse.surfaces.cli.render import ago
from longhouse.surfaces.cli.speaking import command_line

from .conftest import Shell

LONGHOUSE = str(Path(sys.executable).with_name("longhouse"))


@pytest.fixture
def nowhere(sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder outside any repository."""
    folder = tmp_path / "nowhere" / "sub"
    folder.mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize(
    "words",
    [
        ("status",),
        ("open", "JOB-001"),
        ("note", "hi"),
        ("export", "x.tar"),
        ("events",),
        ("doctor",),
        ("logs",),
        ("runner", "--once"),
        ("down",),
    ],
)
def test_outside_of_a_repository_nothing_but_init_makes_a_store(
    sh: Shell, nowhere: Path, words: tuple[str, ...]
) -> None:
    ran = sh(*words)
    assert list(nowhere.iterdir()) == []
    if words[0] not in ("doctor", "down", "logs"):
        assert ran.code == 3
        assert "create one here with `longhouse init`" in ran.err


@pytest.mark.parametrize("words", [("status",), ("log",), ("radar",), ("job", "list")])
def test_a_read_in_a_repository_without_a_store_makes_none(
    sh: Shell, words: tuple[str, ...]
) -> None:
    sh.forget_store()
    ran = sh(*words)
    assert ran.code == 3
    assert "there is no store yet" in ran.err
    assert "longhouse init" in ran.err
    assert not sh.dir.exists()
    assert sh("note", "a write makes it").code == 0
    assert sh(*words).code == 0


@pytest.mark.parametrize("flags", [(), ("--embedded",)])
def test_an_mcp_client_outside_of_a_repository_is_told_and_no_store_is_made(
    sh: Shell, nowhere: Path, flags: tuple[str, ...]
) -> None:
    hello = {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "x", "version": "1"},
        },
    }
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call"}
    call["params"] = {"name": "status", "arguments": {}}
    said = subprocess.run(
        [LONGHOUSE, "mcp", *flags],
        input="".join(json.dumps(one) + "\n" for one in (hello, call)),
        cwd=nowhere,
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert "there is no store here" in said.stdout + said.stderr
    assert "longhouse init" in said.stdout + said.stderr
    if not flags:
        assert [json.loads(line)["id"] for line in said.stdout.splitlines()][-1] == 2
    assert list(nowhere.iterdir()) == []


def test_a_store_is_found_from_below_it(
    sh: Shell, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(nowhere.parent)
    assert sh("init", "--client", "other").code == 0
    assert sh("note", "found").code == 0
    monkeypatch.chdir(nowhere)
    assert "found" in sh("log").out
    assert list(nowhere.iterdir()) == []


def test_a_store_above_that_is_somebody_elses_is_not_taken(
    sh: Shell, nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(nowhere))
    (nowhere.parent / ".longhouse").mkdir()
    (nowhere.parent / ".longhouse" / "token").write_text("theirs")
    assert "not been adopted" in sh("status").err
    monkeypatch.setattr("longhouse.config.stores.os.geteuid", lambda: os.getuid() + 1)
    assert "there is no store here" in sh("status").err


@pytest.mark.parametrize("word, meant", [("start", "up"), ("stop", "down")])
def test_what_people_try_first_is_understood(sh: Shell, word: str, meant: str) -> None:
    assert sh(word, "--help").out == sh(meant, "--help").out


def test_version_and_logs_are_commands(sh: Shell) -> None:
    assert sh("version").out == sh("--version").out
    assert sh("version", "--json").json["data"] == {"version": sh("version").out.split()[1]}
    assert "start a server: longhouse up" in sh("logs").err
    sh.dir.mkdir(mode=0o700, exist_ok=True)
    (sh.dir / "server.log").write_text("one\ntwo\nthree\n")
    assert sh("logs", "-n", "2").out == "two\nthree\n"


@pytest.mark.parametrize(
    "call, said",
    [
        (("vcs.branch.delete", {"name": "idea/x"}), "longhouse branch idea/x --delete"),
        (("vcs.checkout", {"ref": "main"}), "longhouse branch main --checkout"),
        (("tasks.ready", {}), "longhouse task list --ready"),
        (("tasks.ready", {"limit": 5}), "longhouse call tasks.ready limit=5"),
        (("vcs.branch.delete", {"name": 5}), "longhouse call vcs.branch.delete name=5"),
        (("tasks.ready", {"text": "5"}), 'longhouse call tasks.ready \'{"text": "5"}\''),
    ],
)
def test_a_call_with_all_its_arguments_is_said_or_called(
    call: tuple[str, dict[str, object]], said: str
) -> None:
    action = {"tool": "vcs", "args": {"op": "call", "cmd": call[0], "args": call[1]}}
    assert command_line(action, None) == said


def test_what_a_pack_leads_to_is_a_command_line(sh: Shell) -> None:
    card = {"type": "hypothesis", "title": "The cache is cold", "text": "It is."}
    assert sh("call", "think.card", json.dumps({"card": card})).code == 0
    said = sh("pack").out.splitlines()
    lines = [line.removeprefix("next: ") for line in said if line.startswith("next: ")]
    assert lines
    for line in lines:
        words = shlex.split(line)
        assert words[0] == "longhouse"
        parse(words[1:], ParsedLine())


@pytest.mark.parametrize(
    "words, said",
    [
        (("open", "JOB-099"), ["fix  list jobs with longhouse job list", "longhouse job list"]),
        (
            ("branch", "nix", "--delete"),
            ["longhouse branch, or create it with longhouse branch NAME"],
        ),
        (("job", "show", "x"), ["JOB: expected", "fix  copy an id from longhouse job list"]),
        (("note", ""), ["TEXT: expected"]),
        (("task", "done", "TASK-009"), ["copy an id from longhouse task list"]),
    ],
)
def test_a_refusal_is_said_in_command_lines(
    sh: Shell, words: tuple[str, ...], said: list[str]
) -> None:
    err = sh(*words).err
    for text in said:
        assert text in err


def test_an_imported_workspace_is_named_by_status(sh: Shell, tmp_path: Path) -> None:
    sh("note", "x")
    sh("export", str(tmp_path / "acme.tar"), "--workspace", "acme")
    other = ("--dir", str(tmp_path / "store"))
    moved = sh("import", str(tmp_path / "acme.tar"), "--workspace", "moved", *other).out
    assert moved.endswith(
        "its work is done nowhere until you type: longhouse workspace bind moved\n"
        "next: longhouse status --workspace moved\n"
    )
    assert "moved" in sh("status", "--workspace", "moved", *other).out.splitlines()[0]
    told = sh("status", *other).out
    assert "this store holds: moved\n" in told
    assert "next: longhouse status --workspace moved\n" in told


def test_lines_alone_read_from_the_start_of_an_artifact(sh: Shell, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("a\nb\nc\nd\n")
    sh("artifact", "add", str(tmp_path / "log"))
    assert sh("artifact", "show", "ART-001", "--lines", "3").out == "a\nb\nc\n"
    assert sh("artifact", "show", "ART-001", "--line", "2", "--lines", "1").out == "b\n"


@pytest.mark.parametrize(
    "later_s, said",
    [(0, "just now"), (30, "in a moment"), (7199, "in 2 hours"), (-7200, "2 hours ago")],
)
def test_a_time_to_come_is_not_just_now(later_s: int, said: str) -> None:
    assert ago(1_000_000_000 + later_s * 1000, 1_000_000_000) == said


@pytest.mark.parametrize(
    "words", ["status", "--help", "docs", "log --json", "open X", "status --json"]
)
@pytest.mark.parametrize("into", ["> /dev/full", ">&-", ">&- 2>&- <&-", "> /dev/full 2> /dev/full"])
def test_what_cannot_be_written_gives_no_traceback(sh: Shell, words: str, into: str) -> None:
    ran = subprocess.run(
        ["bash", "-c", f"{LONGHOUSE} {words} {into}"], capture_output=True, text=True
    )
    assert "Traceback" not in ran.stderr
    assert "Exception ignored" not in ran.stderr
    if words != "open X":
        assert ran.returncode == 74
        assert "2>" in into or "the answer could not be written" in ran.stderr


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_a_locale_without_our_characters_gets_what_it_has(sh: Shell, encoding: str) -> None:
    sh("note", "Grüße … 😀")
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "PYTHONUTF8": "0"}

    def ran(*words: str) -> str:
        done = subprocess.run([LONGHOUSE, *words], capture_output=True, env=environment)
        assert (done.returncode, done.stderr) == (0, b"")
        return done.stdout.decode(encoding)

    import json

    assert json.loads(ran("log", "--json"))["data"]["commits"][0]["artifact"] == "Grüße … 😀"
    assert json.loads(ran("call", "vcs.log"))["result"]["commits"][0]["artifact"] == "Grüße … 😀"
    assert "..." in ran("log")
    assert ran("task", "start", "Look")


def test_a_table_ends_at_the_edge_of_the_terminal(sh: Shell) -> None:
    sh("job", "create", "Mend " * 40, "--prompt", "x")
    printed = on_a_terminal([LONGHOUSE, "job", "list"], columns=60)
    assert [len(line) for line in printed.splitlines() if "JOB-001" in line] == [60]
    assert "…" in printed


def test_help_and_errors_wrap_between_words_on_a_terminal(sh: Shell) -> None:
    printed = on_a_terminal([LONGHOUSE, "job", "create", "--help"], columns=60)
    about = [line for line in printed.splitlines() if "longhouse" not in line]
    assert max(map(len, about)) <= 60
    refused = on_a_terminal([LONGHOUSE, "open", "TASK-01"], columns=60)
    fix = refused.partition("fix")[2].partition("next")[0].splitlines()
    assert len(fix) > 3
    assert all(len(line) <= 60 for line in fix)


def on_a_terminal(argv: list[str], columns: int) -> str:
    import fcntl
    import struct
    import termios

    outer, inner = pty.openpty()
    fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    environment = {**os.environ, "NO_COLOR": "1"}
    child = subprocess.Popen(argv, stdin=inner, stdout=inner, stderr=inner, env=environment)
    os.close(inner)
    printed = b""
    while True:
        try:
            data = os.read(outer, 65536)
        except OSError:
            break
        if not data:
            break
        printed += data
    child.wait()
    os.close(outer)
    return printed.decode().replace("\r\n", "\n")


@pytest.fixture
def machine(
    sh: Shell, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[[], list[tuple[str, str]]]:
    """What doctor finds on a machine with nothing but git and a home."""
    tools = tmp_path / "bin"
    tools.mkdir()
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CODEX_HOME", "CLAUDE_CONFIG_DIR"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("PATH", str(tools))
    monkeypatch.setattr(ControlGroups, "find", lambda: None)

    def look() -> list[tuple[str, str]]:
        ran = sh("doctor", "--json")
        assert ran.json["data"], ran.out
        checks = ran.json["data"]["checks"]
        return [(check["state"], f"{check['name']}: {check['text']}") for check in checks]

    return look


def has(found: list[tuple[str, str]], state: str, text: str) -> bool:
    return any(one == state and text in said for one, said in found)


def test_doctor_finds_agents_clients_rights_hooks_and_the_path(
    sh: Shell, machine: Callable[[], list[tuple[str, str]]], tmp_path: Path
) -> None:
    found = machine()
    assert has(found, "warn", "PATH: `longhouse` is not on PATH")
    assert has(found, "warn", "agents: neither Codex nor Claude Code is installed")
    assert has(found, "note", "clients: no MCP client is connected to this store")
    assert has(found, "ok", "limits: no delegated control group")
    for name in ("longhouse", "codex"):
        program = tmp_path / "bin" / name
        program.write_text("#!/bin/sh\necho codex-cli 9.9\n")
        program.chmod(0o755)
    sh("init", "--client", "codex")
    hooks = sh.root / ".git" / "hooks"
    hooks.mkdir()
    (hooks / "pre-commit").write_text("#!/bin/sh\n")
    (sh.dir / "agents").mkdir(mode=0o755)
    (sh.root / ".mcp.json").write_text('{"mcpServers": {"longhouse": {"command": "/gone/lh"}}}')
    found = machine()
    assert has(found, "ok", "PATH: `longhouse` is ")
    assert has(found, "ok", "agents: codex: codex-cli 9.9 at ")
    assert has(found, "ok", "clients: Codex is connected by ")
    assert has(found, "fail", "start /gone/lh, which does not exist")
    assert has(found, "warn", "pre-commit: it is not executable")
    assert has(found, "warn", f"other users can read {sh.dir / 'agents'}")
    (sh.root / ".mcp.json").write_text("{")
    (hooks / "pre-commit").chmod(0o755)
    found = machine()
    assert has(found, "warn", "Claude Code cannot read ")
    assert has(found, "ok", "git runs pre-commit")


def test_doctor_says_which_agents_run_commands_unsandboxed(
    machine: Callable[[], list[tuple[str, str]]], tmp_path: Path
) -> None:
    for name, version in (("codex", "codex-cli 0.120.0"), ("claude", "2.1.3 (Claude Code)")):
        program = tmp_path / "bin" / name
        program.write_text(f"#!/bin/sh\necho '{version}'\n")
        program.chmod(0o755)
    found = machine()
    assert has(found, "warn", "agents: jobs need Codex 0.138")
    assert has(found, "warn", "agents: claude runs the commands of jobs unsandboxed")
    (tmp_path / "bin" / "codex").write_text("#!/bin/sh\necho codex-cli 0.166.0\n")
    own = tmp_path / ".claude" / "settings.json"
    own.parent.mkdir(exist_ok=True)
    for text, warned in (
        ("[]", True),
        ('{"sandbox": {"enabled": false}}', True),
        ('{"sandbox": {"enabled": true}}', False),
    ):
        own.write_text(text)
        found = machine()
        assert has(found, "warn", "unsandboxed") == warned
        assert not has(found, "warn", "jobs need Codex")


def test_doctor_says_that_the_kernel_limits_processes_where_a_group_is_delegated(
    machine: Callable[[], list[tuple[str, str]]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ControlGroups, "find", lambda: ControlGroups(tmp_path))
    assert has(
        machine(), "ok", f"limits: each background task gets a control group below {tmp_path}"
    )


def test_doctor_understands_a_process_host_that_says_nothing_of_groups(
    machine: Callable[[], list[tuple[str, str]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("longhouse.runner.host.client.running_host", lambda *_: {"tasks": []})
    assert has(machine(), "ok", "limits: no delegated control group")


def test_the_manual_is_read_without_a_network(sh: Shell) -> None:
    topics = [row["topic"] for row in sh("docs", "--json").json["data"]["topics"]]
    assert topics[:2] == ["clients", "memory"]
    assert {"cli", "runner", "operations"} <= set(topics)
    assert sh("docs", "runner").out.startswith("# Run delegated jobs\n")
    assert sh("docs", "CLI.md").out.startswith("# The command line\n")
    wrong = sh("docs", "runer")
    assert (wrong.code, "fix  longhouse docs runner" in wrong.err) == (3, True)


def test_what_is_suggested_works_where_the_shell_does_not_find_us(sh: Shell) -> None:
    """A clone, where `make up` starts `.venv/bin/longhouse`."""
    environment = {**os.environ, "PATH": os.defpath, "LONGHOUSE_PORT": "0"}

    def ran(line: str) -> str:
        done = subprocess.run(
            ["bash", "-c", line], env=environment, text=True, capture_output=True, check=True
        )
        return done.stdout

    def after(label: str, printed: str) -> str:
        return printed.partition(label)[2].splitlines()[0]

    up = ran(f"{LONGHOUSE} up")
    status = ran(after("next: ", up).partition("  ")[0])
    started = ran(after("next: ", status) + " 'Ours'")
    assert "TASK-001 started in PLAN-001" in started
    closed = ran(f"{LONGHOUSE} task close --proof 'CMD: make test (exit 0)'")
    assert "s:1" in ran(after("next: ", closed))
    assert "stopped" in ran(after("stop: ", up))


def test_a_flag_that_a_call_lacks_is_named_as_a_flag(sh: Shell) -> None:
    sh("agent", "register", "--name", "amber-otter")
    assert "longhouse: --scope is missing\n" in sh("agent", "reserve", "--agent", "amber-otter").err
