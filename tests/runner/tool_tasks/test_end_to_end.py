"""Background processes through a real server, a real runner and a real host."""

from __future__ import annotations

import hashlib

from tests.runner.tool_tasks.kit import TaskDesk


def test_a_command_runs_and_its_frames_tell_all_of_it_in_order(desk: TaskDesk) -> None:
    desk.runner("r1")
    task = desk.bash("echo out; sleep 0.3; echo err >&2; sleep 0.3; exit 3")
    ended = desk.ended(task)
    assert (ended["status"], ended["exit_code"], ended["signal"]) == ("exited", 3, None)
    frames = desk.frames(task)
    assert [frame["type"] for frame in frames] == [
        "tool_task_spawned",
        "tool_policy_decided",
        "tool_policy_decided",
        "tool_task_status",
        "tool_stdout",
        "tool_stderr",
        "tool_task_status",
    ]
    assert [frame["seq"] for frame in frames] == list(range(len(frames)))
    assert [frame["by"] for frame in frames[1:3]] == ["server", "runner"]
    out, err = frames[4:6]
    assert (out["chunk"], out["offset_bytes"], out["bytes"]) == ("out\n", 0, 4)
    assert (err["chunk"], err["offset_bytes"], err["bytes"]) == ("err\n", 0, 4)
    log = frames[-1]["artifacts"]["logs"]["stdout"]
    assert log["sha256"] == log["stored_sha256"] == hashlib.sha256(b"out\n").hexdigest()
