"""Recorded streams of real runs, frame by frame, without times, pids and ids."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import pytest

from longhouse.processes.state import fold
from tests.runner.processes import until
from tests.runner.tool_tasks.kit import TaskDesk

GOLDEN = Path(__file__).parent / "golden"
VARIES = ("id", "timestamp_ms", "started_at_ms", "ended_at_ms", "pid", "wall_time_ms", "why")


def settled(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same frames without what differs from run to run."""
    return [{name: value for name, value in one.items() if name not in VARIES} for one in frames]


def joined(frames: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same frames, with output that arrived in pieces joined."""
    whole: list[dict[str, Any]] = []
    for one in frames:
        kind = one["type"]
        if whole and kind == whole[-1]["type"] == "tool_task_output_delta":
            last = whole[-1]
            whole[-1] = {**last, "chunk": last["chunk"] + one["chunk"]}
            whole[-1]["bytes"] += one["bytes"]
        else:
            whole.append({**one, "seq": len(whole)})
    return whole


def check(name: str, frames: list[dict[str, Any]]) -> None:
    path = GOLDEN / f"{name}.json"
    told = json.dumps(settled(frames), indent=1, ensure_ascii=False) + "\n"
    if os.environ.get("LONGHOUSE_RECORD"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(told)
    assert told == path.read_text()


@pytest.mark.proves("TTA-014", "TTA-043", "TTA-046", "TTA-051", "TTA-052", "TTA-054")
def test_the_stream_of_a_program_that_prints_and_exits(desk: TaskDesk) -> None:
    desk.runner("r1")
    task = desk.bash("echo out; sleep 0.3; echo err >&2; sleep 0.3; exit 3", title="Golden")
    shown = desk.ended(task)
    frames = desk.frames(task)
    check("exits", frames)
    replayed = fold(frames)
    assert (replayed.status, replayed.exit_code) == (shown["status"], shown["exit_code"])
    assert replayed.ended_at_ms == shown["ended_at_ms"]


@pytest.mark.proves("TTA-010", "TTA-014", "TTA-034", "TTA-043", "TTA-054")
def test_the_stream_of_a_program_that_is_cancelled(desk: TaskDesk) -> None:
    desk.runner("r1")
    task = desk.bash("echo up; exec sleep 60")
    until(lambda: desk.text(task) == "up\n", "it prints")
    desk("tool.task_cancel", task_id=task, reason="enough")
    desk.ended(task)
    check("cancelled", desk.frames(task))


@pytest.mark.proves("TTA-032", "TTA-034", "TTA-044", "TTA-052", "TTA-053", "TTA-054")
def test_the_stream_of_a_program_that_is_typed_to_resized_and_signalled(desk: TaskDesk) -> None:
    def told(words: str) -> None:
        until(
            lambda: any(one.get("chunk") == words for one in joined(desk.frames(task))),
            f"{words!r} is told",
        )

    desk.runner("r1")
    task = desk.bash(
        "stty -echo; echo ready; read -r word; echo got $word; read -r; stty size; read -r",
        execution_mode="pty",
    )
    told("ready\r\n")
    desk("tool.task_write_stdin", task_id=task, chunk_b64="aGkK")
    told("got hi\r\n")
    desk("tool.task_resize", task_id=task, rows=30, cols=100)
    desk("tool.task_write_stdin", task_id=task, keys=["Enter"])
    told("30 100\r\n")
    desk("tool.task_signal", task_id=task, signal="SIGTERM")
    shown = desk.ended(task)
    frames = desk.frames(task)
    check("terminal", joined(frames))
    replayed = fold(frames)
    assert (replayed.status, replayed.signal) == (shown["status"], shown["signal"])
