"""`longhouse run` in a terminal: Ctrl-C stops the program, and a second Ctrl-C detaches."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator

import pytest

from tests.runner.processes import environment, until
from tests.runner.tool_tasks.kit import TaskDesk

Start = Callable[[str], subprocess.Popen[str]]


@pytest.fixture
def run(desk: TaskDesk) -> Iterator[Start]:
    """Starts `longhouse run -c LINE` as a shell would."""
    desk.runner("r1")
    started: list[subprocess.Popen[str]] = []

    def start(line: str) -> subprocess.Popen[str]:
        argv = [sys.executable, "-m", "longhouse", "--dir", str(desk.base / ".longhouse")]
        process = subprocess.Popen(
            [*argv, "--workspace", "acme", "run", "-c", line],
            cwd=desk.base,
            env=environment(desk.base),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        process.kill()
        process.wait()


def shown(looking_on: subprocess.Popen[str], words: str) -> None:
    """Wait for a line of the program's output."""
    assert looking_on.stdout is not None
    assert looking_on.stdout.readline() == f"{words}\n"


def test_ctrl_c_ends_the_program_and_run_ends_with_its_signal(desk: TaskDesk, run: Start) -> None:
    looking_on = run("echo ready; exec sleep 300")
    shown(looking_on, "ready")
    looking_on.send_signal(signal.SIGINT)
    out, err = looking_on.communicate(timeout=30)
    assert (looking_on.returncode, out) == (128 + signal.SIGTERM, "")
    assert "stopping PROC-001; Ctrl-C again detaches" in err
    assert "Traceback" not in err
    task = desk.ended("PROC-001")
    assert (task["status"], task["cancel_reason"]) == ("cancelled", "Ctrl-C")


def test_ctrl_c_twice_leaves_the_program_to_itself(desk: TaskDesk, run: Start) -> None:
    looking_on = run("trap '' TERM; echo ready; until [ -e stop ]; do sleep 0.05; done; exit 3")
    shown(looking_on, "ready")
    looking_on.send_signal(signal.SIGINT)
    until(lambda: desk.task("PROC-001")["cancel_reason"] is not None, "the first Ctrl-C")
    looking_on.send_signal(signal.SIGINT)
    _, err = looking_on.communicate(timeout=30)
    assert looking_on.returncode == 130
    assert "detached from PROC-001" in err
    assert "Traceback" not in err
    assert os.path.exists(f"/proc/{desk.task('PROC-001')['pid']}")  # noqa: PTH110
    (desk.base / "stop").touch()
    assert desk.ended("PROC-001")["status"] == "cancelled"
