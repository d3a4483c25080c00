"""The operator's story: jobs keep going while runners, servers and agents are killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from longhouse.client import locate
from longhouse.config import load
from longhouse.presence import Noted, runners_here
from tests.runner.processes import GATE, environment, until


class Operator:
    """A person with the command line and nothing else."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.noted = ""
        home = base.with_name(f"{base.name}-home")
        home.mkdir()
        self.environment = {
            **environment(base),
            "HOME": str(home),
            "LONGHOUSE_HEARTBEAT_MS": "500",
            "LONGHOUSE_KILL_GRACE_S": "1",
            "LONGHOUSE_DRAIN_S": "0",
            "LONGHOUSE_RETRY_PAUSE_MS": "0",
            "LONGHOUSE_SERVER_START_S": "1",
            "LONGHOUSE_SLICE_S": "60",
        }

    @property
    def dir(self) -> Path:
        return load(environ=self.environment, cwd=self.base).dir

    def __call__(self, *words: str) -> str:
        ran = subprocess.run(
            [sys.executable, "-P", "-m", "longhouse", *words],
            cwd=self.base,
            env=self.environment,
            capture_output=True,
            text=True,
            timeout=90,
        )
        assert ran.returncode == 0, (words, ran.stdout, ran.stderr)
        self.noted = ran.stderr
        return ran.stdout

    def data(self, *words: str) -> Any:
        said = json.loads(self(*words, "--json"))
        return said["result"] if words[0] == "call" else said["data"]

    def job(self, script: str) -> str:
        made = self.data("job", "create", "Look", "--prompt", f"[[*: {script}]]")
        job: str = made["job"]["id"]
        return job

    def note(self) -> str:
        return str(self.data("call", "vcs.notes.commit", "content=what was done")["ref"])

    def statuses(self) -> dict[str, str]:
        return {job["id"]: job["status"] for job in self.data("job", "list")["jobs"]}

    def events(self, job: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = self.data("call", "jobs.tail", f"job={job}", "limit=200")[
            "events"
        ]
        return found

    def runner(self) -> Noted:
        until(lambda: bool(runners_here(self.dir)), "a runner")
        (one,) = runners_here(self.dir)
        return one

    def started(self, job: str) -> bool:
        return (self.base / "state" / job / "prompt-1").exists()

    def open_gate(self, job: str) -> None:
        (self.base / "state" / job / "go").touch()

    def logs(self) -> str:
        files = [*self.dir.glob("runners/*.log"), self.dir / "server.log"]
        return "\n".join(f"{file}:\n{file.read_text()}" for file in files if file.exists())

    def close(self) -> None:
        for one in runners_here(self.dir):
            os.kill(one.pid, signal.SIGKILL)
        running = locate.recorded(self.dir)
        if running and locate.serves(running):
            os.kill(running.pid, signal.SIGKILL)


@pytest.fixture
def operator(tmp_path: Path) -> Iterator[Operator]:
    made = Operator(tmp_path)
    yield made
    made.close()


def test_jobs_go_on_when_their_runner_and_their_server_are_killed(operator: Operator) -> None:
    operator("up")
    ref = operator.note()
    held = operator.job(f"{GATE}; done({ref!r})")
    rest = [operator.job(f"done({ref!r})") for _ in range(3)]
    first = operator.runner()
    until(lambda: operator.started(held), "the first slice", operator.logs)

    os.kill(first.pid, signal.SIGKILL)  # one job RUNNING, three QUEUED
    until(lambda: first not in runners_here(operator.dir), "the end of the first runner")
    second = operator.runner()
    assert second.pid != first.pid
    operator.open_gate(held)
    until(lambda: set(operator.statuses().values()) == {"DONE"}, "all done", operator.logs, 60)
    assert [e["kind"] for e in operator.events(held)].count("completed") == 1
    assert all("completed" in [e["kind"] for e in operator.events(job)] for job in rest)

    server = locate.recorded(operator.dir)
    assert server is not None
    last = operator.job(f"{GATE}; done({ref!r})")
    until(lambda: operator.started(last), "another slice", operator.logs)
    os.kill(server.pid, signal.SIGKILL)
    operator.open_gate(last)

    def served_again() -> bool:
        now = locate.recorded(operator.dir)
        return now is not None and now.pid != server.pid and locate.serves(now)

    until(served_again, "a server that the runner has started", operator.logs)
    until(lambda: operator.statuses()[last] == "DONE", "it is told", operator.logs)

    said = operator("down")
    assert f"runner {second.runner_id} (pid {second.pid}) keeps running" in said
    assert f"{second.runner_id} stopped" in operator("runner", "stop")
    assert not runners_here(operator.dir)
    assert "no runner of this store" in operator("runner", "stop")


def test_a_server_that_an_agent_started_outlives_its_slice(operator: Operator) -> None:
    operator("up", "--no-runner-autostart")
    ref = operator.note()
    first = locate.recorded(operator.dir)
    assert first is not None
    kill = f"os.kill({first.pid}, signal.SIGKILL)"
    job = operator.job(f"{kill}; report('half done'); done({ref!r})")
    operator.environment["LONGHOUSE_SERVER_START_S"] = "0"  # the agent's bridge is the only one
    operator.environment["LONGHOUSE_HEARTBEAT_MS"] = "20000"
    operator("runner", "--once", "--runner-id", "r1")
    again = locate.recorded(operator.dir)
    assert again is not None
    assert again.pid != first.pid
    assert locate.serves(again)
    assert operator.statuses()[job] == "DONE"
    assert "half done" in [event["message"] for event in operator.events(job)]


def test_a_runner_that_up_leaves_behind_makes_room_for_the_settings_of_now(
    operator: Operator,
) -> None:
    operator("up", "--no-runner-autostart")
    named = operator.data("runner", "start", "--runner-id", "old")
    assert named["runner_id"] == "old"
    assert "old" in operator("runner", "status")
    operator("down")
    assert [one.runner_id for one in runners_here(operator.dir)] == ["old"]
    operator("up", "--no-runner-autostart")
    assert operator.noted == ""  # nothing has changed
    assert [one.runner_id for one in runners_here(operator.dir)] == ["old"]
    operator("down")
    operator.environment["LONGHOUSE_MAX_PARALLEL"] = "3"
    operator("up", "--no-runner-autostart")
    assert "runner old finishes its jobs with its old settings" in operator.noted
    until(lambda: not runners_here(operator.dir), "its leave", operator.logs)
    operator("runner", "start", "--runner-id", "new")
    until(lambda: " 3" in operator("runner", "status"), "its offer", operator.logs)
    operator("runner", "stop", "new")
    operator("down")


def test_a_runner_does_not_bring_back_a_server_that_was_stopped(operator: Operator) -> None:
    operator("up", "--no-runner-autostart")
    operator("runner", "start", "--runner-id", "r1")
    until(lambda: "r1" in operator("runner", "status"), "it greets", operator.logs)
    operator("down")
    log = operator.dir / "runners" / "r1.log"
    until(lambda: "server.away" in log.read_text(), "it notices", operator.logs)
    operator("runner", "stop")
    assert "server.started" not in log.read_text()
    assert locate.find(operator.dir) is None
