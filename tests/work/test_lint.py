"""Lint: every code, and that every patch fixes its issue when run as given."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from tests.kit import Lh, completed
from tests.work.kit import close, new_task, step


def codes(lh: Lh, **target: Any) -> list[str]:
    return [issue["code"] for issue in lh("tasks.lint", **target)["issues"]]


def run(lh: Lh, one: dict[str, Any]) -> None:
    """Run a patch as given; what only the task's people know is added first."""
    apply = {**one["apply"], "missing": one.get("missing", [])}
    op = apply["args"]["args"].get("ops", [{}])[0]
    value: Any = "a:core" if op.get("field") == "tags" else "said by us"
    many = op.get("field") in ("success_criteria", "tests")
    done = completed(apply, {"value": [value] if many else value, "steps": [step("a")]})
    assert done is not None
    if one["id"].endswith("seed_checklist"):
        done["args"]["args"]["steps"] = ["Agree", "Do it"]
    answer = lh.house.dispatcher.portal(done["tool"], done["args"], Caller(Role.OPERATOR))
    assert answer.success, (one, answer.envelope["error"])


def patch(lh: Lh, code: str, **target: Any) -> None:
    """Run the patches of an issue as given; the issue must be gone."""
    linted = lh("tasks.lint", patches_limit=50, **target)
    issues = [issue for issue in linted["issues"] if issue["code"] == code]
    assert issues, code
    found = [p for p in linted["patches"] if any(f":{i['target']}:" in p["id"] for i in issues)]
    wanted = [p for p in found if p["purpose"] in {i["recovery"] for i in issues}]
    assert wanted, f"{code} has no patch"
    for one in wanted:
        run(lh, one)
    assert code not in codes(lh, **target), f"{code} is still there"


def test_a_task_without_steps(lh: Lh) -> None:
    task = new_task(lh)
    assert codes(lh, task=task) == ["NO_STEPS", "MISSING_ANCHOR"]
    patch(lh, "NO_STEPS", task=task)
    patch(lh, "MISSING_ANCHOR", task=task)
    assert lh("tasks.radar", task=task)["target"]["tags"] == ["a:core"]


def test_the_area_is_guessed_from_the_title(lh: Lh) -> None:
    task = new_task(lh, title="Search Index: faster")
    patch(lh, "MISSING_ANCHOR", task=task)
    assert lh("tasks.radar", task=task)["target"]["tags"] == ["a:search-index"]


@pytest.mark.parametrize(
    "code",
    [
        "MISSING_CRITERIA",
        "MISSING_TESTS",
        "MISSING_NEXT_ACTION",
        "MISSING_PROOF_PLAN",
        "RESEARCH_MISSING_STOP_CRITERIA",
        "MISSING_ANCHOR",
    ],
)
def test_what_a_step_does_not_say_is_patched_in(lh: Lh, code: str) -> None:
    task = new_task(lh, {"title": "a", "success_criteria": []}, step("b"), title="Research it")
    assert code in codes(lh, task=task)
    lh("tasks.step.lease.claim", task=task, agent_id="otter")
    lh("tasks.step.lease.release", task=task, agent_id="otter")
    linted = lh("tasks.lint", task=task, patches_limit=50)
    for _ in range(len(linted["patches"])):
        if code not in codes(lh, task=task):
            break
        patch_all(lh, code, task)
    assert code not in codes(lh, task=task)


def patch_all(lh: Lh, code: str, task: str) -> None:
    linted = lh("tasks.lint", task=task, patches_limit=50)
    targets = {i["target"]: i["recovery"] for i in linted["issues"] if i["code"] == code}
    for one in linted["patches"]:
        target = one["id"].split(":")[2]
        if targets.get(target) == one["purpose"]:
            run(lh, one)


@pytest.mark.parametrize("kind", ["security", "perf", "docs"])
def test_a_checkpoint_that_matters_and_proof_that_lacks(lh: Lh, kind: str) -> None:
    task = new_task(lh, step("a", proof={kind: "require"}))
    found = codes(lh, task=task)
    assert {f"MISSING_{kind.upper()}", f"MISSING_PROOF_{kind.upper()}"} <= set(found)
    patch_all(lh, f"MISSING_{kind.upper()}", task)
    assert f"MISSING_{kind.upper()}" not in codes(lh, task=task)
    lh("tasks.evidence.capture", task=task, checks=["https://ci.example"], checkpoint=kind)
    assert f"MISSING_PROOF_{kind.upper()}" not in codes(lh, task=task)


def test_required_proof_of_tests_that_lacks(lh: Lh) -> None:
    task = new_task(lh, step("a", proof={"tests": "require"}))
    found = codes(lh, task=task)
    assert "MISSING_PROOF_TESTS" in found
    assert "MISSING_PROOF_PLAN" not in found


def test_an_active_task_with_nothing_open_is_finished_by_its_patch(lh: Lh) -> None:
    task = new_task(lh, "a")
    lh("tasks.complete", task=task, status="ACTIVE")
    close(lh, task)
    patch(lh, "ACTIVE_NO_OPEN_STEPS", task=task)
    assert lh("tasks.radar", task=task)["target"]["status"] == "DONE"
    assert codes(lh, task=task) == []


def test_a_blocked_step_is_freed_by_its_patch(lh: Lh) -> None:
    task = new_task(lh, "a")
    lh("tasks.block", task=task, reason="No access")
    patch(lh, "BLOCKED_STEPS", task=task)


def test_a_plan_without_a_checklist_and_with_too_much_going_on(lh: Lh) -> None:
    tasks = [new_task(lh, title=str(n)) for n in range(5)]
    for task in tasks:
        lh("tasks.complete", task=task, status="ACTIVE")
    lh("tasks.edit", task=tasks[0], priority="LOW")
    found = codes(lh, plan="PLAN-001")
    assert found.count("ACTIVE_TASKS_MISSING_ANCHOR") == 5
    assert {"NO_CHECKLIST", "ACTIVE_LIMIT_EXCEEDED"} <= set(found)
    patch(lh, "NO_CHECKLIST", plan="PLAN-001")
    (park,) = [p for p in lh("tasks.lint", plan="PLAN-001")["patches"] if p["id"].endswith("park")]
    assert park["apply"]["args"]["args"]["task"] == tasks[0], "the least important one"
    while "ACTIVE_LIMIT_EXCEEDED" in codes(lh, plan="PLAN-001"):
        (park,) = [
            p for p in lh("tasks.lint", plan="PLAN-001")["patches"] if p["id"].endswith("park")
        ]
        caller = Caller(Role.OPERATOR)
        assert lh.house.dispatcher.portal("tasks", park["apply"]["args"], caller).success
    for one in lh("tasks.lint", plan="PLAN-001", patches_limit=50)["patches"]:
        run(lh, one)
    assert codes(lh, plan="PLAN-001") == []


def test_an_index_past_the_end_is_an_error_and_is_clamped(lh: Lh) -> None:
    from longhouse.store.queries import Query
    from longhouse.store.tx import Call
    from tests.kit import CountedIds

    lh("tasks.plan.create", title="P")
    lh("tasks.plan", plan="PLAN-001", steps=["one"])
    text = "UPDATE plans SET checklist_at = 7 WHERE ws = :ws"
    broken = Query("tests.broken", text, text)
    call = Call(now_ms=1, ids=CountedIds())
    lh.house.db.write("acme", lambda tx: tx.run(broken), call)
    linted = lh("tasks.lint", plan="PLAN-001")
    assert linted["summary"] == {"error": 1, "warning": 0}
    patch(lh, "CHECKLIST_INDEX_OUT_OF_RANGE", plan="PLAN-001")


def test_the_most_useful_patches_come_first_where_not_all_fit(lh: Lh) -> None:
    task = new_task(lh, {"title": "a", "success_criteria": []})

    def names(limit: int) -> set[str]:
        found = lh("tasks.lint", task=task, patches_limit=limit)["patches"]
        assert [p["id"] for p in found] == sorted(p["id"] for p in found)
        return {p["id"].rpartition(":")[2] for p in found}

    assert names(1) == {"set_next_action"}
    assert names(2) == {"set_next_action", "require_proof_tests"}
    assert names(3) == {"set_next_action", "require_proof_tests", "missing_anchor"}
    assert names(0) == set()


def test_context_health_says_whether_anyone_could_take_over(lh: Lh) -> None:
    task = new_task(lh, "a")
    assert lh("tasks.lint", task=task)["context_health"] == {
        "status": "warn",
        "codes": ["TRACE_ONLY"],
    }
    lh("tasks.note", task=task, note="why")
    assert lh("tasks.lint", task=task)["context_health"] == {"status": "ok"}
