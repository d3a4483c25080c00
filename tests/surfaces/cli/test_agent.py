"""`longhouse agent`: the identity of a session, kept private, and no unexpected prompts."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from longhouse.config import load
from longhouse.house import House
from longhouse.surfaces.cli.checkout import changed_files, checkout_root, place
from tests.kit import CountedIds, ManualClock
from tests.surfaces.cli.conftest import Ran, Shell

MINUTE = 60_000


def git(*argv: str, cwd: Path) -> None:
    name = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    subprocess.run(["git", *name, *argv], cwd=cwd, check=True, capture_output=True)


@pytest.fixture
def repo(sh: Shell) -> Path:
    """A real repository with one commit."""
    git("init", "-q", "-b", "main", cwd=sh.root)
    (sh.root / "src").mkdir()
    (sh.root / "src" / "parser.py").write_text("x = 1\n")
    git("add", ".", cwd=sh.root)
    git("commit", "-qm", "start", cwd=sh.root)
    return sh.root


def silent(root: Path, name: str, scope: str = "src/*", minutes: int = 20) -> None:
    """An identity taken here that reserved a scope and was last seen that long ago."""
    import time

    settings = load(cwd=root)
    clock = ManualClock(time.time_ns() // 1_000_000 - minutes * MINUTE)
    with House(settings, clock=clock, ids=CountedIds()) as house:
        token = house.call("agents.register", {"name": name}).envelope["result"]["agent_token"]
        acts = {"agent": name, "agent_token": token, "scope": scope, "bead_id": "bd-1"}
        assert house.call("agents.reserve", acts).success
    kept = settings.dir / "agents" / settings.workspace
    kept.mkdir(parents=True, exist_ok=True)
    (kept / name).write_text(token)


def ok(ran: Ran) -> Any:
    assert (ran.code, ran.json["ok"], ran.json["error"]) == (0, True, None), ran.out
    return ran.json["data"]


def code(ran: Ran) -> str:
    assert ran.code != 0
    assert (ran.json["ok"], ran.json["data"]) == (False, None)
    return str(ran.json["error"]["code"])


@pytest.mark.proves("OPS-053", "OPS-058")
def test_init_without_a_wish_registers_and_says_why(sh: Shell) -> None:
    ran = sh("agent", "init", "--non-interactive", "--json")
    data = ok(ran)
    assert (ran.json["command"], data["mode"]) == ("agent init", "register")
    assert data["recommendation"] == "register: no earlier identity has unfinished work here"
    assert data["agent"]["rig"].startswith(sys.platform)
    assert ok(sh("agent", "heartbeat", "--agent", data["agent_id"], "--json")), "its token is kept"
    assert ok(sh("agent", "init", "--non-interactive", "--json"))["agent_id"] != data["agent_id"]


@pytest.mark.proves("OPS-055", "OPS-009")
def test_init_registers_the_name_that_is_asked_for_once(sh: Shell) -> None:
    data = ok(sh("agent", "init", "--register", "amber-otter", "--role", "ui", "--json"))
    assert (data["agent_id"], data["agent"]["role"]) == ("amber-otter", "ui")
    assert sys.platform in data["agent"]["rig"]
    assert ok(sh("agent", "heartbeat", "--agent", "amber-otter", "--json")), "its token is kept"
    assert code(sh("agent", "init", "--register", "amber-otter", "--json")) == "DUPLICATE_AGENT_ID"
    for wrong in ("Bad_Name", "Amber-Otter"):
        assert code(sh("agent", "init", "--register", wrong, "--json")) == "INVALID_AGENT_ID"
    both = sh("agent", "init", "--register", "a-b", "--adopt", "c-d", "--json")
    assert code(both) == "INVALID_INPUT"


def test_tokens_are_kept_for_their_owner_alone_and_not_shown(sh: Shell) -> None:
    ran = sh("agent", "init", "--register", "amber-otter", "--json", "-w", "team/acme")
    path = Path(ok(ran)["kept_in"])
    token = path.read_text().strip()
    assert token.startswith("lha_")
    assert token not in ran.out
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for folder in (path.parent, path.parent.parent):
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert path.is_relative_to(sh.dir)
    ghost = sh("agent", "heartbeat", "--agent", "../../token", "--json", "-w", "team/acme")
    assert code(ghost) == "AGENT_NOT_FOUND"


@pytest.mark.proves("OPS-016", "OPS-018", "OPS-052")
def test_a_heartbeat_uses_the_kept_token(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    sh("agent", "register", "--name", "amber-otter")
    ran = sh("agent", "heartbeat", "--agent", "amber-otter", "--json")
    assert list(ran.json) == ["ok", "command", "data", "error"]
    assert ran.json["command"] == "agent heartbeat"
    assert ok(ran)["agent"]["last_seen_at"].endswith("Z")
    assert "was last seen at" in sh("agent", "heartbeat", "--agent", "amber-otter").out
    assert code(sh("agent", "heartbeat", "--json")) == "INVALID_INPUT"
    monkeypatch.setenv("LONGHOUSE_AGENT_ID", "amber-otter")
    assert ok(sh("agent", "heartbeat", "--json"))
    assert code(sh("agent", "heartbeat", "--agent", "ghost-otter", "--json")) == "AGENT_NOT_FOUND"


def test_an_identity_from_elsewhere_cannot_be_used(sh: Shell) -> None:
    sh("call", "agents.register", "name=amber-otter")
    ran = sh("agent", "heartbeat", "--agent", "amber-otter", "--json")
    assert (code(ran), ran.code) == ("AGENT_TOKEN_REQUIRED", 5)


@pytest.mark.proves("OPS-005", "OPS-007", "OPS-054")
def test_init_adopts_with_evidence_and_not_without(sh: Shell, repo: Path) -> None:
    silent(repo, "amber-otter")
    adopt = ("agent", "init", "--adopt", "amber-otter", "--non-interactive", "--json")
    rejected = sh(*adopt)
    assert (code(rejected), rejected.code) == ("ADOPTION_REJECTED", 4)
    (repo / "notes.md").write_text("elsewhere")
    assert code(sh(*adopt)) == "ADOPTION_REJECTED"
    assert code(sh(*adopt, "--scope", "src/*")) == "ADOPTION_REJECTED"
    (repo / "src" / "parser.py").write_text("x = 2\n")
    data = ok(sh(*adopt, "--scope", "src/*"))
    assert (data["mode"], data["event"]["event_type"]) == ("adopt", "RESUME")
    assert data["recommendation"] == "adopted: uncommitted changes in src/*: src/parser.py"
    assert ok(sh("agent", "heartbeat", "--agent", "amber-otter", "--json"))
    assert ok(sh(*adopt))["event"]["payload"]["resume_reason"] == "uncommitted_scope"
    assert code(sh("agent", "init", "--adopt", "ghost-otter", "--json")) == "AGENT_NOT_FOUND"


@pytest.mark.proves("OPS-056", "OPS-057", "OPS-058")
def test_what_cannot_be_decided_safely_fails_with_a_recommendation(
    sh: Shell, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent(repo, "amber-otter")
    (repo / "src" / "parser.py").write_text("x = 2\n")
    monkeypatch.setattr("builtins.input", _never)
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    runs = [sh("agent", "init", "--non-interactive", "--json") for _ in range(2)]
    assert [code(ran) for ran in runs] == ["AMBIGUOUS_SESSION"] * 2
    assert runs[0].json["error"] == runs[1].json["error"]
    error = runs[0].json["error"]
    assert "uncommitted changes in src/*: src/parser.py" in error["message"]
    assert "--adopt amber-otter" in error["recovery"]
    assert code(sh("agent", "init", "--json")) == "AMBIGUOUS_SESSION", "a program reads the answer"
    assert sh("agent", "init", "--non-interactive").code == 4
    rejected = sh("agent", "init", "--adopt", "amber-otter", "--scope", "x", "--non-interactive")
    assert rejected.code == 4


def _never(question: str = "") -> str:
    raise AssertionError(f"asked {question!r}")


@pytest.mark.proves("OPS-008")
def test_a_person_is_asked_before_adopting_without_evidence(
    sh: Shell, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent(repo, "amber-otter")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: "no")
    assert sh("agent", "init", "--adopt", "amber-otter").code == 4
    monkeypatch.setattr("builtins.input", lambda _: "amber-otter")
    assert "continues as amber-otter" in sh("agent", "init", "--adopt", "amber-otter").out


def test_a_person_chooses_between_earlier_identities_and_a_new_one(
    sh: Shell, repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    silent(repo, "amber-otter")
    silent(repo, "cobalt-harbor", "docs/*", minutes=40)
    (repo / "src" / "parser.py").write_text("x = 2\n")
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    monkeypatch.setattr("builtins.input", lambda _: "")
    new = sh("agent", "init").out
    assert "amber-otter is stale: uncommitted changes in src/*: src/parser.py" in new
    assert "cobalt-harbor" not in new
    assert "a person chose a new identity" in new
    monkeypatch.setattr("builtins.input", lambda _: "amber-otter")
    assert "this session continues as amber-otter" in sh("agent", "init").out


def test_two_worktrees_and_a_link_are_one_project(
    sh: Shell, repo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tree = tmp_path / "tree"
    git("worktree", "add", "-q", str(tree), cwd=repo)
    (repo / "alias").symlink_to("src")
    for name in ("amber-otter", "cobalt-harbor"):
        sh("agent", "register", "--name", name)
    reserve = ("agent", "reserve", "--bead", "bd-1", "--json")
    held = ok(sh(*reserve, "--agent", "amber-otter", "--scope", "alias/parser.py"))
    assert held["reservation"]["scope"] == "src/parser.py"
    monkeypatch.chdir(tree / "src")
    other = (*reserve, "--agent", "cobalt-harbor", "--scope")
    for scope in ("src/*", "src/parser.py", "./parser.py", "../src", str(tree / "src"), "/", "**"):
        assert code(sh(*other, scope)) == "RESERVATION_CONFLICT", scope
    for scope in ("../../outside", "../" * 20, "../" * 20 + "*", "../" * 20 + "**", "/etc/.."):
        assert code(sh(*other, scope)) == "SCOPE_OUTSIDE_PROJECT", scope
    (tree / "way-out").symlink_to("/etc")
    assert code(sh(*other, "way-out/passwd")) == "SCOPE_OUTSIDE_PROJECT"
    assert ok(sh(*other, "src/lexer.py"))["reservation"]["scope"] == "src/lexer.py"
    assert "src/parser.py" in sh("agent", "status").out


def test_the_words_that_agents_exchange(sh: Shell) -> None:
    for name in ("amber-otter", "cobalt-harbor"):
        sh("agent", "register", "--name", name, "--role", "ui")
    to = ("--to", "cobalt-harbor", "--bead", "bd-1", "--subject", "don't; echo $(id)", "--json")
    amber, cobalt = ("--agent", "amber-otter"), ("--agent", "cobalt-harbor")
    sent = ok(sh("agent", "send", "--from", "amber-otter", *to, "--body", "`id`"))
    assert sent["messages"][0]["body"] == "`id`"
    passed = ok(sh("agent", "handoff", *amber, *to, "--summary", "s", "--next-action", "n"))
    assert passed["event"]["event_type"] == "HANDOFF"
    stuck = ok(sh("agent", "blocked", *amber, *to, "--blocker", "b", "--requested-action", "r"))
    assert stuck["event"]["payload"]["urgency"] == "medium"
    inbox = ok(sh("agent", "inbox", *cobalt, "--state", "unread,read", "--json"))
    assert inbox["count"] == 3
    assert "don't; echo $(id)" in sh("agent", "inbox", *cobalt).out
    message = ("--message", inbox["messages"][0]["message_id"])
    assert "b\n" in sh("agent", "read", *cobalt, *message).out
    assert ok(sh("agent", "ack", *cobalt, *message, "--json"))["message"]["state"] == "acked"
    assert code(sh("agent", "ack", *amber, *message, "--json")) == "ACK_FORBIDDEN"
    assert ok(sh("agent", "list", "--role", "ui", "--json"))["count"] == 2
    assert "amber-otter" in sh("agent", "show", *amber).out
    assert code(sh("agent", "send", *amber, "--to", "x", "--json")) == "INVALID_INPUT"
    gone = sh("agent", "retire", *amber)
    assert gone.out == "amber-otter has retired; 0 reservations released\n"
    assert not (sh.dir / "agents" / "acme" / "amber-otter").exists()


def test_what_another_agent_wrote_never_steers_the_terminal(sh: Shell) -> None:
    for name in ("amber-otter", "cobalt-harbor"):
        sh("agent", "register", "--name", name)
    hostile = "\x1b]0;owned\x07\x1b[2J\x1b[31mred\u202e\x9b1m\r\nback"
    to = ("--agent", "amber-otter", "--to", "cobalt-harbor", "--bead", "b-1", "--json")
    body = f"line\n{hostile}\tend"
    sent = ok(sh("agent", "send", *to, "--subject", hostile, "--body", body))
    message = sent["messages"][0]
    assert (message["subject"], message["body"]) == (hostile, body)
    cobalt = ("--agent", "cobalt-harbor")
    inbox = sh("agent", "inbox", *cobalt).out
    assert len(inbox.splitlines()) == 2
    read = sh("agent", "read", *cobalt, "--message", message["message_id"]).out
    assert "\\u001b]0;owned\\u0007\\u001b[2J" in read
    assert not [line for line in read.splitlines()[1:] if line[:2].strip()], "none reads as ours"
    raw = sh("call", "agents.inbox", "agent=cobalt-harbor")
    assert raw.json["result"]["messages"][0]["subject"] == hostile
    for text in (inbox, read, raw.out):
        rest = text.replace("\r\n", "").replace("\n", "").replace("\t", "")
        assert rest.isprintable()


def test_a_warning_is_shown_beside_the_answer(sh: Shell, repo: Path) -> None:
    sh("agent", "register", "--name", "amber-otter")
    sh("agent", "reserve", "--agent", "amber-otter", "--bead", "b-1", "--scope", "src/*")
    (repo / "src" / "parser.py").write_text("x = 2\n")
    adopt = ("agent", "adopt", "--agent", "amber-otter")
    assert "was active until just now" in sh(*adopt).err
    assert sh(*adopt, "--json").err == ""


def test_a_refusal_names_its_event_and_no_command_that_cannot_be_pasted(sh: Shell) -> None:
    for name in ("amber-otter", "cobalt-harbor"):
        sh("agent", "register", "--name", name)
    reserve = ("agent", "reserve", "--bead", "b-1", "--scope", "src", "--json", "--agent")
    sh(*reserve, "amber-otter")
    refused = [sh(*reserve, "cobalt-harbor").json["error"] for _ in range(2)]
    assert refused[0] == refused[1]
    assert refused[0]["hints"] == [
        {"kind": "incursion", "ref": "b-1@4", "owner": "amber-otter", "reservation": "res_3"}
    ]
    wrong = sh("agent", "reserve", "--agent", "amber-otter", "--bead", "b-1", "--scope", "a\x1bb")
    assert wrong.code == 2
    assert "<redacted>" not in wrong.err


def test_changed_files_are_told_as_they_are_named(repo: Path) -> None:
    assert changed_files() == []
    git("mv", "src/parser.py", "src/lexer one.py", cwd=repo)
    (repo / "docs").mkdir()
    (repo / "docs" / "ü.md").write_text("new")
    assert changed_files() == ["src/lexer one.py", "src/parser.py", "docs/ü.md"]
    assert changed_files("docs/*") == ["docs/ü.md"]
    assert changed_files("src") == ["src/lexer one.py", "src/parser.py"]
    assert changed_files("none") == []


def test_what_is_changed_and_not_reserved_is_shown_and_recorded(sh: Shell, repo: Path) -> None:
    for name in ("amber-otter", "cobalt-harbor"):
        sh("agent", "register", "--name", name)
    mine = ("agent", "changes", "--agent", "amber-otter")
    assert sh(*mine).out == "no uncommitted changes in this checkout\n"
    assert ok(sh(*mine, "--json")) == {"outside": [], "count": 0}
    (repo / "src" / "parser.py").write_text("x = 2\n")
    (repo / "src" / "new.py").write_text("x = 2\n")
    (repo / "notes.txt").write_text("x\n")
    hold = ("agent", "reserve", "--bead", "b-1", "--agent")
    sh(*hold, "amber-otter", "--scope", "src/new.py")
    sh(*hold, "cobalt-harbor", "--scope", "src/parser.py")
    first = ok(sh(*mine, "--json"))
    assert (first["outside"], first["count"]) == ([{"path": "notes.txt"}], 1)
    assert first["ref"].startswith("agent:amber-otter@")
    assert sh(*mine).out.split() == ["PATH", "HOLDER", "notes.txt", "-"], "and not recorded again"
    assert "changed but not reserved (seen by amber-otter): notes.txt" in sh("agent", "status").out
    alone = sh(*mine, "--alone").out
    assert "src/parser.py" in alone
    assert "recorded: agent:amber-otter@" in alone
    assert "amber-otter changed files" in sh("agent", "inbox", "--agent", "cobalt-harbor").out
    (repo / "notes.txt").unlink()
    assert sh(*mine).out == "every changed file in this checkout is reserved\n"


@pytest.mark.parametrize("trouble", ["no git", "no repository", "a broken index"])
def test_where_git_cannot_tell_what_is_changed_that_is_said_and_how_to_find_out(
    sh: Shell, repo: Path, monkeypatch: Any, trouble: str
) -> None:
    sh("agent", "register", "--name", "amber-otter")
    (repo / "notes.txt").write_text("x\n")
    if trouble == "no git":
        monkeypatch.setenv("PATH", str(repo))
    elif trouble == "a broken index":
        (repo / ".git" / "index").write_bytes(b"broken")
    else:
        shutil.rmtree(repo / ".git")
    ran = sh("agent", "changes", "--agent", "amber-otter", "--json")
    assert ran.code == 4
    error = ran.json["error"]
    assert f"git cannot list the changes in {repo}: " in error["message"]
    assert f"git -C {repo} status" in error["recovery"]


def test_before_the_first_commit_every_file_is_changed(sh: Shell) -> None:
    git("init", "-q", cwd=sh.root)
    sh("agent", "register", "--name", "amber-otter")
    (sh.root / "notes.txt").write_text("x\n")
    (sh.root / "staged.txt").write_text("x\n")
    git("add", "staged.txt", cwd=sh.root)
    seen = ok(sh("agent", "changes", "--agent", "amber-otter", "--json"))
    assert sorted(one["path"] for one in seen["outside"]) == ["notes.txt", "staged.txt"]


@pytest.mark.parametrize("own", ["a file", "in the work tree"])
def test_uncommitted_changes_are_seen_where_the_persons_own_folder_cannot_be_used(
    repo: Path, monkeypatch: Any, tmp_path: Path, own: str
) -> None:
    (tmp_path / "file").write_text("")
    where = tmp_path / "file" if own == "a file" else repo / "ignored"
    (repo / ".git" / "info" / "exclude").write_text("ignored\n")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(where))
    (repo / "notes.txt").write_text("x\n")
    assert changed_files() == ["notes.txt"]


def test_files_that_are_too_many_to_be_compared_are_counted(
    sh: Shell, repo: Path, monkeypatch: Any
) -> None:
    monkeypatch.setattr("longhouse.git.changed_files.MAX_CHANGED", 1)
    sh("agent", "register", "--name", "amber-otter")
    for name in "abc":
        (repo / name).write_text("x")
    shown = sh("agent", "changes", "--agent", "amber-otter").out
    assert "2 more changed files not checked against reservations" in shown


def test_outside_of_git_there_is_no_evidence(tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    assert changed_files() == []
    assert checkout_root() == Path(os.path.realpath(tmp_path))
    assert place("src/*")["scope"] == f"{os.path.realpath(tmp_path)}/src/*"


@pytest.mark.proves("OPS-062")
def test_the_skill_names_the_steps_of_the_protocol_in_order(sh: Shell) -> None:
    text = sh("skill", "print").out
    steps = [
        "agent init",
        "--adopt",
        "agent heartbeat",
        "agent inbox",
        "agent read",
        "agent ack",
        "agent reserve",
        "--takeover-stale",
        "agent handoff",
        "agent blocked",
        "agent release",
    ]
    places = [text.index(step) for step in steps]
    assert places == sorted(places)


@pytest.mark.proves("OPS-062")
def test_every_command_of_the_skill_is_one(sh: Shell) -> None:
    import re
    import shlex

    text = sh("skill", "print").out
    blocks = re.findall(r"```bash\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in block.replace("\\\n", " ").splitlines()]
    lines += re.findall(r"`(longhouse [^`…]+)`", text)
    assert len(lines) > 10
    for line in lines:
        ran = sh(*shlex.split(line.removeprefix("longhouse ")), "--help")
        assert ran.code == 0, (line, ran.err)
    codes = set(re.findall(r"`([A-Z]+_[A-Z_]+)`", text)) - {"LONGHOUSE_AGENT_ID"}
    known = {row.split("`")[1] for row in _errors() if row.startswith("| `")}
    assert codes <= known


def _errors() -> list[str]:
    page = Path(__file__).parents[3] / "docs" / "errors.md"
    return page.read_text(encoding="utf-8").splitlines()
