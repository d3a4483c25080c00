"""A batch: all operations in one transaction, or none."""

from __future__ import annotations

from typing import Any

from tests.contracts.world import fingerprint
from tests.kit import Lh
from tests.work.kit import new_task


def op(cmd: str, **args: Any) -> dict[str, Any]:
    return {"cmd": cmd, "args": args}


def test_operations_see_what_those_before_them_did(lh: Lh) -> None:
    done = lh(
        "tasks.batch",
        operations=[
            op("tasks.bootstrap", task_title="T", template="basic-task"),
            op("tasks.focus.set", task="TASK-001"),
            op("tasks.step.close", checkpoints="gate"),
            op("tasks.radar"),
        ],
    )
    assert done["count"] == 4
    assert done["operations"][3]["result"]["step_focus"]["path"] == "s:1"
    assert lh("tasks.focus.get")["focus"] == "TASK-001"


def test_one_refusal_undoes_all_and_says_which(lh: Lh) -> None:
    new_task(lh, "a")
    before = fingerprint(lh)
    envelope = lh.envelope(
        "tasks.batch",
        operations=[
            op("tasks.note", task="TASK-001", note="x"),
            op("tasks.plan.create", title="P"),
            op("tasks.done", task="TASK-001"),
        ],
    )
    error = envelope["error"]
    assert error["code"] == "BATCH_FAILED"
    assert error["message"].startswith("operations[2]: tasks.done: CHECKPOINTS_NOT_CONFIRMED")
    assert error["hints"][0] == {"operation": 2, "code": "CHECKPOINTS_NOT_CONFIRMED"}
    assert fingerprint(lh) == before
    lh.run_actions(envelope)


def test_what_would_mend_the_first_operation_is_offered_and_runs(lh: Lh) -> None:
    task = new_task(lh, "a")
    lh("tasks.evidence.capture", task=task, checks=["CMD: make test (exit 0)"], checkpoint="tests")
    envelope = lh.envelope("tasks.batch", operations=[op("tasks.done", task="TASK-001")])
    assert [a["args"]["op"] for a in envelope["actions"]] == ["step.close"]
    lh.run_actions(envelope)


def test_only_task_commands_and_no_batch_inside(lh: Lh) -> None:
    for wrong in (
        op("jobs.list"),
        op("tasks.batch", operations=[]),
        op("tasks.nothing"),
        op("tasks.note", note="x", agent_id="me"),
        op("tasks.note"),
    ):
        error = lh.refused("tasks.batch", operations=[wrong])
        assert (error["code"], error["hints"][0]["operation"]) == ("BATCH_FAILED", 0)
    assert lh.refused("tasks.batch", operations=[])["code"] == "INVALID_INPUT"
    many = [op("tasks.focus.get")] * 51
    assert lh.refused("tasks.batch", operations=many)["code"] == "INVALID_INPUT"


def test_a_repeated_batch_has_one_effect(lh: Lh) -> None:
    args: dict[str, Any] = {
        "operations": [op("tasks.plan.create", title="P")],
        "idempotency_key": "k",
    }
    assert lh("tasks.batch", **args) == lh("tasks.batch", **args)
    assert lh("tasks.context")["counts"]["plans"] == 1


def test_results_can_be_left_out(lh: Lh) -> None:
    done = lh("tasks.batch", operations=[op("tasks.plan.create", title="P")], compact=True)
    assert done["operations"] == [{"cmd": "tasks.plan.create"}]
