"""Background processes, and a monkey that kills runners, hosts and servers: no byte is lost."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.runner.processes import RunnerProcess, until
from tests.runner.tool_tasks.kit import TaskDesk
from tests.runner.tool_tasks.test_faults import COUNT, checked_stream

TASKS, TURNS = 4, 7


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TaskDesk]:
    made = TaskDesk(tmp_path)
    yield made
    made.close()


def test_every_stream_is_whole_however_runners_hosts_and_servers_die(desk: TaskDesk) -> None:
    rng = random.Random(7)
    runners = [desk.runner(f"r{n}", "--attach") for n in range(2)]
    tasks = [desk.bash(COUNT) for _ in range(TASKS)]
    for task in tasks:
        desk.await_task(task, "running")
    host_died = False
    for turn in range(TURNS):
        sizes = {task: len(desk.log(task)) for task in tasks}
        victim = rng.choice(["runner", "runner", "host", "server"])
        if victim == "runner":
            runners = _replaced(desk, rng, runners, f"x{turn}")
        elif victim == "host":
            os.kill(desk.host_pid, signal.SIGKILL)
            host_died = True
        else:
            desk.restart()
        for task, size in sizes.items():
            _await_more(desk, task, size)
    (desk.base / "stop").touch()
    for task in tasks:
        ended = desk.ended(task)
        expected = (None, "host_lost") if host_died else (0, None)
        assert (ended["status"], ended["exit_code"], ended["cause"]) == ("exited", *expected)
        checked_stream(desk, task)
        assert desk.text(task) == desk.log(task).decode()
    assert host_died


def _await_more(desk: TaskDesk, task: str, size: int) -> None:
    until(lambda: len(desk.log(task)) > size, f"{task} goes on")


def _replaced(
    desk: TaskDesk, rng: random.Random, runners: list[RunnerProcess], name: str
) -> list[RunnerProcess]:
    victim = rng.choice(runners)
    victim.kill()
    return [*(one for one in runners if one is not victim), desk.runner(name, "--attach")]
