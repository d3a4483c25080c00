"""Processes started together: every exit code and every line, with and without kills."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from tests.runner.processes import until
from tests.runner.tool_tasks.kit import TaskDesk

GROUPS = (2, 3, 2, 6, 2)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TaskDesk]:
    made = TaskDesk(tmp_path)
    yield made
    made.close()


def script(n: int) -> str:
    return f"for i in 1 2 3; do echo {n}-$i; done; exit {n % 7}"


def started_together(desk: TaskDesk, first: int, size: int, mode: str) -> dict[int, str]:
    numbers = range(first, first + size)
    with ThreadPoolExecutor(size) as pool:
        tasks = pool.map(lambda n: desk.bash(script(n), execution_mode=mode), numbers)
        return dict(zip(numbers, tasks, strict=True))


def assert_right(desk: TaskDesk, n: int, task: str) -> None:
    ended = desk.ended(task)
    assert (ended["status"], ended["exit_code"], ended["cause"]) == ("exited", n % 7, None)
    text = "".join(frame.get("chunk") or "" for frame in desk.frames(task))
    assert text.replace("\r\n", "\n") == f"{n}-1\n{n}-2\n{n}-3\n"


@pytest.mark.parametrize("mode", ["pipes", "pty"])
def test_processes_started_together_all_report_their_exit_codes_and_lines(
    desk: TaskDesk, mode: str
) -> None:
    desk.runner("r1")
    desk.ended(desk.bash("true"))
    pid, first = desk.host_pid, 0
    for size in GROUPS:
        for n, task in started_together(desk, first, size, mode).items():
            assert_right(desk, n, task)
        first += size
    assert desk.host_pid == pid  # the same host all the time


@pytest.mark.parametrize("victim", ["runner", "server"])
def test_processes_started_together_outlive_kills_of_runner_and_server(
    desk: TaskDesk, victim: str
) -> None:
    runner = desk.runner("r0", "--attach")
    desk.ended(desk.bash("true"))
    first = 0
    for turn, size in enumerate(GROUPS, 1):
        tasks = started_together(desk, first, size, "pty" if turn % 2 else "pipes")
        if victim == "runner":
            runner.kill()
            runner = desk.runner(f"r{turn}", "--attach")
        else:
            desk.restart()
        for n, task in tasks.items():
            assert_right(desk, n, task)
        first += size


def test_a_stopped_runner_is_replaced_by_another(desk: TaskDesk) -> None:
    """The server hears nothing of it for the length of its lease; then the other one speaks."""
    first = desk.runner("r1")
    desk.ended(desk.bash("true"))
    second = desk.runner("r2")
    second.await_line("runner.ready")
    os.kill(first.process.pid, signal.SIGSTOP)
    task = desk.bash(script(3))
    until(lambda: "tasks.taken_over" in second.said(), "the second speaks", second.said)
    assert_right(desk, 3, task)
    os.kill(first.process.pid, signal.SIGCONT)
    assert_right(desk, 4, desk.bash(script(4)))
