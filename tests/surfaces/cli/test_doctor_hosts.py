"""What `doctor` and `status` say about hosts whose processes nobody can reach."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from longhouse.surfaces.cli.commands.status import _process
from longhouse.surfaces.cli.machine import hosts

TASKS = [("PROC-001", "connected"), ("PROC-007", "silent"), ("PROC-008", None)]


@pytest.mark.parametrize(
    "state, unfinished, said",
    [
        ("silent", 1, "1 unfinished process on host-1, which is silent (runner r1)"),
        ("frozen", 2, "2 unfinished processes on host-1, which is frozen (runner r1)"),
    ],
)
def test_doctor_names_a_process_of_the_lost_host_and_none_other(
    state: str, unfinished: int, said: str
) -> None:
    def call(cmd: str, **_args: Any) -> dict[str, Any]:
        if cmd == "tool.task_list":
            return {"tasks": [{"task_id": task, "host": host} for task, host in TASKS]}
        host = {"host_id": "host-1", "runner_id": "r1", "state": state, "unfinished": unfinished}
        return {"hosts": [{**host, "host_id": "host-2", "state": "connected"}, host]}

    here = SimpleNamespace(exists=lambda: True)
    cli: Any = SimpleNamespace(call=call, settings=SimpleNamespace(dir=here))
    (found,) = hosts(cli)
    assert found[:2] == ("warn", said)
    fix = str(found[2])
    assert ("cancel PROC-007 --force" in fix) == (state == "silent")
    assert "PROC-001" not in fix
    assert "runner" in fix


def test_status_shows_what_is_no_process_as_it_is() -> None:
    trouble = "some cannot be reached: host host-1 (frozen)"
    assert _process(trouble) == trouble
    assert _process("dev running since 2026-11-15T09:28Z").startswith("dev running since ")
