"""The features around background processes, found by the ids that other tools use."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit import Lh
from tests.processes.kit import RECORDED, imported


@pytest.mark.proves("TTA-007")
def test_a_program_that_knows_the_ids_takes_a_task_from_its_list_to_an_agents_session(
    lh: Lh,
) -> None:
    does = lh("system.ops.summary")["capabilities"]
    task_id = imported(lh, RECORDED.encode())

    def call(capability: str, **args: Any) -> Any:
        return lh(does[capability], **args)

    (task,) = call("ui.background_tasks")["tasks"]
    assert task["task_id"] == task_id
    ref = f"artifact:{task['artifacts']['logs']['pty']['artifact'][:12]}"
    assert call("context.refs.artifact", id=ref)["parts"][0]["text"] == "hi\r\n"
    job = call("execution.rpc", title="look at it", prompt=f"See {task_id}.")["job"]["id"]
    call("execution.resume_session", job=job, message="It has ended.", refs=[task_id, ref])
    said = lh("jobs.open", job=job)["events"][0]
    assert (said["message"], said["refs"]) == ("It has ended.", [task_id, ref])


@pytest.mark.parametrize(
    "capability, cmd",
    [
        ("context.refs.artifact", "docs.artifact.show"),
        ("execution.resume_session", "jobs.message"),
        ("execution.rpc", "jobs.create"),
        ("ui.background_tasks", "tool.task_list"),
    ],
)
def test_who_calls_a_capability_by_its_id_hears_which_command_does_it(
    lh: Lh, capability: str, cmd: str
) -> None:
    assert lh("system.ops.summary")["capabilities"][capability] == cmd
    assert lh.refused(capability)["recovery"] == f"did you mean {cmd!r}?"
