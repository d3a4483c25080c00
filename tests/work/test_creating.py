"""Creating plans and tasks: where they belong, what they start with, what is refused."""

from __future__ import annotations

import pytest

from tests.kit import Lh
from tests.work.kit import new_task, step, titles


def test_ids_count_up_per_workspace(lh: Lh) -> None:
    assert lh("tasks.plan.create", title="One")["id"] == "PLAN-001"
    assert lh("tasks.plan.create", title="Two", kind="plan")["qualified_id"] == "acme:PLAN-002"
    assert new_task(lh, "a", parent="PLAN-002") == "TASK-001"
    other = lh("tasks.plan.create", title="Elsewhere", workspace="other")
    assert other["id"] == "PLAN-001"


def test_steps_come_with_what_is_below_them_in_reading_order(lh: Lh) -> None:
    made = lh("tasks.plan.create", title="T", steps=[step("a", step("a1"), step("a2")), step("b")])
    assert [s["path"] for s in made["steps"]] == ["s:0", "s:0.s:0", "s:0.s:1", "s:1"]
    assert [s["step_id"] for s in made["steps"]] == [f"STEP-{n:08X}" for n in range(1, 5)]
    assert titles(lh, made["id"]) == {"s:0": "a", "s:0.s:0": "a1", "s:0.s:1": "a2", "s:1": "b"}
    task = lh("tasks.radar", task=made["id"])["target"]
    assert (task["steps_total"], task["steps_open"], task["revision"]) == (4, 4, 1)


def test_a_task_without_a_plan_goes_into_the_inbox_which_is_made_once(lh: Lh) -> None:
    first = lh("tasks.plan.create", title="A", kind="task")
    second = lh("tasks.plan.create", title="B", kind="task")
    assert first["plan"] == second["plan"] == "PLAN-001"
    assert lh("tasks.radar", plan="PLAN-001")["target"]["title"] == "Inbox"
    assert [e["type"] for e in first["events"]] == ["plan_created", "task_created"]


def test_a_task_belongs_to_the_plan_in_focus_or_to_that_of_the_task_in_focus(lh: Lh) -> None:
    lh("tasks.plan.create", title="Inbox")
    lh("tasks.plan.create", title="Search")
    lh("tasks.focus.set", plan="PLAN-002")
    task = new_task(lh)
    assert lh("tasks.radar", task=task)["target"]["plan_id"] == "PLAN-002"
    lh("tasks.focus.set", task=task)
    made = lh("tasks.bootstrap", task_title="Another")
    assert made["plan"] == {"id": "PLAN-002", "qualified_id": "acme:PLAN-002", "created": False}


def test_a_parent_is_named_by_id_or_title_and_a_new_title_makes_a_plan(lh: Lh) -> None:
    lh("tasks.plan.create", title="Search")
    assert lh("tasks.plan.create", title="A", parent="Search")["plan"] == "PLAN-001"
    assert lh("tasks.plan.create", title="B", parent="PLAN-001")["plan"] == "PLAN-001"
    assert lh("tasks.plan.create", title="C", parent="Billing")["plan"] == "PLAN-002"
    assert lh.refused("tasks.plan.create", title="D", parent="PLAN-009")["code"] == "UNKNOWN_ID"
    made = lh("tasks.bootstrap", task_title="E", plan="PLAN-001", plan_title="Search")
    assert made["plan"]["created"] is False
    wrong = lh.refused("tasks.bootstrap", task_title="F", plan="PLAN-001", plan_title="Other")
    assert "the title of PLAN-001 is 'Search'" in wrong["message"]


@pytest.mark.parametrize(
    "args",
    [
        {"kind": "plan", "parent": "PLAN-001"},
        {"kind": "plan", "steps": [step("a")]},
        {"kind": "task", "contract": "x"},
        {"kind": "plan", "assignee": "me"},
    ],
)
def test_what_a_plan_or_task_does_not_have_is_refused(lh: Lh, args: dict[str, object]) -> None:
    lh("tasks.plan.create", title="P")
    error = lh.refused("tasks.plan.create", title="T", **args)
    assert error["code"] == "INVALID_INPUT"
    assert "does not take this" in error["message"]


def test_every_template_makes_what_it_says(lh: Lh) -> None:
    for template in lh("tasks.templates.list")["templates"]:
        made = lh("tasks.scaffold", template=template["id"], title="X", kind=template["kind"])
        if template["kind"] == "plan":
            plan = lh("tasks.radar", plan=made["plan"])["target"]
            assert plan["checklist"] == template["plan_steps"] == made["checklist"]
        else:
            wanted = [s["title"] for s in template["steps"]]
            assert list(titles(lh, made["task"]).values()) == wanted
    principal = lh("tasks.scaffold", template="principal-task", title="P")
    assert lh("tasks.radar", task=principal["task"])["target"]["reasoning_mode"] == "strict"
    verify = lh("tasks.radar", task=principal["task"])["radar"]["verify"]
    assert "Missing tests proof: 1" in verify


def test_bootstrap_makes_plan_task_and_steps_at_once(lh: Lh) -> None:
    made = lh(
        "tasks.bootstrap",
        task_title="Index",
        plan_title="Search",
        plan_template="basic-plan",
        template="basic-task",
        assignee="amber-otter",
    )
    assert made["plan"]["created"] is True
    assert [e["type"] for e in made["events"]] == ["plan_created", "task_created", "steps_added"]
    assert len(made["steps"]) == 3
    assert lh("tasks.radar", task="TASK-001")["target"]["assignee"] == "amber-otter"
    again = lh.envelope(
        "tasks.bootstrap", task_title="B", plan_title="Search", plan_template="principal-plan"
    )
    assert [w["code"] for w in again["warnings"]] == ["PLAN_TEMPLATE_IGNORED"]


def test_an_unknown_template_names_the_nearest(lh: Lh) -> None:
    error = lh.refused("tasks.scaffold", template="basic-tsk", title="X")
    assert (error["code"], error["recovery"]) == ("UNKNOWN_ID", "use 'basic-task'")
    assert (
        lh.refused("tasks.bootstrap", task_title="X", template="basic-task", steps=[step("a")])[
            "code"
        ]
        == "INVALID_INPUT"
    )


def test_a_task_has_at_most_a_thousand_steps(lh: Lh) -> None:
    task = new_task(lh)
    hundred = [step(f"s{n}") for n in range(100)]
    for _ in range(10):
        lh("tasks.plan.decompose", task=task, steps=hundred)
    assert "at most 1000" in lh.refused("tasks.plan.decompose", task=task, steps=hundred)["message"]


def test_the_same_key_makes_one_task(lh: Lh) -> None:
    first = lh("tasks.plan.create", title="T", kind="task", idempotency_key="k")
    assert lh("tasks.plan.create", title="T", kind="task", idempotency_key="k") == first
    assert lh("tasks.context")["counts"] == {"plans": 1, "tasks": 1}


def test_steps_may_be_titles_or_lines_of_text(lh: Lh) -> None:
    lines = "1. Measure the query\n\n- [ ] Add the index\n* Show it"
    titles = ["Measure the query", "Add the index", "Show it"]
    for given in (lines, titles, [{"title": titles[0], "success_criteria": ["x"]}, *titles[1:]]):
        made = lh("tasks.plan.create", title="Search", kind="task", steps=given)
        shown = lh("tasks.radar", task=made["id"])["steps"]
        assert [row["title"] for row in shown] == titles
    more = lh("tasks.plan.decompose", task=made["id"], steps="Tell the others")
    assert more["steps"][0]["path"] == "s:3"


def test_steps_without_words_are_refused_with_a_fix_that_has_some(lh: Lh) -> None:
    for given in ("\n- \n", ["Measure", " "], ["x" * 201], "x" * 201):
        error = lh.refused("tasks.plan.create", title="Search", kind="task", steps=given)
        assert "steps" in error["message"]
        assert "fix: " in error["message"]
        assert "steps=[]" not in error["message"]
