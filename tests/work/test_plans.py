"""What a title and a parent may be."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit import Lh


@pytest.fixture
def started(lh: Lh) -> Lh:
    lh("tasks.macro.start", task_title="Search", steps=["Look"])
    return lh


@pytest.mark.parametrize(
    "cmd, args",
    [
        ("tasks.macro.start", {"task_title": "TASK-001"}),
        ("tasks.plan.create", {"title": " TASK-001 ", "kind": "task"}),
        ("tasks.plan.create", {"title": "PLAN-001"}),
    ],
)
def test_nothing_is_created_under_the_id_of_something_else(
    started: Lh, cmd: str, args: dict[str, Any]
) -> None:
    error = started.refused(cmd, **args)
    assert "is an id, not a title" in error["message"]
    assert "tasks.focus.set" in error["recovery"]


def test_a_title_that_only_looks_like_an_id_is_taken(started: Lh) -> None:
    assert started("tasks.plan.create", title="UTF-8")["kind"] == "plan"


def test_a_task_is_no_parent_and_its_plan_is_named(started: Lh) -> None:
    error = started.refused("tasks.plan.create", title="Part", parent="TASK-001")
    assert "fix: parent=PLAN-001" in error["message"]


@pytest.mark.parametrize("word", ["create", "add", "issue", "task.create"])
def test_who_creates_something_among_tasks_gets_a_task(started: Lh, word: str) -> None:
    answer = started.portal("tasks", op=word, args={"title": "Remove dead code"})
    assert answer.envelope["result"]["kind"] == "task"


def test_a_plan_is_created_where_a_plan_was_said(started: Lh) -> None:
    answer = started.portal("tasks", op="create", args={"title": "Faster", "kind": "plan"})
    assert answer.envelope["result"]["kind"] == "plan"


@pytest.mark.parametrize("word", ["delete", "remove", "done", "delte"])
def test_a_bare_word_that_changes_something_is_offered_without_a_target(
    started: Lh, word: str
) -> None:
    answer = started.portal("tasks", op=word)
    assert not answer.success
    changing = [one for one in answer.envelope["actions"] if one["risk"] != "none"]
    assert all("task" in one["missing"] for one in changing)
