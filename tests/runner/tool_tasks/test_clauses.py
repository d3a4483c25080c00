"""Invariants of every task, in any mode and with any amount of output; with real programs."""

from __future__ import annotations

import hashlib

import pytest

from longhouse.kernel.tool_tasks import DELTA_BYTES
from tests.runner.processes import until
from tests.runner.tool_tasks.kit import TaskDesk

MODES = {"pipes": "stdout", "pty": "pty"}


@pytest.mark.proves("TTA-013", "TTA-025", "TTA-026", "TTA-027", "TTA-045")
@pytest.mark.parametrize("mode, stream", [*MODES.items(), ("pipes", "stderr")])
def test_output_past_its_budget_is_a_preview_with_references_to_all_of_it(
    desk: TaskDesk, mode: str, stream: str
) -> None:
    desk.runner("r1")
    script = "for n in $(seq 2000); do echo $n of many lines that are all alike; done"
    script += " >&2" if stream == "stderr" else ""
    task = desk.bash(script, execution_mode=mode, args={"max_bytes": 4_096})
    ended = desk.ended(task)
    log = desk.log(task, stream)
    assert len(log) > 60_000
    deltas = [frame for frame in desk.frames(task) if frame.get("stream") == stream]
    told = [frame for frame in deltas if frame["chunk"] is not None]
    assert 0 < sum(frame["bytes"] for frame in told) <= 4_096
    assert all(len(frame["chunk"]) <= DELTA_BYTES for frame in told)
    assert log.startswith("".join(frame["chunk"] for frame in told).encode())
    referred = [frame for frame in deltas if frame["chunk"] is None]
    ranges = [frame["artifacts"]["log"] for frame in referred]
    assert ranges[0]["offset_bytes"] == sum(frame["bytes"] for frame in told)
    assert sum(one["bytes"] for one in ranges) == len(log) - ranges[0]["offset_bytes"]
    assert {one["id"] for one in ranges} == {f"{task}/{stream}"}
    seal = ended["artifacts"]["logs"][stream]
    assert (seal["id"], seal["bytes_total"]) == (f"{task}/{stream}", len(log))
    assert seal["sha256"] == hashlib.sha256(log).hexdigest()
    start = ranges[0]["offset_bytes"] + 1_000
    page = desk("tool.output_fetch", task_id=task, stream=stream, offset_bytes=start, max_bytes=500)
    assert "".join(part["text"] for part in page["parts"]).encode() == log[start : start + 500]


@pytest.mark.proves("TTA-021")
@pytest.mark.parametrize("mode, stream", MODES.items())
def test_both_modes_end_and_are_cancelled_alike(desk: TaskDesk, mode: str, stream: str) -> None:
    desk.runner("r1")
    exits = desk.bash("exit 5", execution_mode=mode)
    killed = desk.bash("kill -9 $$", execution_mode=mode)
    waits = desk.bash("echo ready; sleep 300", execution_mode=mode)
    told = {task: desk.ended(task) for task in (exits, killed)}
    assert (told[exits]["status"], told[exits]["exit_code"]) == ("exited", 5)
    assert (told[killed]["status"], told[killed]["signal"]) == ("exited", "KILL")
    until(lambda: b"ready" in desk.log(waits, stream), "it runs")
    desk("tool.task_cancel", task_id=waits, reason="enough")
    ended = desk.ended(waits)
    assert (ended["status"], ended["cancel_reason"]) == ("cancelled", "enough")
    last = [frame["type"] for frame in desk.frames(waits)][-2:]
    assert last == ["tool_task_cancelled", "tool_task_status"]
