"""Steps: their order, paths, details and deletion."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.work.tree import Tree, inside
from longhouse.work.types.entities import Step, StepDetail
from tests.kit import Lh
from tests.work.kit import close, new_task, paths, step, titles


def a_step(number: int, parent: int | None, completed: bool) -> Step:
    return Step(
        step_id=f"STEP-{number:08X}",
        task_id="TASK-001",
        ordinal=number,
        title=str(number),
        parent_id=None if parent is None else f"STEP-{parent:08X}",
        detail=StepDetail(),
        confirmed=[],
        proof_modes={},
        completed=completed,
        blocked=False,
        created_at_ms=0,
        updated_at_ms=0,
    )


@given(st.lists(st.tuples(st.integers(0, 50), st.booleans()), max_size=40))
def test_the_first_open_step_has_nothing_open_below_or_before_it(
    shape: list[tuple[int, bool]],
) -> None:
    steps = [
        a_step(n, None if pick % (n + 1) == n else pick % (n + 1), done)
        for n, (pick, done) in enumerate(shape)
    ]
    tree = Tree(steps)
    order = list(tree.working_order())
    assert sorted(s.step_id for s in order) == sorted(s.step_id for s in steps)
    place = {s.step_id: n for n, s in enumerate(order)}
    for one in steps:
        if one.parent_id:
            assert place[one.step_id] < place[one.parent_id], "children before their parent"
        siblings = tree.children[one.parent_id]
        assert [place[s.step_id] for s in siblings] == sorted(place[s.step_id] for s in siblings)
        assert tree.at(tree.paths[one.step_id]) == one
        assert {s.step_id for s in tree.below(one.step_id)} == {
            s.step_id
            for s in steps
            if inside(tree.paths[s.step_id], tree.paths[one.step_id]) and s != one
        }
    first = tree.first_open()
    assert (first is None) == all(s.completed for s in steps)
    if first:
        assert all(s.completed for s in order[: place[first.step_id]])


def test_a_prefix_of_a_path_ends_with_a_segment() -> None:
    assert inside("s:0.s:1", "s:0")
    assert inside("s:0", "s:0")
    assert not inside("s:01", "s:0")
    assert not inside("s:0", "s:0.s:1")


def test_work_goes_children_first_and_earlier_siblings_first(lh: Lh) -> None:
    task = new_task(lh, step("a", step("a1"), step("a2")), "b")
    closed = [close(lh, task)["path"] for _ in range(4)]
    assert closed == ["s:0.s:0", "s:0.s:1", "s:0", "s:1"]


def test_steps_are_added_below_a_step_and_at_the_end_also_after_one_was_removed(lh: Lh) -> None:
    task = new_task(lh, "a", "b", "c")
    lh("tasks.delete", task=task, path="s:1")
    assert titles(lh, task) == {"s:0": "a", "s:1": "c"}
    added = lh("tasks.plan.decompose", task=task, steps=[step("d")])
    assert added["steps"][0]["path"] == "s:2"
    below = lh("tasks.plan.decompose", task=task, parent="s:1", steps=[step("c1")])
    assert below["steps"][0]["path"] == "s:1.s:0"
    assert (below["revision"], below["event"]["path"]) == (4, "s:1")


def test_a_step_removed_takes_what_is_below_it_along(lh: Lh) -> None:
    task = new_task(lh, step("a", step("a1", step("a11"))), "b")
    close(lh, task)
    gone = lh("tasks.delete", task=task, path="s:0")
    assert (gone["kind"], gone["task"]) == ("step", task)
    target = lh("tasks.radar", task=task)["target"]
    assert (target["steps_total"], target["steps_open"]) == (1, 1)
    assert titles(lh, task) == {"s:0": "b"}


def test_a_step_is_named_by_path_or_id_not_both(lh: Lh) -> None:
    task = new_task(lh, "a")
    error = lh.refused("tasks.note", task=task, path="s:0", step_id="STEP-00000001", note="x")
    assert error["hints"][0]["kind"] == "choose_one"
    assert lh.refused("tasks.note", task=task, path="s:7", note="x")["code"] == "UNKNOWN_ID"
    assert lh.refused("tasks.note", task=task, path="s:00", note="x")["code"] == "UNKNOWN_ID"
    other = new_task(lh, "b")
    error = lh.refused("tasks.note", task=task, step_id="STEP-00000002", note="x")
    assert (error["code"], other in error["message"]) == ("UNKNOWN_ID", False)
    close(lh, task)
    assert "has no open step" in lh.refused("tasks.note", task=task, note="x")["message"]


def test_define_replaces_and_normalises(lh: Lh) -> None:
    task = new_task(lh, "a")
    moved = lh("tasks.define", task=task, title="A", blockers=[" key ", "key", "  "], tests=["t"])
    assert moved["step"]["title"] == "A"
    detail = moved["step"]["detail"]
    assert detail == {"success_criteria": ["a is done"], "tests": ["t"], "blockers": ["key"]}
    said = moved["event"]["payload"]
    assert said["fields"] == ["blockers", "tests", "title"]
    assert said["before"]["title"] == "a"
    assert lh("tasks.radar", task=task)["radar"]["blockers"] == ["key"]
    assert lh.refused("tasks.define", task=task)["code"] == "INVALID_INPUT"


def test_block_and_unblock(lh: Lh) -> None:
    task = new_task(lh, "a")
    assert lh("tasks.block", task=task, reason="No access")["event"]["type"] == "step_blocked"
    assert lh("tasks.radar", task=task)["radar"]["blockers"] == ["No access"]
    freed = lh("tasks.block", task=task, blocked=False, reason="They came back")
    assert freed["event"]["payload"] == {"reason": "They came back"}
    assert lh("tasks.radar", task=task)["radar"]["blockers"] == []


def op(kind: str, field: str, value: Any = None) -> dict[str, Any]:
    return {"op": kind, "field": field, **({} if value is None else {"value": value})}


def test_a_patch_changes_fields_one_by_one(lh: Lh) -> None:
    task = new_task(lh, "a")
    moved = lh(
        "tasks.patch",
        task=task,
        ops=[
            op("append", "tests", "make test"),
            op("append", "tests", "make test"),
            op("set", "next_action", "Run it"),
            op("set", "proof_tests_mode", "require"),
            op("unset", "success_criteria"),
            op("set", "title", "A"),
        ],
    )
    assert moved["step"]["detail"] == {"tests": ["make test"], "next_action": "Run it"}
    assert moved["step"]["proof_modes"] == {"tests": "require"}
    assert moved["step"]["title"] == "A"
    moved = lh(
        "tasks.patch",
        task=task,
        ops=[op("remove", "tests", "make test"), op("unset", "proof_tests_mode")],
    )
    assert (moved["step"]["detail"], moved["step"]["proof_modes"]) == (
        {"next_action": "Run it"},
        {},
    )


@pytest.mark.parametrize(
    "wrong",
    [
        op("set", "nothing", "x"),
        op("unset", "title"),
        op("append", "title", "x"),
        op("remove", "tests", "not there"),
        op("set", "title", 7),
        op("set", "tests", "no list"),
        op("set", "proof_docs_mode", "always"),
        op("append", "tests", ""),
    ],
)
def test_a_wrong_patch_changes_nothing(lh: Lh, wrong: dict[str, Any]) -> None:
    task = new_task(lh, "a")
    error = lh.refused("tasks.patch", task=task, ops=[op("set", "next_action", "x"), wrong])
    assert error["code"] == "INVALID_INPUT"
    assert error["message"].startswith("ops[1]")
    assert lh("tasks.radar", task=task)["target"]["revision"] == 1


def test_the_details_of_a_task_and_plan_are_patched_the_same_way(lh: Lh) -> None:
    task = new_task(lh, "a")
    other = new_task(lh, "b")
    lh(
        "tasks.patch",
        task=task,
        kind="task_detail",
        ops=[
            op("append", "tags", "A:Core"),
            op("set", "domain", "search"),
            op("append", "depends_on", other),
            op("set", "priority", "HIGH"),
        ],
    )
    target = lh("tasks.radar", task=task)["target"]
    assert target["tags"] == ["a:core"]
    assert (target["domain"], target["waits_for"], target["priority"]) == ("search", 1, "HIGH")
    lh(
        "tasks.patch",
        task=task,
        kind="task_detail",
        ops=[op("remove", "depends_on", other), op("unset", "domain")],
    )
    target = lh("tasks.radar", task=task)["target"]
    assert "domain" not in target
    assert "waits_for" not in target
    lh("tasks.patch", plan="PLAN-001", kind="task_detail", ops=[op("set", "contract", "Be fast")])
    assert lh("tasks.radar", plan="PLAN-001")["target"]["contract"] == "Be fast"
    error = lh.refused(
        "tasks.patch", task=task, kind="task_detail", path="s:0", ops=[op("set", "title", "x")]
    )
    assert "kind=task_detail does not take a step" in error["message"]


def test_an_edit_says_what_it_changed_and_an_empty_text_clears(lh: Lh) -> None:
    task = new_task(lh, "a", assignee="amber-otter", description="why")
    moved = lh("tasks.edit", task=task, assignee="", description="", tags=[" B ", "a", "b"])
    changed: dict[str, Any] = {"fields": ["assignee", "description", "tags"], "assignee": None}
    changed["before"] = {"assignee": "amber-otter", "description": "why", "tags": []}
    assert moved["event"]["payload"] == changed
    assert moved["task"]["tags"] == ["a", "b"]
    assert moved["task"].keys() & {"assignee", "description"} == set()
    assert lh.refused("tasks.edit", task=task)["code"] == "INVALID_INPUT"
    wrong = lh.refused("tasks.edit", task=task, contract="x")
    assert "a task does not have this field" in wrong["message"]
    plan = lh.refused("tasks.edit", plan="PLAN-001", assignee="me")
    assert "a plan does not have this field" in plan["message"]


def test_a_revision_that_is_not_the_one_seen_is_refused_with_what_is(lh: Lh) -> None:
    task = new_task(lh, "a")
    lh("tasks.note", task=task, note="x", expected_revision=1)
    error = lh.refused("tasks.note", task=task, note="y", expected_revision=1)
    assert error["code"] == "REVISION_MISMATCH"
    assert f"{task} expected=1 actual=2" in error["message"]
    assert paths(lh, task) == ["s:0"]


def test_a_plan_keeps_a_checklist_and_a_contract(lh: Lh) -> None:
    lh("tasks.plan.create", title="P")
    lh("tasks.plan", plan="PLAN-001", steps=["one", "two"])
    assert lh("tasks.plan", plan="PLAN-001", advance=True)["plan"]["current"] == 1
    assert lh("tasks.radar", plan="PLAN-001")["radar"]["next"] == ["two"]
    lh("tasks.plan", plan="PLAN-001", advance=True)
    assert lh("tasks.radar", plan="PLAN-001")["radar"]["next"] == ["Finish plan"]
    error = lh.refused("tasks.plan", plan="PLAN-001", advance=True)
    assert "past the end of 2 items" in error["message"]
    assert lh("tasks.plan", plan="PLAN-001", steps=["one"])["plan"]["current"] == 1
    lh("tasks.contract", plan="PLAN-001", current="Be fast", contract_data={"p95": 50})
    assert lh("tasks.radar", plan="PLAN-001")["radar"]["why"] == "Be fast"
    cleared = lh("tasks.contract", plan="PLAN-001", clear=True)["plan"]
    assert cleared.keys() & {"contract", "contract_data"} == set()
    assert lh.refused("tasks.contract", plan="PLAN-001")["code"] == "INVALID_INPUT"
    assert lh.refused("tasks.plan", plan="PLAN-001")["code"] == "INVALID_INPUT"
