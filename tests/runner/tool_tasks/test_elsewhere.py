"""A runner whose folder the server cannot read: what its tasks printed is stored in the end."""

from __future__ import annotations

import hashlib
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.runner.processes import RunnerProcess, until
from tests.runner.tool_tasks.kit import TaskDesk


@pytest.mark.parametrize("cap", [1 << 20, 65_536])
def test_the_output_of_a_runner_elsewhere_can_be_read_when_its_task_has_ended(
    desk: TaskDesk, tmp_path: Path, cap: int
) -> None:
    there = tmp_path / "there"
    there.mkdir()
    token = desk.base / ".longhouse" / "token"
    flags: dict[str, Any] = {"policy": "full-auto", "root": there, "token_file": token}
    runner = RunnerProcess(there, "far", url=desk.served.url, **flags)
    try:
        task = desk.bash("seq 1 40000", args={"artifact_max_bytes": cap, "max_bytes": 1_000})
        seal = desk.ended(task)["artifacts"]["logs"]["stdout"]
        whole = b"".join(b"%d\n" % n for n in range(1, 40_001))
        assert seal["bytes_total"] == len(whole)
        assert seal["sha256"] == hashlib.sha256(whole).hexdigest()
        assert not desk.log(task)
        page = desk("tool.output_fetch", task_id=task, offset_bytes=len(whole) - 12)
        assert "".join(part["text"] for part in page["parts"]) == "39999\n40000\n"
        assert page["capped"] is (cap < len(whole))
    finally:
        runner.kill()
        desk.folder = there / ".longhouse" / "tasks" / "acme"
        os.kill(desk.host_pid, signal.SIGTERM)
        until(lambda: not (desk.folder / "host.sock").exists(), "the host has left")
