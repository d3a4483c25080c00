"""Tasks in a terminal through a real server, a real runner and a real host."""

from __future__ import annotations

import base64
import itertools
import os
import signal

import pytest

from tests.runner.processes import until
from tests.runner.tool_tasks.kit import TaskDesk

READS = "echo ready; while read -r line; do echo got $line; done; echo over"


def started(desk: TaskDesk, command: str) -> str:
    task = desk.bash(command, execution_mode="pty")
    until(lambda: b"ready" in desk.log(task, "pty"), "it is ready")
    desk.await_task(task, "running")
    return task


@pytest.mark.proves("TTA-044", "TTA-053", "TTA-032")
def test_operations_are_applied_in_their_order_and_each_outcome_is_a_frame(desk: TaskDesk) -> None:
    desk.runner("r1")
    task = started(desk, READS)
    typed = base64.b64encode(b"hello\n").decode()
    ops = [
        desk("tool.task_write_stdin", task_id=task, chunk_b64=typed)["op_id"],
        desk("tool.task_resize", task_id=task, rows=30, cols=100)["op_id"],
        desk("tool.task_signal", task_id=task, signal="SIGCONT")["op_id"],
    ]
    until(lambda: b"got hello" in desk.log(task, "pty"), "it has read")
    desk("tool.task_write_stdin", task_id=task, eof=True)
    ended = desk.ended(task)
    assert (ended["status"], ended["exit_code"]) == ("exited", 0)
    frames = desk.frames(task)
    told = [frame for frame in frames if frame.get("op_id")]
    assert [frame["op_id"] for frame in told][:3] == ops
    assert [frame["type"] for frame in told] == [
        "tool_task_stdin_written",
        "tool_task_resized",
        "tool_task_signalled",
        "tool_task_stdin_written",
    ]
    shown = [frame for frame in frames if frame["type"] == "tool_task_output_delta"]
    assert {frame["stream"] for frame in shown} == {"pty"}
    text = "".join(frame["chunk"] for frame in shown)
    assert text == desk.log(task, "pty").decode()
    assert text.endswith("got hello\r\nover\r\n")


def test_a_killed_host_fails_a_terminal_task_and_a_killed_runner_does_not_touch_it(
    desk: TaskDesk,
) -> None:
    first = desk.runner("r1")
    task = started(desk, READS)
    first.kill()
    desk.runner("r2")
    typed = base64.b64encode(b"still here\n").decode()
    desk("tool.task_write_stdin", task_id=task, chunk_b64=typed)
    until(lambda: b"got still here" in desk.log(task, "pty"), "the next runner serves it")
    os.kill(desk.host_pid, signal.SIGKILL)
    ended = desk.ended(task)
    assert (ended["status"], ended["exit_code"], ended["cause"]) == ("failed", None, "host_lost")


def test_a_terminal_that_has_shown_very_much_is_still_told_of_key_by_key(desk: TaskDesk) -> None:
    def all_is_told() -> bool:
        told: int = desk.task(task)["artifacts"]["logs"]["pty"]["bytes"]
        return told == len(desk.log(task, "pty"))

    desk.runner("r1")
    much = "echo ready; read -r go; seq 1 120000; while read -r line; do echo got $line; done"
    task = started(desk, much)
    desk("tool.task_write_stdin", task_id=task, keys=["Enter"])
    until(lambda: desk.log(task, "pty").endswith(b"120000\r\n"), "it has printed")
    until(all_is_told, "the end of it is told, though nothing follows")
    desk("tool.task_write_stdin", task_id=task, keys=["hello", "Enter"])
    until(lambda: desk.log(task, "pty").endswith(b"got hello\r\n"), "it has read")
    until(all_is_told, "what was typed is told")
    shown = desk("tool.task_status", task_id=task, screen=True)["screen"]["text"]
    assert shown.endswith("120000\nhello\ngot hello")


def test_a_typed_key_leaves_two_log_rows_and_keys_typed_together_no_more(desk: TaskDesk) -> None:
    """Its outcome, which is the frame of the call, and the echo; the request leaves none."""
    desk.runner("r1")
    task = started(desk, "echo ready; exec cat")

    def typed(keys: str) -> int:
        """The log's newest row once these keys were requested; returns after their echo."""
        chunk = base64.b64encode(keys.encode()).decode()
        op = desk("tool.task_write_stdin", task_id=task, chunk_b64=chunk)
        until(lambda: _is_told(desk, task, op["op_id"], keys), f"{keys} was echoed")
        seq: int = op["seq"]
        return seq

    typed("0")  # by now all that it printed at its start is told
    seqs = [typed(key) for key in "12345678"]
    assert [later - seq for seq, later in itertools.pairwise(seqs)] == [2] * 7
    together = typed("ABCDEFGHIJKLMNOPQ")
    assert typed("!") - together == 2


def _is_told(desk: TaskDesk, task: str, op_id: str, keys: str) -> bool:
    frames = desk.frames(task)
    text = "".join(frame.get("chunk") or "" for frame in frames)
    return keys in text and any(frame.get("op_id") == op_id for frame in frames)
