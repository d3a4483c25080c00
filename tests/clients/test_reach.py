"""What the commands of an agent can reach in its real sandbox, compared with SECURITY.md.

A probe runs as a command of each client, started as the runner starts it, in a worktree of a person
whose home is outside the temporary folder, because Codex lets commands write there.
"""

from __future__ import annotations

import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from longhouse.client import launch, locate
from longhouse.subagents import (
    DispatchSubagent,
    InProcessEventBus,
    PromptSubagentToolsSection,
    Session,
)
from longhouse.subagents.executor_runner import ExecutorRunner
from tests.clients.agents import Agent, Blocked, Claude, Codex
from tests.clients.scripted.model import Call, Finish, Model, Shell, Turn, Use
from tools import clients
from tools.node import BUILD, ROOT

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]

TASK = DispatchSubagent("ad_hoc", "team", "scout", "Find out what you can reach.", ())
DONE = Finish({"status": "DONE", "summary": "done", "refs": [], "events": [], "artifacts": []})
NOTE = Call("vcs", {"op": "call", "cmd": "vcs.notes.commit", "args": {"content": "Seen."}})
HEADING = "## What an agent's commands can reach"
COLUMNS = {
    "Codex, `workspace-write`": (Codex, "workspace-write"),
    "Codex, `read-only`": (Codex, "read-only"),
    "Codex, `full`": (Codex, "full"),
    "Claude Code, `workspace-write`": (Claude, "workspace-write"),
}

PROBE = """\
reach() {
  able=
  if [ -d "$2" ]; then cat "$2"/secret >/dev/null 2>&1 && able=read; else able=; fi
  touch "$2"/probe 2>/dev/null && able="${able:+$able, }write"
  echo "REACH $1: ${able:-nothing}"
}
"""


def promised() -> dict[str, dict[str, str]]:
    """The table of SECURITY.md: for each column, what each row says."""
    text = (ROOT / "SECURITY.md").read_text().partition(HEADING)[2].partition("\n## ")[0]
    lines = [line for line in text.splitlines() if line.startswith("|")]
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    head, _rule, *body = rows
    return {
        column: {row[0]: row[place] for row in body} for place, column in enumerate(head) if place
    }


@pytest.fixture
def home() -> Iterator[Path]:
    """A folder that is not in any temporary folder."""
    temporary = {Path("/tmp").resolve(), Path(tempfile.gettempdir()).resolve()}
    for parent in (BUILD, Path("/var/tmp"), Path.home()):
        if not any(parent.resolve().is_relative_to(one) for one in temporary):
            break
    with tempfile.TemporaryDirectory(prefix="lh-home-", dir=parent) as made:
        yield Path(made)


class Person:
    """A home with a store, tokens and a repository, and a worktree of it in the cache folder."""

    def __init__(self, agent: Agent, home: Path) -> None:
        self.agent, self.home = agent, home
        self.store = home / ".local" / "share" / "longhouse" / "acme"
        self.worktree = home / ".cache" / "longhouse" / "JOB-001"
        repository = home / "acme"
        self.temporary = Path(tempfile.mkdtemp(dir="/tmp"))
        self.places = {
            "its worktree": self.worktree,
            "the git directory of the repository": repository / ".git",
            "the repository's own work tree": repository,
            "the store, with its token": self.store,
            "`~/.config/longhouse`, with tokens of clients": home / ".config" / "longhouse",
            "`~/.cache`": home / ".cache",
            "the rest of the home folder": home,
            "`/tmp`": self.temporary,
        }
        repository.mkdir()
        person = ["git", "-c", "user.name=T", "-c", "user.email=t@example.org"]
        for words in (["init", "-q"], ["commit", "-q", "--allow-empty", "-m", "first"]):
            subprocess.run([*person, *words], cwd=repository, check=True)
        words = ["worktree", "add", "-q", "--detach", str(self.worktree)]
        subprocess.run([*person, *words], cwd=repository, check=True)
        for place in self.places.values():
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            (place / "secret").write_text("x")

    def probe(self, port: int) -> Shell:
        lines = [shlex.join(["reach", name, str(place)]) for name, place in self.places.items()]
        net = f"(exec 3<>/dev/tcp/127.0.0.1/{port}) 2>/dev/null && echo yes || echo no"
        script = [PROBE, *lines, f'echo "REACH the network: $({net})"']
        (self.worktree / "probe.sh").write_text("\n".join(script))
        return Shell("bash probe.sh")

    def close(self) -> None:
        shutil.rmtree(self.temporary)
        running = locate.recorded(self.store)
        if running is not None:
            launch.stop(running, force=True)


@pytest.mark.parametrize("column", COLUMNS)
def test_an_agent_reaches_what_security_md_says_and_its_mcp_entry_works(
    column: str, home: Path, tmp_path: Path, proxy: Blocked, monkeypatch: pytest.MonkeyPatch
) -> None:
    kind, sandbox = COLUMNS[column]
    agent: Agent = kind(tmp_path, proxy)
    agent.home = home
    person = Person(agent, home)
    turns: list[Turn] = [lambda model: person.probe(model.server_port), NOTE, DONE]
    try:
        with Model(*turns) as model:
            agent.prepare(model)
            own = {
                "HOME": str(home),
                "LONGHOUSE_DIR": str(person.store),
                "LONGHOUSE_WORKSPACE": "acme",
                "LONGHOUSE_CODEX_BIN": clients.codex(),
                "LONGHOUSE_CLAUDE_BIN": clients.claude(),
                "LONGHOUSE_RUNNER_AUTOSTART": "0",
            }
            monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
            for name, value in {**agent.environment, **own}.items():
                monkeypatch.setenv(name, value)
            runner = ExecutorRunner(
                agent.name.replace("-", "_"),
                cwd=person.worktree,
                sandbox=sandbox,  # type: ignore[arg-type]
                with_longhouse=True,
            )
            session = Session(bus=InProcessEventBus())
            (result,) = PromptSubagentToolsSection(session=session, runner=runner).dispatch_all(
                [TASK]
            )
            assert result.message == "done", (result, model.results)
            lines = [line for line in model.results[0].splitlines() if line.startswith("REACH ")]
            found = dict(line.removeprefix("REACH ").split(": ") for line in lines)
            assert model.last["success"], model.results
    finally:
        person.close()
    assert found == promised()[column]


def test_a_claude_that_may_only_read_reads_no_token_in_a_hidden_folder(
    tmp_path: Path, proxy: Blocked, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its tools, and by a name after @ in the prompt, which it replaces by the file's text."""
    agent = Claude(tmp_path, proxy)
    token = agent.home / "store" / "token"
    token.parent.mkdir()
    token.write_text("text-of-the-token")
    (agent.project / "open.md").write_text("text-in-the-open")
    task = replace(TASK, instructions=f"Look at @{token} and @open.md")
    with Model(Shell(f"cat {token}"), Use("Read", {"file_path": str(token)}), DONE) as model:
        agent.prepare(model)
        own = {"LONGHOUSE_DIR": str(token.parent), "LONGHOUSE_CLAUDE_BIN": clients.claude()}
        for name, value in {**agent.environment, **own}.items():
            monkeypatch.setenv(name, value)
        runner = ExecutorRunner("claude_code", cwd=agent.project, sandbox="read-only")
        section = PromptSubagentToolsSection(
            session=Session(bus=InProcessEventBus()), runner=runner
        )
        (result,) = section.dispatch_all([task])
        assert result.message == "done", (result, model.results)
        assert "text-in-the-open" in model.asked[0]
        assert not any("text-of-the-token" in asked for asked in model.asked)


def test_the_table_has_a_column_for_each_way_to_run_an_agent() -> None:
    assert set(promised()) == set(COLUMNS)
