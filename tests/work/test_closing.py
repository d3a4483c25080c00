"""Closing a step: what must be confirmed, what must be proved, what `force` records."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit import Lh
from tests.work.kit import close, new_task, paths, step


def test_a_step_closes_when_criteria_and_tests_are_confirmed(lh: Lh) -> None:
    task = new_task(lh, "a")
    error = lh.refused("tasks.done", task=task)
    assert (error["code"], error["message"]) == (
        "CHECKPOINTS_NOT_CONFIRMED",
        "step: s:0 is missing criteria, tests",
    )
    lh("tasks.verify", task=task, checkpoints={"criteria": True})
    assert "is missing tests" in lh.refused("tasks.done", task=task)["message"]
    lh("tasks.verify", task=task, checkpoints={"tests": {"confirmed": True}})
    moved = lh("tasks.done", task=task)
    assert moved["step"]["completed"] is True
    assert moved["step"]["completed_at_ms"] == lh.clock.now_ms()
    assert moved["event"]["type"] == "step_done"


def test_verify_and_close_are_one_call_with_two_events_and_one_revision(lh: Lh) -> None:
    task = new_task(lh, "a")
    moved = close(lh, task)
    assert [e["type"] for e in moved["events"]] == ["step_verified", "step_done"]
    assert moved["revision"] == 2
    assert lh("tasks.radar", task=task)["radar"]["next"] == ["Finish task"]


def test_a_refused_close_leaves_nothing_behind(lh: Lh) -> None:
    task = new_task(lh, step("a", proof={"tests": "require"}))
    seq = lh("status")["seq"]
    assert lh.refused("tasks.step.close", task=task, checkpoints="gate")["code"] == "PROOF_REQUIRED"
    assert lh("status")["seq"] == seq
    assert lh("tasks.radar", task=task)["target"]["revision"] == 1


@pytest.mark.parametrize("kind", ["security", "perf", "docs"])
def test_other_checkpoints_are_required_once_they_matter(lh: Lh, kind: str) -> None:
    """By linked proof, by a proof mode, or by being named when closing."""
    linked, moded, named = (
        new_task(lh, "a"),
        new_task(lh, step("b", proof={kind: "require"})),
        new_task(lh, "c"),
    )
    for task in (linked, moded):
        lh("tasks.evidence.capture", task=task, checks=["https://ci.example/1"], checkpoint=kind)
        error = lh.refused("tasks.step.close", task=task, checkpoints="gate")
        assert error["code"] == "CHECKPOINTS_NOT_CONFIRMED"
        assert kind in error["message"]
        lh("tasks.step.close", task=task, checkpoints="all")
    wrong = {"criteria": True, "tests": True, kind: False}
    error = lh.refused("tasks.step.close", task=named, checkpoints=wrong)
    assert f"is missing {kind}" in error["message"]
    close(lh, named)


def test_only_what_proves_satisfies_require(lh: Lh) -> None:
    task = new_task(lh, step("a", proof={"tests": "require"}))
    for weak in (
        "looks fine",
        "CMD: make test",
        "CMD: make test (exit 1)",
        "HASH: looks fine",
        "LINK: see the wiki",
        "NOTE: https://ci.example/1",
    ):
        told = lh.envelope("tasks.evidence.capture", task=task, checks=[weak], checkpoint="tests")
        assert "PROOF_WEAK" in [w["code"] for w in told["warnings"]]
        error = lh.refused("tasks.step.close", task=task, checkpoints="gate")
        assert error["code"] == "PROOF_REQUIRED"
    unlinked = lh.envelope("tasks.evidence.capture", task=task, checks=["CMD: make (exit 0)"])
    assert [w["code"] for w in unlinked["warnings"]] == ["PROOF_UNLINKED"]
    assert lh.refused("tasks.step.close", task=task, checkpoints="gate")["code"] == "PROOF_REQUIRED"
    lh("tasks.evidence.capture", task=task, checks=["CMD: make test (exit 0)"], checkpoint="tests")
    close(lh, task)


def test_the_mode_warn_closes_and_says_so(lh: Lh) -> None:
    task = new_task(lh, step("a", proof={"tests": "warn"}))
    told = lh.envelope("tasks.step.close", task=task, checkpoints="gate")
    assert told["success"]
    assert [w["code"] for w in told["warnings"]] == ["PROOF_WEAK"]


def test_a_parent_closes_after_its_children(lh: Lh) -> None:
    task = new_task(lh, step("a", step("a1"), step("a2")))
    error = lh.refused("tasks.step.close", task=task, path="s:0", checkpoints="gate")
    assert "s:0 has 2 open steps below it: s:0.s:0, s:0.s:1" in error["message"]
    forced = lh.refused("tasks.progress", task=task, path="s:0", force=True, reason="because")
    assert forced["code"] == "CHECKPOINTS_NOT_CONFIRMED"
    for _ in range(3):
        close(lh, task)


def test_force_needs_a_reason_and_leaves_it_on_record(lh: Lh) -> None:
    task = new_task(lh, step("a", proof={"docs": "require"}))
    for reason in ({}, {"reason": "   "}):
        error = lh.refused("tasks.progress", task=task, force=True, **reason)
        assert error["code"] == "INVALID_INPUT"
        assert error["message"].startswith("reason: ")
    told = lh.envelope("tasks.progress", task=task, force=True, reason="Shown in the meeting")
    assert [w["code"] for w in told["warnings"]] == ["GATES_FORCED"]
    assert told["result"]["event"]["payload"] == {
        "forced": True,
        "reason": "Shown in the meeting",
        "skipped": {"checkpoints": ["criteria", "tests", "docs"], "proof": ["docs"]},
    }
    notes = lh("docs.show", target=task, doc_kind="notes")["entries"]
    assert notes[-1]["content"] == "Closed by force: Shown in the meeting"


def test_without_force_progress_goes_through_the_same_gates(lh: Lh) -> None:
    task = new_task(lh, step("a", proof={"tests": "require"}))
    assert lh.refused("tasks.progress", task=task)["code"] == "CHECKPOINTS_NOT_CONFIRMED"
    lh("tasks.verify", task=task, checkpoints="gate")
    assert lh.refused("tasks.progress", task=task)["code"] == "PROOF_REQUIRED"
    lh("tasks.evidence.capture", task=task, checks=["CMD: make test (exit 0)"], checkpoint="tests")
    assert lh("tasks.progress", task=task)["step"]["completed"] is True


def test_reopening_forgets_confirmations_and_reopens_what_it_is_part_of(lh: Lh) -> None:
    task = new_task(lh, step("a", step("a1")))
    close(lh, task)
    close(lh, task)
    moved = lh("tasks.progress", task=task, path="s:0.s:0", completed=False, reason="It broke")
    assert [(e["path"], e["type"]) for e in moved["events"]] == [
        ("s:0", "step_reopened"),
        ("s:0.s:0", "step_reopened"),
    ]
    assert moved["step"]["confirmed"] == []
    assert paths(lh, task) == ["s:0", "s:0.s:0"]
    assert lh("tasks.radar", task=task)["target"]["steps_open"] == 2


def test_a_closed_step_does_not_close_again(lh: Lh) -> None:
    task = new_task(lh, "a")
    close(lh, task)
    for cmd, args in (
        ("tasks.done", {}),
        ("tasks.step.close", {"checkpoints": "gate"}),
        ("tasks.progress", {}),
    ):
        error = lh.refused(cmd, task=task, path="s:0", **args)
        assert "is already done" in error["message"]


def test_a_confirmation_can_be_taken_back(lh: Lh) -> None:
    task = new_task(lh, "a")
    lh("tasks.verify", task=task, checkpoints="all")
    moved = lh("tasks.verify", task=task, checkpoints={"perf": False})
    assert moved["step"]["confirmed"] == ["criteria", "tests", "security", "docs"]
    assert lh.refused("tasks.verify", task=task, checkpoints={})["code"] == "INVALID_INPUT"
    wrong: Any
    for wrong in ("some", {"taste": True}, {"tests": "yes"}):
        assert lh.refused("tasks.verify", task=task, checkpoints=wrong)["code"] == "INVALID_INPUT"


def test_proof_comes_with_the_close_and_nothing_stays_of_a_refused_one(lh: Lh) -> None:
    task = new_task(lh, step("Measure", proof={"tests": "require"}), "Mend")
    bare = lh.refused("tasks.step.close", task=task)
    assert bare["message"].startswith("checkpoints: expected")
    assert "proof=" in bare["message"]
    before = lh("tasks.history", task=task)
    weak = lh.refused("tasks.step.close", task=task, proof="looks fine")
    assert weak["code"] == "PROOF_REQUIRED"
    assert lh("tasks.history", task=task) == before
    closed = lh(
        "tasks.step.close",
        task=task,
        proof="- CMD: make test (exit 0)\n- LINK: https://ci/1",
        view="full",
    )
    assert [event["ref"] for event in closed["events"]] == closed["refs"]
    assert [event["type"] for event in closed["events"]] == [
        "evidence_captured",
        "step_verified",
        "step_done",
    ]
    listed = lh("tasks.step.close", task=task, proof=["CMD: make test (exit 0)"])
    assert (listed["title"], listed["confirmed"]) == ("Mend", ["criteria", "tests"])
    assert "step" not in listed
    assert lh("open", id=listed["refs"][-1])["event"]["type"] == "step_done"
