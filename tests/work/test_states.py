"""The states of tasks and plans: timers, dependencies, readiness, and deletion."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit import Lh
from tests.work.kit import close, new_task

DAY_S = 24 * 3600


def ready(lh: Lh, **args: Any) -> list[str]:
    return [task["id"] for task in lh("tasks.ready", **args)["tasks"]]


def test_a_task_is_done_only_without_open_steps(lh: Lh) -> None:
    task = new_task(lh, "a")
    error = lh.refused("tasks.complete", task=task)
    assert error["code"] == "CONFLICT"
    assert "steps not completed: 1 of TASK-001 are open" in error["message"]
    lh("tasks.complete", task=task, status="CANCELED")
    lh("tasks.complete", task=task, status="ACTIVE")
    close(lh, task)
    done = lh("tasks.complete", task=task)
    assert done["event"]["type"] == "task_completed"
    assert done["event"]["payload"] == {"status": "DONE", "previous": "ACTIVE"}


@pytest.mark.parametrize("status", ["DONE", "CANCELED"])
def test_a_closed_task_gets_no_open_steps(lh: Lh, status: str) -> None:
    task = new_task(lh, "a")
    close(lh, task)
    lh("tasks.complete", task=task, status=status)
    for cmd, args in (
        ("tasks.plan.decompose", {"steps": [{"title": "b", "success_criteria": []}]}),
        ("tasks.progress", {"path": "s:0", "completed": False}),
    ):
        envelope = lh.envelope(cmd, task=task, **args)
        assert envelope["error"]["code"] == "CONFLICT"
        assert f"is {status}" in envelope["error"]["message"]
    lh.run_actions(envelope)
    lh("tasks.progress", task=task, path="s:0", completed=False)


def test_the_same_state_again_is_said_and_not_written(lh: Lh) -> None:
    task = new_task(lh)
    lh("tasks.complete", task=task)
    seq = lh("status")["seq"]
    again = lh.envelope("tasks.complete", task=task)
    assert [w["code"] for w in again["warnings"]] == ["ALREADY_STATUS"]
    assert again["result"]["event"] is None
    assert lh("status")["seq"] == seq


def test_a_plan_closes_whatever_its_tasks_do(lh: Lh) -> None:
    new_task(lh, "a")
    assert lh("tasks.complete", plan="PLAN-001")["plan"]["status"] == "DONE"


def test_a_task_is_parked_until_a_given_time(lh: Lh) -> None:
    until = lh.clock.now_ms() + 5_000
    timer = {"status": "PARKED", "parked_until_ts_ms": until}
    parked = lh("tasks.complete", task=new_task(lh), **timer)["task"]
    assert parked["parked_until_ts_ms"] == until


def test_a_plans_checklist_keeps_its_document_until_it_is_unlinked(lh: Lh) -> None:
    new_task(lh)
    lh("tasks.plan", plan="PLAN-001", steps=["one", "two"], doc="plans/search")
    kept = lh("tasks.plan", plan="PLAN-001", advance=True)["plan"]
    assert (kept["current"], kept["doc"]) == (1, "plans/search")
    assert "doc" not in lh("tasks.plan", plan="PLAN-001", doc="")["plan"]


def test_a_parked_task_wakes_in_its_time_and_forgets_the_timer_when_it_leaves(lh: Lh) -> None:
    task = new_task(lh)
    parked = lh("tasks.complete", task=task, status="PARKED", parked_for_s=DAY_S)["task"]
    assert parked["parked_until_ts_ms"] == lh.clock.now_ms() + DAY_S * 1000
    plan = lh("tasks.radar", plan="PLAN-001")["horizon"]
    assert (plan["parked"], plan["backlog"]) == (1, 0)
    assert plan["next_wake"] == parked["parked_until_ts_ms"]
    assert ready(lh) == []
    lh.clock.advance(DAY_S * 1000)
    plan = lh("tasks.radar", plan="PLAN-001")["horizon"]
    assert (plan["parked"], plan["backlog"], "next_wake" in plan) == (0, 1, False)
    assert ready(lh) == [task]
    lh("tasks.complete", task=task, status="ACTIVE")
    assert "parked_until_ts_ms" not in lh("tasks.radar", task=task)["target"]


def test_a_task_parked_for_good_is_not_ready(lh: Lh) -> None:
    task = new_task(lh)
    lh("tasks.complete", task=task, status="PARKED")
    lh.clock.advance(400 * DAY_S * 1000)
    assert ready(lh) == []


@pytest.mark.parametrize(
    "args",
    [
        {"status": "PARKED", "parked_for_s": 0},
        {"status": "PARKED", "parked_for_s": 367 * DAY_S},
        {"status": "PARKED", "parked_until_ts_ms": 1},
        {"status": "PARKED", "parked_until_ts_ms": 2**52},
        {"status": "PARKED", "parked_for_s": 5, "parked_until_ts_ms": 1_800_000_001_000},
        {"status": "ACTIVE", "parked_for_s": 5},
        {"parked_until_ts_ms": 1_800_000_001_000},
    ],
)
def test_a_timer_out_of_range_or_out_of_place_is_refused(lh: Lh, args: dict[str, Any]) -> None:
    task = new_task(lh)
    assert lh.refused("tasks.complete", task=task, **args)["code"] == "INVALID_INPUT"
    plan = {"plan": "PLAN-001", "status": "PARKED", "parked_for_s": 5}
    assert "only a PARKED task" in lh.refused("tasks.complete", **plan)["message"]


def test_what_is_ready_comes_by_priority_then_age_and_waits_for_nothing(lh: Lh) -> None:
    first, second, third = (new_task(lh, title=t) for t in "abc")
    urgent = new_task(lh, title="d", priority="HIGH")
    lh("tasks.edit", task=second, depends_on=[first, third])
    assert ready(lh) == [urgent, first, third]
    assert lh("tasks.radar", task=second)["radar"]["blockers"] == [
        f"Waits for {first}",
        f"Waits for {third}",
    ]
    lh("tasks.complete", task=first)
    assert ready(lh) == [urgent, third]
    lh("tasks.complete", task=third, status="CANCELED")
    assert ready(lh) == [urgent, second]
    lh("tasks.complete", task=first, status="ACTIVE")
    assert ready(lh) == [urgent, first]
    lh("tasks.edit", task=second, depends_on=[], priority="HIGH", assignee="otter")
    assert ready(lh) == [second, urgent, first]
    assert ready(lh, assignee="otter") == [second]
    assert ready(lh, plan="PLAN-002") == []
    page = lh("tasks.ready", limit=2)
    assert page["next_cursor"] == urgent
    assert ready(lh, cursor=urgent) == [first]


def test_dependencies_make_no_circle(lh: Lh) -> None:
    a, b, c = (new_task(lh, title=t) for t in "abc")
    lh("tasks.edit", task=a, depends_on=[b])
    lh("tasks.edit", task=b, depends_on=[c])
    for task, wanted in ((c, a), (c, b), (b, a)):
        error = lh.refused("tasks.edit", task=task, depends_on=[wanted])
        assert error["code"] == "CONFLICT", (task, wanted)
        assert f"{task} cannot wait for {wanted}" in error["message"]
    assert lh.refused("tasks.edit", task=a, depends_on=[a])["code"] == "INVALID_INPUT"
    assert lh.refused("tasks.edit", task=a, depends_on=["TASK-099"])["code"] == "UNKNOWN_ID"
    lh("tasks.edit", task=a, depends_on=[c])


def test_a_task_that_others_wait_for_is_not_removed(lh: Lh) -> None:
    a, b, c = (new_task(lh, title=t) for t in "abc")
    lh("tasks.edit", task=b, depends_on=[a, c])
    envelope = lh.envelope("tasks.delete", task=a)
    assert envelope["error"]["code"] == "CONFLICT"
    lh.run_actions(envelope)
    assert lh("tasks.radar", task=b)["target"]["waits_for"] == 1
    lh("tasks.delete", task=a)


def test_a_plan_with_tasks_is_not_removed_and_an_empty_one_is(lh: Lh) -> None:
    task = new_task(lh, "a")
    error = lh.refused("tasks.delete", plan="PLAN-001")
    assert "PLAN-001 has 1 tasks" in error["message"]
    lh("tasks.delete", task=task)
    lh("tasks.delete", plan="PLAN-001")
    assert lh.refused("tasks.radar", plan="PLAN-001")["code"] == "UNKNOWN_ID"
    assert lh("tasks.context")["counts"] == {"plans": 0, "tasks": 0}
    assert new_task(lh) == "TASK-002", "an id is never used again"


def test_removing_what_is_in_focus_clears_the_focus(lh: Lh) -> None:
    task = new_task(lh, "a")
    lh("tasks.focus.set", task=task)
    gone = lh.envelope("tasks.delete", task=task)
    assert [w["code"] for w in gone["warnings"]] == ["FOCUS_CLEARED"]
    assert lh("tasks.focus.get") == {"focus": None, "truncated": False}
    lh("tasks.focus.set", plan="PLAN-001")
    lh("tasks.delete", plan="PLAN-001")
    assert lh("status")["focus"] is None


def test_the_horizon_of_a_plan(lh: Lh) -> None:
    tasks = [new_task(lh, title=str(n)) for n in range(8)]
    for task, status in zip(
        tasks, ["ACTIVE"] * 4 + ["DONE", "CANCELED", "PARKED", "TODO"], strict=True
    ):
        if status != "TODO":
            lh("tasks.complete", task=task, status=status)
    lh.clock.advance(14 * DAY_S * 1000 + 1)
    lh("tasks.edit", task=tasks[0], title="fresh")
    radar = lh("tasks.radar", plan="PLAN-001")
    assert radar["horizon"] == {
        "active": 4,
        "backlog": 1,
        "parked": 1,
        "stale": 5,
        "done": 1,
        "total": 8,
        "active_limit": 3,
        "over_active_limit": True,
    }
    assert radar["radar"]["verify"] == ["Active horizon too large: 4 (target <= 3)"]
