"""`longhouse wait`: what it prints, and the exit code that scripts rely on."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from longhouse.surfaces.cli.commands import wait
from longhouse.surfaces.cli.context import Cli
from tests.processes.kit import RECORDED
from tests.surfaces.cli.conftest import Shell


@pytest.fixture
def ended(sh: Shell) -> Shell:
    """A shell, and a process that has printed `hi` and exited."""
    Path("session.jsonl").write_text(RECORDED)
    assert sh("recording", "import", "session.jsonl").code == 0
    return sh


@pytest.mark.parametrize(
    "words, code, said",
    [
        ((), 0, "PROC-001 exited (code 0)\n"),
        (("--line", "h*"), 0, "hi\n"),
        (("--screen", "hi"), 0, "hi\n"),
        (("--screen", "ho"), 1, "PROC-001 exited (code 0)\n"),
        (("--listening", "8080"), 1, "PROC-001 exited (code 0)\n"),
    ],
)
def test_what_came_of_a_wait_is_printed_and_decides_the_exit_code(
    ended: Shell, words: tuple[str, ...], code: int, said: str
) -> None:
    ran = ended("wait", "PROC-001", *words)
    assert (ran.code, ran.out) == (code, said)


def test_an_end_counts_only_if_it_was_a_good_one(sh: Shell) -> None:
    Path("session.jsonl").write_text(RECORDED.replace('"exit_code":0', '"exit_code":3'))
    sh("recording", "import", "session.jsonl")
    assert sh("wait", "PROC-001")[:2] == (1, "PROC-001 exited (code 3)\n")
    assert sh("wait", "PROC-001", "--line", "hi").code == 0


def test_a_wait_ends_with_its_time(sh: Shell) -> None:
    sh("policy", "allow", "exec", "true")
    sh("run", "-d", "--name", "later", "--", "true")
    ran = sh("wait", "later", "--timeout", "0")
    assert ran.code == 1
    assert ran.out == "PROC-001: timed out after 0 s; it is queued\n"


def test_only_one_thing_is_waited_for(ended: Shell) -> None:
    ran = ended("wait", "PROC-001", "--line", "hi", "--screen", "hi")
    assert ran.code == 2
    assert "--screen: cannot be combined with --line" in ran.err
    assert ended("wait", "nobody").code == 3


def test_a_long_wait_is_made_of_several(sh: Shell, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[dict[str, Any]] = []
    task = {
        "task_id": "PROC-001",
        "status": "exited",
        "exit_code": 0,
        "signal": None,
        "cause": None,
    }

    def call(_cli: Cli, cmd: str, **args: Any) -> dict[str, Any]:
        if cmd == "tool.task_status":
            return {"task": task}
        asked.append(args)
        over = len(asked) == 3
        return {"reached": over, "timed_out": not over, "line": None, "port": None, "task": task}

    monkeypatch.setattr(Cli, "call", call)
    assert sh("wait", "PROC-001").code == 0
    assert [one["timeout_ms"] for one in asked] == [round(wait._AT_A_TIME_S * 1000)] * 3
