"""Starting work in one call: plan, task, steps, focus and the next call, or nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.kit import Lh
from tests.work.kit import new_task, step


def test_one_call_makes_the_task_focuses_on_it_and_says_how_to_go_on(lh: Lh) -> None:
    envelope = lh.envelope(
        "tasks.macro.start",
        task_title="Find the slow query",
        description="It takes 4 s.",
        view="smart",
    )
    made = envelope["result"]
    assert (made["task_id"], made["task_qualified_id"]) == ("TASK-001", "acme:TASK-001")
    assert (made["plan_id"], made["plan_qualified_id"]) == ("PLAN-001", "acme:PLAN-001")
    assert made["plan_created"] is True
    assert [s["path"] for s in made["steps"]] == ["s:0", "s:1", "s:2"]
    assert (made["focus"], made.get("focus_previous")) == ("TASK-001", None)
    assert made["resume"]["target"]["title"] == "Find the slow query"
    assert made["resume"]["records"]["radar"]["why"] == "It takes 4 s."
    assert lh("tasks.focus.get")["focus"] == "TASK-001"
    assert lh("tasks.snapshot")["ref"] == "TASK-001"
    assert envelope["actions"][0]["args"]["args"]["task"] == "TASK-001"
    lh.run_actions(envelope)


def test_the_plan_is_the_one_named_by_id_or_title_else_in_focus_else_the_inbox(lh: Lh) -> None:
    def plan_of(**args: object) -> str:
        plan: str = lh("tasks.macro.start", task_title="T", **args)["plan_id"]
        lh("tasks.focus.clear")
        return plan

    assert plan_of() == "PLAN-001"
    assert lh("tasks.radar", plan="PLAN-001")["target"]["title"] == "Inbox"
    assert plan_of() == "PLAN-001"
    assert plan_of(plan="Search") == plan_of(parent="Search") == plan_of(plan_title="Search")
    assert plan_of(plan="PLAN-002") == plan_of(plan="PLAN-002", plan_title="Search") == "PLAN-002"
    lh("tasks.focus.set", plan="PLAN-002")
    assert plan_of() == "PLAN-002"
    lh("tasks.focus.set", task=new_task(lh, "a", parent="PLAN-002"))
    assert plan_of() == "PLAN-002"
    assert plan_of(plan="Inbox") == "PLAN-001"


@pytest.mark.parametrize(
    "args, said",
    [
        ({"plan": "PLAN-001", "plan_title": "Other"}, "the title of PLAN-001 is 'Search'"),
        ({"plan": "PLAN-001", "parent": "PLAN-001"}, "not both"),
        ({"plan": "PLAN-009"}, "there is no PLAN-009"),
        ({"template": "no-such"}, "no-such"),
        ({"template": "basic-task", "steps": [step("a")]}, "not both"),
    ],
)
def test_what_is_refused_leaves_nothing_behind(lh: Lh, args: dict[str, object], said: str) -> None:
    lh("tasks.plan.create", title="Search")
    before = lh("status")
    assert said in lh.refused("tasks.macro.start", task_title="T", **args)["message"]
    assert lh("status")["seq"] == before["seq"]
    assert lh("tasks.focus.get")["focus"] is None


def test_steps_or_a_template_of_its_own_take_the_place_of_the_plain_ones(lh: Lh) -> None:
    own = lh(
        "tasks.macro.start", task_title="T", view="smart", steps=[step("Measure"), step("Mend")]
    )
    assert len(own["steps"]) == 2
    careful = lh("tasks.macro.start", task_title="T", view="smart", template="principal-task")
    assert len(careful["steps"]) == 5
    assert careful["focus_previous"] == own["task_id"]
    assert careful["resume"]["target"]["reasoning_mode"] == "strict"


@pytest.mark.parametrize("view", ["full", "smart", "explore", "audit", "focus_only"])
@pytest.mark.parametrize("chars", [200, 2_000, 40_000])
def test_the_resumption_keeps_to_its_own_budget_and_always_names_the_task(
    lh: Lh, view: str, chars: int
) -> None:
    made = lh(
        "tasks.macro.start",
        task_title="T" * 200,
        description="why " * 500,
        view=view,
        resume_max_chars=chars,
        budget_profile="audit",
    )
    resume = made["resume"]
    used = len(
        json.dumps(
            {k: v for k, v in resume.items() if k != "budget"},
            separators=(",", ":"),
            ensure_ascii=False,
        )
    )
    assert resume["budget"]["used_chars"] == used <= resume["budget"]["max_chars"]
    assert resume["truncated"] is (chars < 40_000)
    assert resume["capsule"]["target"]["id"] == made["task_id"]


def test_in_lines_it_is_the_state_and_the_next_command(lh: Lh) -> None:
    state, command = lh.lines("tasks.macro.start", task_title="Find the slow query")
    assert state.startswith("focus TASK-001 | plan=PLAN-001 | ref=TASK-001 | next gate s:0 ")
    assert command == "tasks cmd=tasks.radar task=TASK-001"
    _, task, plan, *commands = lh.lines("tasks.macro.start", task_title="Another", refs=True)
    assert task == "REFERENCE: TASK TASK-002 | Another"
    assert plan == "REFERENCE: PLAN PLAN-001 | Inbox"
    assert "open id=TASK-002" in commands


def test_the_same_key_starts_once(lh: Lh) -> None:
    once = lh("tasks.macro.start", task_title="T", idempotency_key="k1")
    assert lh("tasks.macro.start", task_title="T", idempotency_key="k1") == once
    assert lh("tasks.context")["counts"]["tasks"] == 1


def test_an_unknown_id_leads_to_the_work_in_focus_or_to_new_work(lh: Lh) -> None:
    def offered() -> list[str]:
        envelope = lh.envelope("tasks.radar", task="TASK-987")
        assert envelope["error"]["code"] == "UNKNOWN_ID"
        lh.run_actions(envelope)
        return [a["action_id"] for a in envelope["actions"]]

    lh("system.init")
    assert "recover.portal.snapshot" not in offered()
    lh("tasks.macro.start", task_title="First")
    assert {"recover.portal.snapshot", "recover.portal.macro.start"} <= set(offered())


def test_without_a_focus_what_is_ready_comes_first_and_new_work_last(lh: Lh) -> None:
    new_task(lh, "a")
    actions = lh.envelope("tasks.execute.next")["actions"]
    ids = [(a["priority"], a["args"]["cmd"]) for a in actions if a["tool"] == "tasks"]
    assert ids == [("high", "tasks.focus.set"), ("low", "tasks.macro.start")]
    assert actions == lh.envelope("status")["actions"]


def test_once_the_focus_is_over_what_is_ready_comes_first(lh: Lh) -> None:
    lh("tasks.macro.create.done", task_title="Mend the typo", proof="CMD: make docs (exit 0)")
    lh("tasks.focus.set", task="TASK-001")

    def offered() -> list[tuple[str, Any]]:
        actions = lh.envelope("status")["actions"]
        assert actions == lh.envelope("tasks.execute.next")["actions"]
        return [(one["priority"], one["args"].get("cmd") or one["args"]["id"]) for one in actions]

    assert offered() == [("high", "tasks.macro.start"), ("low", "TASK-001")]
    begun = lh.envelope("status")["actions"][0]
    assert (begun["args"]["args"], begun["missing"]) == ({}, ["task_title"])
    new_task(lh, "a")
    assert offered() == [("high", "tasks.focus.set"), ("low", "TASK-001")]
    lh.run_actions(lh.envelope("status"))
    assert lh("status")["focus"] == "TASK-002"
