"""Delegation with the real Codex and Claude Code: a runner drives them, a scripted model thinks."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from longhouse.client import launch, locate
from longhouse.presence import runners_here
from longhouse.runner.plane import Plane
from tests.clients.agents import Agent, Blocked, Claude, Codex
from tests.clients.scripted.model import Call, Drop, Finish, Model, Step, Turn
from tests.surfaces.serving import Served
from tools import clients

pytestmark = [pytest.mark.clients, pytest.mark.timeout(240)]

NOTE = Call(
    "vcs", {"op": "call", "cmd": "vcs.notes.commit", "args": {"content": "It is the cookie."}}
)


def answer(status: str, *refs: str) -> Finish:
    return Finish(
        {
            "status": status,
            "summary": f"{status} by a scripted model",
            "refs": list(refs),
            "events": [],
            "artifacts": [],
        }
    )


def shown(model: Model) -> Step:
    """DONE, with the ref of the note that was written just now."""
    return answer("DONE", model.last["result"]["ref"])


def ask(job: str, runner: str) -> Call:
    """The agent itself asks the manager, with the claim that its prompt gave it."""
    args = {
        "job": job,
        "runner_id": runner,
        "claim_revision": 1,
        "kind": "question",
        "message": "Which database?",
    }
    return Call("jobs", {"op": "call", "cmd": "jobs.report", "args": args})


class Team:
    """A server, a manager over MCP, and runner processes with both CLIs."""

    def __init__(self, base: Path, proxy: Blocked, codex: Model, claude: Model) -> None:
        first, second = Codex(base, proxy), Claude(base / "claude", proxy)
        first.prepare(codex)
        second.prepare(claude)
        self.environment = {**second.environment, **first.environment}
        self.project = first.project
        self.served = Served(self.project, store=first.made_store())
        self.config = (first.home / ".codex" / "config.toml").read_text()
        self._codex_home = first.home / ".codex"
        self.plane = Plane(self._find, "acme", actor="manager")
        self._base = base
        self._runners: list[subprocess.Popen[bytes]] = []

    def _find(self) -> Any:
        found = locate.find(self.served.dir)
        return found[1] if found else None

    def runner(self, name: str, *, heartbeat_ms: int = 1_000) -> subprocess.Popen[bytes]:
        argv = [
            sys.executable,
            "-m",
            "longhouse",
            "runner",
            "--dir",
            str(self.served.dir),
            "--workspace",
            "acme",
            "--runner-id",
            name,
            "--codex-bin",
            clients.codex(),
            "--claude-bin",
            clients.claude(),
            "--max-parallel",
            "2",
            "--heartbeat-ms",
            str(heartbeat_ms),
            "--kill-grace-s",
            "1",
            "--drain-s",
            "0",
        ]
        with (self._base / f"{name}.log").open("w") as log:
            process = subprocess.Popen(
                argv,
                cwd=self.project,
                env=self.environment,
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
            )
        self._runners.append(process)
        return process

    def job(self, executor: str, **more: Any) -> str:
        made = self.plane.write(
            "jobs.create",
            title=f"Look with {executor}",
            prompt="Look at it.",
            executor=executor,
            require_proof=True,
            **more,
        )
        job: str = made["job"]["id"]
        return job

    def view(self, job: str) -> dict[str, Any]:
        view: dict[str, Any] = self.plane.ask("jobs.open", job=job, max_events=100)
        return view

    def kinds(self, job: str) -> list[str]:
        return [event["kind"] for event in self.view(job)["events"]]

    def await_(self, ready: Callable[[], bool]) -> None:
        ends = time.monotonic() + 90
        while not ready():
            assert time.monotonic() < ends, self.logs()
            time.sleep(0.05)

    def await_done(self, job: str) -> None:
        self.await_(lambda: self.view(job)["job"]["status"] not in ("QUEUED", "RUNNING"))
        assert self.view(job)["job"]["status"] == "DONE", (self.view(job), self.logs())

    def logs(self) -> str:
        return "\n".join(path.read_text() for path in sorted(self._base.glob("*.log")))

    def close(self) -> None:
        for runner in self._runners:
            if runner.poll() is None:
                runner.terminate()
        for runner in self._runners:
            runner.wait(30)
        self.plane.close()
        self.served.stop()
        assert (self._codex_home / "config.toml").read_text() == self.config


Form = Callable[..., Team]


@pytest.fixture
def form(tmp_path: Path, proxy: Blocked) -> Iterator[Form]:
    made: list[Team] = []

    def make(codex: Model, claude: Model) -> Team:
        made.append(Team(tmp_path, proxy, codex, claude))
        return made[-1]

    yield make
    for team in made:
        team.close()


@pytest.mark.proves("DEL-007", "DEL-030", "DEL-138", "DEL-105", "DEL-126", "DEL-134")
def test_codex_asks_and_is_answered_claude_is_gated_for_proof_and_both_are_merged(
    form: Form,
) -> None:
    with (
        Model(ask("JOB-001", "r1"), answer("CONTINUE"), NOTE, shown) as codex,
        Model(answer("DONE"), NOTE, shown) as claude,
    ):
        team = form(codex, claude)
        first, second = team.job("codex"), team.job("claude_code")
        team.runner("r1")
        team.await_(lambda: team.view(first)["attention"]["needs_manager"])
        team.plane.write("jobs.message", job=first, message="Use staging.")
        for job in (first, second):
            team.await_done(job)
        assert "proof_gate" in team.kinds(second)
        assert "proof_gate" not in team.kinds(first)
        sessions = [
            team.plane.ask("jobs.open", job=job, include_meta=True)["runtime"]["session"]
            for job in (first, second)
        ]
        assert [session["executor"] for session in sessions] == ["codex", "claude_code"]
        for job in (first, second):
            used = team.view(job)["job"]["usage"]
            assert used["input_tokens"] == 100 * (codex if job == first else claude).requests
        merged = team.plane.write("tasks.macro.merge.report", jobs=[first, second])
        assert [row["status"] for row in merged["jobs"]] == ["DONE", "DONE"]
        assert not any(row["missing_proof"] for row in merged["jobs"])


@pytest.mark.parametrize("executor", ["codex", "claude_code"])
def test_a_runner_is_killed_half_way_and_another_finishes(form: Form, executor: str) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def hold(_model: Model) -> Step:
        reached.set()
        go_on.wait(60)
        return Drop()

    with Model(hold, NOTE, shown) as model, Model() as other:
        models = (model, other) if executor == "codex" else (other, model)
        team = form(*models)
        job = team.job(executor)
        first = team.runner("r1")
        assert reached.wait(60), team.logs()
        first.kill()
        first.wait(30)
        go_on.set()
        team.runner("r2")
        team.await_done(job)
        assert team.kinds(job).count("reclaimed") == 1
        assert team.view(job)["job"]["runner"] == "r2"


@pytest.fixture(params=[Codex, Claude], ids=["codex", "claude_code"])
def alone(request: pytest.FixtureRequest, tmp_path: Path, proxy: Blocked) -> Iterator[Agent]:
    """A person with one CLI and a store whose server starts runners by itself."""
    made: Agent = request.param(tmp_path, proxy)
    made.environment |= {
        "LONGHOUSE_RUNNER_AUTOSTART": "1",
        "LONGHOUSE_CODEX_BIN": clients.codex(),
        "LONGHOUSE_CLAUDE_BIN": clients.claude(),
        "LONGHOUSE_HEARTBEAT_MS": "1000",
        "LONGHOUSE_KILL_GRACE_S": "1",
        "LONGHOUSE_DRAIN_S": "0",
    }
    yield made
    for runner in runners_here(made.store):
        os.kill(runner.pid, signal.SIGKILL)
    running = locate.recorded(made.store)
    if running is not None:
        launch.stop(running, force=True)


def test_a_killed_runner_is_replaced_without_anybodys_doing(
    alone: Agent, request: pytest.FixtureRequest
) -> None:
    """One job runs and three wait; nothing is called until all of them are done."""
    reached, go_on = threading.Event(), threading.Event()
    executor = request.node.callspec.id

    def hold(_model: Model) -> Step:
        reached.set()
        go_on.wait(120)
        return Drop()

    each: list[Turn] = [NOTE, shown]
    with Model(hold, *each * 4) as model:
        alone.prepare(model)
        alone.longhouse("up")
        for n in range(4):
            words = ("job", "create", f"Look {n}", "--prompt", "Look at it.")
            alone.longhouse(*words, "--executor", executor)
        assert reached.wait(90)
        (first,) = runners_here(alone.store)
        os.kill(first.pid, signal.SIGKILL)
        ends = time.monotonic() + 150
        while len(model.turns) and time.monotonic() < ends:
            time.sleep(0.1)
        (second,) = runners_here(alone.store)
        assert second.pid != first.pid
        while "RUNNING" in alone.longhouse("job", "list") and time.monotonic() < ends:
            time.sleep(0.1)
        listed = json.loads(alone.longhouse("job", "list", "--json"))["data"]["jobs"]
        go_on.set()
        assert [job["status"] for job in listed] == ["DONE"] * 4
        assert {job["runner"] for job in listed} == {second.runner_id}


@pytest.mark.parametrize("executor", ["codex", "claude_code"])
def test_what_a_killed_slice_used_is_counted_and_its_transcript_kept(
    form: Form, executor: str
) -> None:
    reached, go_on = threading.Event(), threading.Event()

    def hold(_model: Model) -> Step:
        reached.set()
        go_on.wait(60)
        return Drop()

    with Model(NOTE, hold, NOTE, shown) as model, Model() as other:
        models = (model, other) if executor == "codex" else (other, model)
        team = form(*models)
        job = team.job(executor)
        first = team.runner("r1")
        assert reached.wait(60), team.logs()
        first.kill()
        first.wait(30)
        team.runner("r2")
        team.await_(lambda: "reclaimed" in team.kinds(job))
        go_on.set()  # not before: an agent that is about to be killed would ask once more
        team.await_done(job)
        team.await_(lambda: "slice_recovered" in team.kinds(job))
        (lost,) = [e for e in team.view(job)["events"] if e["kind"] == "slice_recovered"]
        kept = team.plane.ask("docs.artifact.show", id=lost["refs"][0])
        assert kept["parts"][0]["text"]
        answered = model.requests - 1  # the one that was held is nobody's
        assert team.view(job)["job"]["usage"]["input_tokens"] == 100 * answered


@pytest.mark.parametrize("executor", ["codex", "claude_code"])
def test_a_server_that_an_agents_bridge_started_outlives_the_slice(
    form: Form, executor: str
) -> None:
    teams: list[Team] = []

    def kill_the_server(_model: Model) -> Step:
        teams[0].served.kill()
        return NOTE

    with Model(kill_the_server, shown) as model, Model() as other:
        models = (model, other) if executor == "codex" else (other, model)
        team = form(*models)
        teams.append(team)
        job = team.job(executor)
        team.runner("r1", heartbeat_ms=20_000)  # no lease ends while the server starts
        team.await_done(job)
        running = locate.recorded(team.served.dir)
        assert running is not None
        assert team.plane.ask("jobs.list")["count"] == 1
        launch.stop(running, force=True)


@pytest.mark.parametrize("executor", ["codex", "claude_code"])
def test_changes_of_a_real_agent_that_do_not_apply_are_taken_with_job_apply(
    form: Form, executor: str
) -> None:
    teams: list[Team] = []

    def git(*words: str) -> None:
        person = ["-c", "user.name=T", "-c", "user.email=t@example.org"]
        subprocess.run(["git", *person, *words], cwd=teams[0].project, check=True)

    def edit_both(_model: Model) -> Step:
        """What the agent changes in its worktree, and what a person changes meanwhile."""
        cache = Path(teams[0].environment["HOME"], ".cache", "longhouse")
        (mine,) = cache.glob("*/worktrees/acme/JOB-001")
        (mine / "a.txt").write_text("one\ntwo\n")
        (teams[0].project / "a.txt").write_text("quite another line\n")
        git("commit", "-qam", "another")
        return NOTE

    with Model(edit_both, shown) as model, Model() as other:
        models = (model, other) if executor == "codex" else (other, model)
        team = form(*models)
        teams.append(team)
        (team.project / "a.txt").write_text("one\n")
        git("init", "-q")
        git("add", "a.txt")
        git("commit", "-qm", "first")
        job = team.job(executor, meta={"isolation": "worktree"})
        team.runner("r1")
        team.await_(lambda: "changes_wait" in team.kinds(job))
        (row,) = team.plane.ask("jobs.radar")["jobs"]
        assert row["attention"]["marker"] == "!"
        (team.project / "a.txt").write_text("one\n")
        git("commit", "-qam", "as before")
        apply = row["changes"]["apply"].split()[1:]
        store = ["--dir", str(team.served.dir), "--workspace", "acme"]
        words = [sys.executable, "-m", "longhouse", *apply, *store]
        subprocess.run(words, cwd=team.project, env=team.environment, check=True, timeout=60)
        assert (team.project / "a.txt").read_text() == "one\ntwo\n"
        assert team.view(job)["job"]["status"] == "DONE"
