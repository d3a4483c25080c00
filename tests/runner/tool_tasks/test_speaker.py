"""The runner's part in this process: a house, a speaker, and a real host."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from longhouse.processes.facts import ProcessFacts
from longhouse.runner.host.client import HostClient
from longhouse.runner.tool_tasks.speaker import TaskSpeaker
from tests.runner.kit import Rig
from tests.runner.processes import until


class Speaking:
    """A speaker at work, and what the house knows of its tasks."""

    def __init__(self, rig: Rig, policy: str = "full-auto") -> None:
        self.rig = rig
        facts = rig.house.facts
        facts.put(facts.of(ProcessFacts)._replace(profile="full-auto"))
        self.speaker = TaskSpeaker(rig.context._replace(policy=policy))
        self.speaker.start()

    def spawn(self, *argv: str, **args: Any) -> str:
        made = self.rig("tool.task_spawn", tool="exec", args={"argv": list(argv), **args})
        return str(made["task_id"])

    def ended(self, task: str) -> dict[str, Any]:
        def found() -> dict[str, Any]:
            return dict(self.rig("tool.task_status", task_id=task)["task"])

        until(lambda: found()["ended_at_ms"] is not None, f"{task}: ", lambda: str(self.rig.lines))
        return found()

    def close(self) -> None:
        self.speaker.leave()
        folder = self.rig.context.home / "tasks" / "acme"
        client = HostClient(folder)
        pid = client.ask("list")["pid"]
        os.kill(pid, signal.SIGTERM)
        client.close()
        until(lambda: not Path(f"/proc/{pid}").exists(), "the host has left")


@pytest.fixture
def speaking(make_rig: Callable[..., Rig]) -> Iterator[Callable[..., Speaking]]:
    made: list[Speaking] = []

    def make(**more: Any) -> Speaking:
        made.append(Speaking(make_rig(), **more))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_a_program_starts_in_the_workspaces_root_with_a_short_list_of_variables(
    speaking: Callable[..., Speaking], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LONGHOUSE_TOKEN", "lh_" + "0" * 64)
    monkeypatch.setenv("SOMETHING", "else")
    at = speaking()
    task = at.spawn("bash", "-c", "pwd; compgen -e", env={"COLOUR": "red"})
    assert at.ended(task)["exit_code"] == 0
    log = at.rig.context.home / "tasks" / "acme" / task / "stdout.log"
    folder, *names = log.read_text().split()
    assert folder == str(at.rig.context.root)
    assert "COLOUR" in names
    assert not {"LONGHOUSE_TOKEN", "SOMETHING", "FAKE_STATE"} & set(names)


def test_a_secret_is_read_by_name_and_written_nowhere(
    speaking: Callable[..., Speaking], monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "correct-horse-battery-staple"
    monkeypatch.setenv("DEPLOY_KEY", secret)
    at = speaking()
    at.rig("tool.policy_allow", tool="env", pattern="DEPLOY_KEY")
    env = {"KEY": {"from": "env:DEPLOY_KEY"}}
    task = at.spawn("bash", "-c", "echo ${#KEY}", env=env)
    assert at.ended(task)["exit_code"] == 0
    home = at.rig.context.home
    assert (home / "tasks" / "acme" / task / "stdout.log").read_text() == f"{len(secret)}\n"
    holders = [path for path in home.rglob("*") if path.is_file() and _holds(path, secret)]
    assert holders == []


def test_a_variable_that_is_not_set_fails_the_task_by_its_name(
    speaking: Callable[..., Speaking],
) -> None:
    at = speaking()
    at.rig("tool.policy_allow", tool="env", pattern="NOT_SET_HERE")
    task = at.spawn("true", env={"KEY": {"from": "env:NOT_SET_HERE"}})
    ended = at.ended(task)
    assert (ended["status"], ended["cause"]) == ("failed", "missing_variable")
    assert "no NOT_SET_HERE" in ended["error"]


def test_a_runner_whose_policy_refuses_starts_nothing(speaking: Callable[..., Speaking]) -> None:
    at = speaking(policy="safe")
    task = at.spawn("touch", "was-here")
    assert at.ended(task)["cause"] == "policy_denied"
    assert not (at.rig.context.root / "was-here").exists()


def test_a_task_is_cancelled_through_the_host(speaking: Callable[..., Speaking]) -> None:
    at = speaking()
    task = at.spawn("sleep", "300")
    until(
        lambda: at.rig("tool.task_status", task_id=task)["task"]["status"] == "running", "it runs"
    )
    at.rig("tool.task_cancel", task_id=task, reason="enough")
    ended = at.ended(task)
    assert (ended["status"], ended["signal"]) == ("cancelled", "TERM")


def _holds(path: Path, secret: str) -> bool:
    try:
        return secret.encode() in path.read_bytes()
    except OSError:
        return False
