"""`longhouse demo`: a day in a throwaway house, through its command line, at great speed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import longhouse
from longhouse.client import locate
from longhouse.client.sync import Client

SPEED = "500"


class Demo:
    """A demo that runs, and what can be read in its house."""

    def __init__(self, base: Path, *words: str) -> None:
        self.base = base
        self.tmp = base / "tmp"
        self.tmp.mkdir()
        env = {
            "PATH": os.environ["PATH"],
            "TMPDIR": str(self.tmp),
            "LONGHOUSE_DB": str(base / "of-the-person.db"),
            "LONGHOUSE_DIR": str(base / "of-the-person"),
        }
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "longhouse", "demo", *words],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=env,
        )
        self.url, _, self.token = self.line("page").split()[-1].partition("/#token=")

    def line(self, word: str) -> str:
        """The next line that holds a word."""
        assert self.process.stdout
        for line in self.process.stdout:
            if word in line:
                return line
        raise AssertionError(self.process.stderr.read() if self.process.stderr else "")

    def client(self) -> Client:
        return longhouse.connect(self.url, token=self.token, workspace="demo")

    def end(self, how: signal.Signals = signal.SIGINT) -> int:
        if self.process.poll() is None:
            self.process.send_signal(how)
        self.process.communicate(timeout=60)
        return self.process.returncode

    @property
    def left(self) -> list[Path]:
        return list(self.tmp.iterdir())


@pytest.fixture
def demo(tmp_path: Path) -> Iterator[Callable[..., Demo]]:
    started: list[Demo] = []

    def start(*words: str) -> Demo:
        started.append(Demo(tmp_path, *words))
        return started[-1]

    yield start
    for one in started:
        one.end()


def test_a_day_has_everything_that_it_promises_and_leaves_nothing(
    demo: Callable[..., Demo],
) -> None:
    day = demo("--speed", SPEED)
    day.line("the day is over")
    with day.client() as lh:

        def read(cmd: str, **args: Any) -> dict[str, Any]:
            envelope = lh.call(cmd, args)
            assert isinstance(envelope, dict)
            result: dict[str, Any] = envelope["result"]
            return result

        ported = read("jobs.open", job="JOB-001", max_events=50)
        measured = read("jobs.open", job="JOB-002", max_events=50)
        kinds = [event["kind"] for event in ported["events"]]
        assert {"question", "manager"} <= set(kinds)
        for job in (ported["job"], measured["job"]):
            assert job["status"] == "DONE"
            assert any(ref.startswith("notes@") for ref in job["refs"])
        assert measured["job"]["runner"] == "runner-two"
        assert "runner-one" in str(measured["events"])
        assert "I am back" not in str(measured["events"])
        rows = [(row.stream, row.kind.lower()) for row in lh.events()]
        said = {kind for stream, kind in rows if stream == "crew"}
        assert {"handoff", "blocked", "incursion"} <= said, said
        done = read("tasks.context", tasks_limit=10, tasks_status="DONE")["tasks"]
        assert {task["title"] for task in done} == {"Parse quoted phrases", "Rank by freshness"}
        assert read("agents.status")["reservations"] == []
        (process,) = read("tool.task_list")["tasks"]
        assert process["cancel_reason"]
        assert "queries answered" in str(read("open", id=process["task_id"]))
    (folder,) = day.left
    running = locate.recorded(folder / ".longhouse")
    assert running
    assert day.end() == 0
    assert day.left == []
    assert not locate.is_alive(running.pid)
    assert [path.name for path in day.base.iterdir()] == ["tmp"]


def test_a_demo_that_is_told_to_end_in_the_middle_leaves_nothing_either(
    demo: Callable[..., Demo],
) -> None:
    day = demo()
    day.line("arrive")
    assert day.end(signal.SIGTERM) == 0
    assert day.left == []


def test_a_speed_that_makes_no_sense_is_refused_with_one_that_does(tmp_path: Path) -> None:
    words = [sys.executable, "-P", "-m", "longhouse", "demo", "--speed", "0"]
    said = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert said.returncode == 2
    assert "longhouse demo --speed 60" in said.stderr
