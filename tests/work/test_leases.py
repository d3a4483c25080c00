"""Step leases: who holds a step, for how long, and that no one else can change it."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit import Lh
from tests.work.kit import new_task, step

HALF_AN_HOUR = 30 * 60_000


def claim(lh: Lh, task: str, who: str = "otter", **more: Any) -> dict[str, Any]:
    return lh("tasks.step.lease.claim", task=task, path="s:0", agent_id=who, **more)


def test_a_lease_keeps_others_from_every_change_of_the_step(lh: Lh) -> None:
    task = new_task(lh, step("a", step("a1")), "b")
    for path in ("s:0", "s:0.s:0"):
        lh("tasks.step.lease.claim", task=task, path=path, agent_id="otter")
    changes: list[tuple[str, dict[str, Any]]] = [
        ("tasks.define", {"title": "x"}),
        ("tasks.note", {"note": "x"}),
        ("tasks.verify", {"checkpoints": "gate"}),
        ("tasks.done", {}),
        ("tasks.step.close", {"checkpoints": "gate"}),
        ("tasks.progress", {}),
        ("tasks.progress", {"completed": False}),
        ("tasks.block", {}),
        ("tasks.progress", {"force": True, "reason": "x"}),
        ("tasks.delete", {}),
        ("tasks.patch", {"ops": [{"op": "set", "field": "title", "value": "x"}]}),
        ("tasks.evidence.capture", {"checks": ["CMD: make (exit 0)"]}),
    ]
    for cmd, args in changes:
        for who in ({"agent_id": "heron"}, {}):
            error = lh.refused(cmd, task=task, path="s:0.s:0", **args, **who)
            assert error["code"] == "STEP_LEASE_HELD", cmd
            assert "held by otter" in error["message"]
    for cmd, args in (
        ("tasks.delete", {"path": "s:0"}),
        ("tasks.delete", {}),
        ("tasks.plan.decompose", {"parent": "s:0", "steps": [step("c")]}),
    ):
        assert lh.refused(cmd, task=task, **args, agent_id="heron")["code"] == "STEP_LEASE_HELD"
    lh("tasks.note", task=task, path="s:1", note="free", agent_id="heron")
    lh("tasks.note", task=task, path="s:0.s:0", note="mine", agent_id="otter")


def test_reopening_honours_the_leases_of_the_steps_above(lh: Lh) -> None:
    task = new_task(lh, step("a", step("a1")))
    for _ in range(2):
        lh("tasks.step.close", task=task, checkpoints="gate")
    claim(lh, task)
    error = lh.refused(
        "tasks.progress", task=task, path="s:0.s:0", completed=False, agent_id="heron"
    )
    assert error["code"] == "STEP_LEASE_HELD"


def test_a_claim_by_the_holder_changes_nothing_and_with_force_starts_anew(lh: Lh) -> None:
    task = new_task(lh, "a")
    first = claim(lh, task, ttl_seq=5)
    again = claim(lh, task, ttl_seq=50)
    assert again["lease"] == first["lease"]
    assert "event" not in again
    anew = claim(lh, task, ttl_seq=50, force=True)
    assert anew["lease"]["expires_seq"] > first["lease"]["expires_seq"]


def test_another_takes_it_only_by_force_and_it_is_on_record(lh: Lh) -> None:
    task = new_task(lh, "a")
    claim(lh, task)
    held = lh.refused("tasks.step.lease.claim", task=task, agent_id="heron")
    assert held["code"] == "STEP_LEASE_HELD"
    taken = claim(lh, task, "heron", force=True)
    assert taken["event"]["type"] == "step_lease_taken_over"
    assert taken["event"]["payload"] == {"holder": "heron", "previous": "otter"}
    for cmd in ("renew", "release"):
        error = lh.refused(f"tasks.step.lease.{cmd}", task=task, agent_id="otter")
        assert error["code"] == "STEP_LEASE_NOT_HELD"
        assert "heron does" in error["message"]


def test_renew_and_release(lh: Lh) -> None:
    task = new_task(lh, "a")
    before = claim(lh, task)["lease"]
    lh.clock.advance(1_000)
    renewed = lh("tasks.step.lease.renew", task=task, agent_id="otter")["lease"]
    assert renewed["expires_at_ms"] == before["expires_at_ms"] + 1_000
    assert renewed["expires_seq"] == before["expires_seq"] + 1
    assert renewed["claimed_seq"] == before["claimed_seq"]
    released = lh("tasks.step.lease.release", task=task, agent_id="otter")
    assert (released["lease"], released["event"]["type"]) == (None, "step_lease_released")
    error = lh.refused("tasks.step.lease.renew", task=task, agent_id="otter")
    assert "no one does" in error["message"]


def test_a_lease_runs_in_task_events_of_its_own_workspace(lh: Lh) -> None:
    task = new_task(lh, "a", "b")
    lease = claim(lh, task, ttl_seq=3)
    assert lease["lease"]["expires_seq"] == lease["lease"]["claimed_seq"] + 3
    new_task(lh, *[f"s{n}" for n in range(9)], workspace="other")
    for number in range(20):
        lh("vcs.notes.commit", content=f"chatter {number}")
    assert lh("tasks.step.lease.get", task=task, path="s:0")["lease"]["holder"] == "otter"
    for _ in range(2):
        lh("tasks.note", task=task, path="s:1", note="x")
    shown = lh("tasks.step.lease.get", task=task, path="s:0")
    assert shown["lease"] is None
    assert shown["now_seq"] == lease["lease"]["expires_seq"]
    assert claim(lh, task, "heron")["event"]["type"] == "step_lease_claimed"


def test_a_lease_ends_by_the_clock_in_a_silent_workspace(lh: Lh) -> None:
    task = new_task(lh, "a")
    claim(lh, task)
    lh.clock.advance(HALF_AN_HOUR - 1)
    assert lh("tasks.step.lease.get", task=task)["lease"] is not None
    lh.clock.advance(1)
    assert lh("tasks.step.lease.get", task=task)["lease"] is None
    assert lh.refused("tasks.step.lease.renew", task=task, agent_id="otter")["code"] == (
        "STEP_LEASE_NOT_HELD"
    )
    lh("tasks.note", task=task, note="free again", agent_id="heron")


@pytest.mark.parametrize("ttl, length", [(0, 200), (-5, 200), (1, 1), (10_000, 10_000)])
def test_how_long_a_lease_is(lh: Lh, ttl: int, length: int) -> None:
    lease = claim(lh, new_task(lh, "a"), ttl_seq=ttl)["lease"]
    assert lease["expires_seq"] - lease["claimed_seq"] == length


def test_a_lease_belongs_to_someone_and_has_an_end(lh: Lh) -> None:
    task = new_task(lh, "a")
    error = lh.refused("tasks.step.lease.claim", task=task)
    assert error["message"].startswith("agent_id: expected the holder")
    error = lh.refused("tasks.step.lease.claim", task=task, agent_id="otter", ttl_seq=10_001)
    assert error["code"] == "INVALID_INPUT"


def test_whoever_looks_is_told_who_holds_the_next_step(lh: Lh) -> None:
    task = new_task(lh, "a")
    claim(lh, task)
    shown = lh.envelope("tasks.snapshot", task=task, agent_id="heron")
    assert shown["result"]["step_focus"]["lease"]["holder"] == "otter"
    (action,) = shown["actions"]
    assert action["args"]["cmd"] == "tasks.step.lease.get"
    mine = lh.envelope("tasks.snapshot", task=task, agent_id="otter")
    assert mine["actions"][0]["args"]["cmd"] == "tasks.radar"
