"""Sitting down at a program in a terminal: real terminals, a real server, runner and host."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.runner.processes import until
from tests.runner.tool_tasks.kit import TaskDesk
from tests.surfaces.cli.person import Person

READS = (
    "stty -echo; trap 'echo size $(stty size)' WINCH; echo ready; "
    'while read -r line || [ -n "$line" ]; do echo "got $line"; done; echo over; exit 7'
)


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[TaskDesk]:
    made = TaskDesk(tmp_path)
    yield made
    made.close()


Sit = Callable[..., Person]


@pytest.fixture
def sit(desk: TaskDesk, tmp_path: Path) -> Iterator[Sit]:
    """Puts people in front of terminals."""
    people: list[Person] = []

    def make(*words: str, **more: Any) -> Person:
        people.append(Person(tmp_path, *words, **more))
        return people[-1]

    yield make
    for one in people:
        one.close()


def sizes(desk: TaskDesk, task: str = "PROC-001") -> list[tuple[int, int]]:
    """The sizes that the terminal of a task was given, in order."""
    found = [frame for frame in desk.frames(task) if frame["type"] == "tool_task_resized"]
    return [(frame["rows"], frame["cols"]) for frame in found]


def test_run_in_a_terminal_hands_on_keys_output_size_and_exit_code(
    desk: TaskDesk, sit: Sit
) -> None:
    desk.runner("r1")
    ada = sit("run", "--pty", "--", "bash", "-c", READS, rows=31, cols=99)
    ada.sees(b"ready\r\n")
    ada.type(b"hello\n")
    ada.sees(b"got hello\r\n")
    ada.resize(20, 70)
    until(lambda: sizes(desk) == [(20, 70)], "its size is told")
    ada.type(b"\n")
    ada.sees(b"size 20 70")
    ada.type(b"\x04")
    ada.sees(b"over")
    assert ada.leaves() == 7
    assert ada.is_as_before
    frames = desk.frames("PROC-001")
    assert frames[0]["args"]["rows"] == 31
