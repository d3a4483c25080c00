"""Lists of plans, tasks and events: pages that skip and repeat nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit import Lh
from tests.work.kit import new_task


def all_tasks(lh: Lh, **args: Any) -> list[str]:
    """Every task found by following the cursor."""
    found: list[str] = []
    cursor: dict[str, Any] = {}
    for _ in range(100):
        page = lh("tasks.context", **args, **cursor)
        found += [task["id"] for task in page["tasks"]]
        at = page["tasks_pagination"]
        assert at["count"] == len(page["tasks"])
        if not at["has_more"]:
            return found
        assert at["next_cursor"] != cursor.get("tasks_cursor")
        cursor = {"tasks_cursor": at["next_cursor"]}
    raise AssertionError("it never ends")


@pytest.fixture
def many(lh: Lh) -> Lh:
    """Thirty tasks in two plans: every third is tagged red, every fifth blue, some are closed."""
    lh("tasks.plan.create", title="A")
    lh("tasks.plan.create", title="B")
    for n in range(1, 31):
        task = new_task(lh, title=f"task {n} " + "x" * 80, parent=f"PLAN-00{1 + n % 2}")
        tags = [tag for tag, every in (("red", 3), ("blue", 5)) if n % every == 0]
        fields: dict[str, Any] = {"tags": tags} if tags else {}
        if n % 7 == 0:
            fields["assignee"] = "otter"
        if fields:
            lh("tasks.edit", task=task, **fields)
        if n % 4 == 0:
            lh("tasks.complete", task=task, status="DONE" if n % 8 else "ACTIVE")
    return lh


def ids(*numbers: int) -> list[str]:
    return [f"TASK-{n:03d}" for n in numbers]


CLOSED = {4, 12, 20, 28}
CASES: list[tuple[dict[str, Any], list[str]]] = [
    ({}, ids(*(n for n in range(1, 31) if n not in CLOSED))),
    ({"include_all": True}, ids(*range(1, 31))),
    ({"tasks_status": "DONE"}, ids(*sorted(CLOSED))),
    ({"tasks_status": "ACTIVE"}, ids(8, 16, 24)),
    ({"tasks_parent": "PLAN-002", "include_all": True}, ids(*range(1, 31, 2))),
    ({"tasks_parent": "PLAN-001", "tasks_status": "DONE"}, ids(*sorted(CLOSED))),
    ({"tags": ["red"], "include_all": True}, ids(*range(3, 31, 3))),
    ({"tags": ["Red ", "blue"]}, ids(15, 30)),
    ({"tags": ["red"], "tasks_parent": "PLAN-001", "tasks_status": "ACTIVE"}, ids(24)),
    ({"assignee": "otter"}, ids(7, 14, 21)),
    ({"assignee": "otter", "tags": ["red"]}, ids(21)),
    ({"tags": ["green"]}, []),
    ({"domain": "search"}, []),
]


@pytest.mark.parametrize("limit", [1, 4, 200])
def test_pages_by_any_trait_lose_and_repeat_nothing(many: Lh, limit: int) -> None:
    for args, wanted in CASES:
        assert all_tasks(many, tasks_limit=limit, **args) == wanted, args


@pytest.mark.parametrize("max_chars", [900, 1_500, 4_000])
def test_a_page_that_is_cut_goes_on_where_it_was_cut(many: Lh, max_chars: int) -> None:
    found = all_tasks(many, include_all=True, plans_limit=0, max_chars=max_chars)
    assert found == ids(*range(1, 31))


def test_counts_by_state_are_of_everything(many: Lh) -> None:
    page = many("tasks.context", tasks_limit=1)
    assert page["counts"] == {"plans": 2, "tasks": 30}
    assert page["by_status"]["tasks"] == {"ACTIVE": 3, "DONE": 4, "TODO": 23}
    many("tasks.delete", task="TASK-001")
    assert many("tasks.context")["by_status"]["tasks"]["TODO"] == 22


def test_plans_page_too_and_closed_ones_are_left_out_unless_asked_for(lh: Lh) -> None:
    for n in range(5):
        lh("tasks.plan.create", title=f"P{n}")
    lh("tasks.complete", plan="PLAN-002")

    def page(**args: Any) -> list[str]:
        return [plan["id"] for plan in lh("tasks.context", **args)["plans"]]

    assert page() == ["PLAN-001", "PLAN-003", "PLAN-004", "PLAN-005"]
    assert page(plans_status="DONE") == ["PLAN-002"]
    assert page(include_all=True, plans_limit=2) == ["PLAN-001", "PLAN-002"]
    assert page(plans_cursor="PLAN-003") == ["PLAN-004", "PLAN-005"]


def test_delta_gives_every_event_once_oldest_first(lh: Lh) -> None:
    task = new_task(lh, "a")
    for n in range(7):
        lh("tasks.note", task=task, note=str(n))
        lh("vcs.notes.commit", content="chatter")
    whole = lh("tasks.delta", limit=200)["events"]
    assert [e["seq"] for e in whole] == sorted(e["seq"] for e in whole)
    found: list[str] = []
    since: dict[str, Any] = {}
    while True:
        page = lh("tasks.delta", limit=3, max_chars=600, **since)
        found += [e["event_id"] for e in page["events"]]
        since = {"since": page["next_since"]}
        if not page["has_more"]:
            break
    assert found == [e["event_id"] for e in whole]
    assert lh("tasks.delta", **since)["events"] == []
    assert lh("tasks.delta", **since)["next_since"] == since["since"]
    future = lh.envelope("tasks.delta", since="evt_0000000000009999")
    assert future["error"]["code"] == "UNKNOWN_ID"
    lh.run_actions(future)


def test_history_is_of_one_plan_or_task_newest_first(lh: Lh) -> None:
    first, second = new_task(lh, "a"), new_task(lh, "b")
    for n in range(5):
        lh("tasks.note", task=first, note=str(n), agent_id="otter")
        lh("tasks.note", task=second, note=str(n))
    found: list[int] = []
    cursor: dict[str, Any] = {}
    while True:
        page = lh("tasks.history", task=first, limit=2, **cursor)
        found += [e["seq"] for e in page["operations"]]
        if not page["has_more"]:
            break
        cursor = {"cursor": page["next_cursor"]}
    assert found == sorted(found, reverse=True)
    assert len(found) == 7
    newest = lh("tasks.history", task=first)["operations"][0]
    assert (newest["type"], newest["actor"], newest["payload"]) == (
        "step_noted",
        "otter",
        {"note": "4"},
    )
    assert [e["type"] for e in lh("tasks.history", plan="PLAN-001")["operations"]] == [
        "plan_created"
    ]


def test_what_is_done_without_proof_can_be_listed_page_by_page(lh: Lh) -> None:
    lh("tasks.plan.create", kind="plan", title="P")
    done = []
    for number in range(4):
        task = lh("tasks.macro.start", task_title=f"T{number}", plan="PLAN-001", steps=["x"])[
            "task_id"
        ]
        proof = {"proof": "CMD: make test (exit 0)"} if number == 1 else {"proof": "NOTE: fine"}
        lh("tasks.step.close", task=task, path="s:0", checkpoints="gate", **proof)
        if number < 3:
            lh("tasks.complete", task=task, status="DONE")
            done.append(task)
    assert all_tasks(lh, unproved=True, tasks_limit=1) == [done[0], done[2]]
    assert all_tasks(lh, unproved=True, tasks_parent="PLAN-001") == [done[0], done[2]]
    assert all_tasks(lh, unproved=True, tasks_parent="PLAN-009") == []


@pytest.mark.parametrize(
    "other", [{"tasks_status": "DONE"}, {"assignee": "otter"}, {"domain": "ui"}, {"tags": ["ui"]}]
)
def test_a_filter_that_a_list_of_unproved_tasks_would_ignore_is_refused(
    lh: Lh, other: dict[str, Any]
) -> None:
    error = lh.refused("tasks.context", unproved=True, **other)
    assert error["code"] == "INVALID_INPUT"
    assert error["message"].startswith(f"{next(iter(other))}: ")
