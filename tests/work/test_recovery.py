"""Every refusal of the room: a typed error that says what to do, with actions that run as given."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.world import fingerprint
from tests.kit import Lh
from tests.work.kit import close, new_task, step

CASES: dict[str, tuple[str, dict[str, Any], str]] = {
    "no focus": ("tasks.radar", {}, "INVALID_INPUT"),
    "no such task": ("tasks.note", {"task": "TASK-099", "note": "x"}, "UNKNOWN_ID"),
    "no such plan": ("tasks.radar", {"plan": "PLAN-099"}, "UNKNOWN_ID"),
    "no such step": ("tasks.done", {"task": "TASK-001", "path": "s:9"}, "UNKNOWN_ID"),
    "no open step": ("tasks.done", {"task": "TASK-003"}, "INVALID_INPUT"),
    "old revision": (
        "tasks.edit",
        {"task": "TASK-001", "title": "x", "expected_revision": 0},
        "REVISION_MISMATCH",
    ),
    "old revision of a plan": (
        "tasks.plan",
        {"plan": "PLAN-001", "steps": ["x"], "expected_revision": 9},
        "REVISION_MISMATCH",
    ),
    "not confirmed": (
        "tasks.done",
        {"task": "TASK-001", "path": "s:1"},
        "CHECKPOINTS_NOT_CONFIRMED",
    ),
    "children open": (
        "tasks.done",
        {"task": "TASK-001", "path": "s:0"},
        "CHECKPOINTS_NOT_CONFIRMED",
    ),
    "no proof": ("tasks.step.close", {"task": "TASK-002", "checkpoints": "gate"}, "PROOF_REQUIRED"),
    "done already": ("tasks.done", {"task": "TASK-003", "path": "s:0"}, "CONFLICT"),
    "steps open": ("tasks.complete", {"task": "TASK-001"}, "CONFLICT"),
    "steps open and unproved": ("tasks.complete", {"task": "TASK-002"}, "CONFLICT"),
    "closed task": ("tasks.plan.decompose", {"task": "TASK-003", "steps": [step("x")]}, "CONFLICT"),
    "done parent": (
        "tasks.plan.decompose",
        {"task": "TASK-004", "parent": "s:0", "steps": [step("x")]},
        "CONFLICT",
    ),
    "held": (
        "tasks.note",
        {"task": "TASK-005", "note": "x", "agent_id": "heron"},
        "STEP_LEASE_HELD",
    ),
    "not held": (
        "tasks.step.lease.renew",
        {"task": "TASK-005", "agent_id": "heron"},
        "STEP_LEASE_NOT_HELD",
    ),
    "claimed": (
        "tasks.step.lease.claim",
        {"task": "TASK-005", "agent_id": "heron"},
        "STEP_LEASE_HELD",
    ),
    "circle": ("tasks.edit", {"task": "TASK-001", "depends_on": ["TASK-006"]}, "CONFLICT"),
    "unknown dependency": (
        "tasks.edit",
        {"task": "TASK-001", "depends_on": ["TASK-099"]},
        "UNKNOWN_ID",
    ),
    "waited for": ("tasks.delete", {"task": "TASK-001"}, "CONFLICT"),
    "plan with tasks": ("tasks.delete", {"plan": "PLAN-001"}, "CONFLICT"),
    "two targets": ("tasks.radar", {"task": "TASK-001", "plan": "PLAN-001"}, "INVALID_INPUT"),
    "timer": (
        "tasks.complete",
        {"task": "TASK-001", "status": "PARKED", "parked_until_ts_ms": 1},
        "INVALID_INPUT",
    ),
    "force": ("tasks.progress", {"task": "TASK-001", "force": True}, "INVALID_INPUT"),
    "future": ("tasks.delta", {"since": "evt_0000000000999999"}, "UNKNOWN_ID"),
    "template": ("tasks.scaffold", {"template": "x", "title": "y"}, "UNKNOWN_ID"),
    "batch": (
        "tasks.batch",
        {"operations": [{"cmd": "tasks.done", "args": {"task": "TASK-001"}}]},
        "BATCH_FAILED",
    ),
}


@pytest.fixture
def world(lh: Lh) -> Lh:
    """One task for each kind of trouble."""
    new_task(lh, step("a", step("a1")), "b")
    new_task(lh, step("a", proof={"tests": "require"}))
    done = new_task(lh, "a")
    close(lh, done)
    lh("tasks.complete", task=done)
    close(lh, new_task(lh, "a", "b"))
    lh("tasks.step.lease.claim", task=new_task(lh, "a"), agent_id="otter")
    lh("tasks.edit", task=new_task(lh, title="late"), depends_on=["TASK-001"])
    return lh


@pytest.mark.parametrize("case", CASES)
def test_a_refusal_is_typed_writes_nothing_and_its_actions_run(world: Lh, case: str) -> None:
    cmd, args, code = CASES[case]
    before = fingerprint(world)
    envelope = world.envelope(cmd, **args)
    assert envelope["error"] is not None, case
    assert envelope["error"]["code"] == code
    assert envelope["error"]["recovery"]
    assert fingerprint(world) == before
    assert "<" not in str([a["args"] for a in envelope["actions"]]), "no placeholders"
    world.run_actions(envelope)


def test_following_the_actions_gets_a_step_closed(world: Lh) -> None:
    for path in ("s:0", "s:0", "s:1"):
        first = world("tasks.radar", task="TASK-001")["step_focus"]["path"]
        shown = {"checks": ["CMD: make test (exit 0)"], "checkpoint": "tests", "path": first}
        world("tasks.evidence.capture", task="TASK-001", **shown)
        world.run_actions(world.envelope("tasks.done", task="TASK-001", path=path))
    assert world("tasks.radar", task="TASK-001")["radar"]["next"] == ["Finish task"]
