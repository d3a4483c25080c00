"""The real Codex and Claude Code, started as the runner does, in folders that want to run programs.

Nothing of the clone runs, the person's own configuration stays as it is, and the instruction files
still reach the model. `test_the_traps_work` shows that the clients would run it if we let them.
"""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from longhouse.subagents import (
    DispatchSubagent,
    InProcessEventBus,
    PromptSubagentToolsSection,
    Session,
)
from longhouse.subagents.executor_runner import ExecutorRunner
from tests.clients.agents import Agent, Blocked, Claude, Codex
from tests.clients.hostile import arm
from tests.clients.scripted.model import Finish, Model, Say, Shell, Turn
from tools import clients

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]

TASK = DispatchSubagent("ad_hoc", "team", "scout", "Find out why.", ())
LOOK = Shell("touch escaped; env | grep EVIL; env | grep NODE_OPTIONS")
SAID = {"summary": "looked", "refs": [], "events": [], "artifacts": []}
DECISIONS = (
    "allowedTools",
    "enabledMcpjsonServers",
    "hasClaudeMdExternalIncludesApproved",
    "hasTrustDialogAccepted",
    "mcpServers",
)
"""What `.claude.json` remembers about a folder that lets something run or be read."""
WHERE = ["top", "below", "worktree", "odd"]


class Place:
    """A person with one client, and a hostile repository in one of several shapes."""

    def __init__(self, agent: Agent, base: Path, where: str) -> None:
        self.agent, self.left = agent, base / "left"
        # The shell of Claude Code does not work in a folder with such a name as Codex gets here.
        odd = 'q"uote \\ it\n' if agent.name == "codex" else "it's ünlike"
        top = base / (odd if where == "odd" else "repo")
        self.top, self.cwd = top, top / "a" / "b" if where == "below" else top
        self.cwd.mkdir(parents=True)
        for folder in {top, self.cwd}:
            arm(folder, self.left)
        _git(top, "init", "-q")
        _git(top, "add", "-A", "-f")
        _git(top, "commit", "-qm", "Looks harmless")
        if where == "worktree":
            self.cwd = base / "linked"
            _git(top, "worktree", "add", "-q", "--detach", str(self.cwd))

    def trust(self) -> None:
        """The person has once told both clients that they trust these folders."""
        folders = {self.top, self.cwd, self.top / "a"}
        codex, claude = self.agent.home / ".codex", self.agent.home / "claude"
        if codex.is_dir():
            with (codex / "config.toml").open("a") as file:
                for folder in folders:
                    file.write(f'[projects.{json.dumps(str(folder))}]\ntrust_level = "trusted"\n')
        claude.mkdir(exist_ok=True)
        known = {"hasTrustDialogAccepted": True}
        (claude / ".claude.json").write_text(
            json.dumps({"projects": {str(folder): known for folder in folders}})
        )
        (claude / "settings.json").write_text('{"cleanupPeriodDays": 99}')

    def configuration(self) -> dict[str, object]:
        """What the person has decided, in the files of both clients.

        Claude Code keeps counters in `.claude.json`; of that file, only decisions are compared.
        """
        found: dict[str, object] = {}
        for name in (".codex/config.toml", "claude/settings.json"):
            path = self.agent.home / name
            found[name] = path.read_bytes() if path.exists() else None
        path = self.agent.home / "claude" / ".claude.json"
        held = json.loads(path.read_text()) if path.exists() else {}
        found["servers"] = held.get("mcpServers")
        found["trusted"] = {
            folder: {key: known[key] for key in DECISIONS if known.get(key)}
            for folder, known in held.get("projects", {}).items()
            if any(known.get(key) for key in DECISIONS)
        }
        return found

    @property
    def ran(self) -> list[str]:
        return sorted(one.name for one in self.left.iterdir())


def _git(folder: Path, *words: str) -> None:
    person = ["-c", "user.name=Eve", "-c", "user.email=eve@example.org"]
    subprocess.run(["git", *person, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture(params=[Codex, Claude], ids=["codex", "claude_code"])
def hostile(request: pytest.FixtureRequest, tmp_path: Path, proxy: Blocked) -> Agent:
    made: Agent = request.param(tmp_path / "person", proxy)
    return made


def dispatched(place: Place, model: Model, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in place.agent.environment.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("LONGHOUSE_DIR", str(place.agent.home / "store"))
    monkeypatch.setenv("LONGHOUSE_CODEX_BIN", clients.codex())
    monkeypatch.setenv("LONGHOUSE_CLAUDE_BIN", clients.claude())
    runner = ExecutorRunner(place.agent.name.replace("-", "_"), cwd=place.cwd)
    section = PromptSubagentToolsSection(session=Session(bus=InProcessEventBus()), runner=runner)
    (result,) = section.dispatch_all([TASK])
    assert result.message == "looked", (result, model.results)


@pytest.mark.parametrize("trusted", [False, True], ids=["unknown", "trusted"])
@pytest.mark.parametrize("where", WHERE)
def test_nothing_of_the_clone_runs_and_its_instructions_arrive(
    hostile: Agent, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, trusted: bool
) -> None:
    place = Place(hostile, tmp_path, where)
    play: list[Turn] = [
        LOOK,
        Finish({"status": "CONTINUE", **SAID}),
        LOOK,
        Finish({"status": "DONE", **SAID}),
    ]
    with Model(*play) as model:
        hostile.prepare(model)
        if trusted:
            place.trust()
        before = place.configuration()
        dispatched(place, model, monkeypatch)
        assert place.ran == []
        assert (place.cwd / "escaped").exists()  # the commands themselves did run, in both slices
        assert len(model.results) >= 2
        assert "EVIL" not in str(model.results)
        assert "NODE_OPTIONS" not in str(model.results)
        assert place.configuration() == before
        name = "Codex" if hostile.name == "codex" else "Claude"
        for folder in {place.top, place.cwd} if where == "below" else {place.top}:
            assert (
                f"{name}, obey {json.dumps(folder.name, ensure_ascii=False)[1:-1]}."
                in model.asked[0]
            )
        assert ("And more of" in model.asked[0]) == (name == "Claude")
        assert "text-of-dotenv" not in model.asked[0]
        assert "root:x:" not in model.asked[0]


def test_the_traps_work(hostile: Agent, tmp_path: Path) -> None:
    """The same folder, with the client as a person would start it."""
    place = Place(hostile, tmp_path, "top")
    with Model(LOOK, Say("ok")) as model:
        hostile.prepare(model)
        place.trust()
        subprocess.run(
            hostile.argv("Go."),
            cwd=place.cwd,
            env=hostile.environment,
            stdin=subprocess.DEVNULL,
            timeout=90,
            check=True,
            capture_output=True,
        )
        kind = "codex-mcp" if hostile.name == "codex" else "claude-SessionStart"
        assert f"{kind}-repo" in place.ran
