"""Delegation in one call: a task with verification, a cockpit note and a job, all or nothing."""

from __future__ import annotations

import json
from typing import Any

import pytest

from longhouse.desk.delegating import anchor_of
from longhouse.store.queries import Query
from tests.kit import Lh


def test_one_call_makes_task_cockpit_and_a_job_that_must_prove_itself(lh: Lh) -> None:
    made = lh(
        "tasks.macro.delegate",
        task_title="Search: find the slow query",
        description="It takes 4 s.",
        executor_profile="deep",
    )
    task = made["task_id"]
    assert len(made["steps"]) == 5
    assert made["cockpit"]["anchor_id"] == "a:search"
    job = lh("jobs.open", job=made["job"]["id"], include_prompt=True, include_meta=True)
    assert (job["job"]["task_id"], job["job"]["anchor_id"]) == (task, "a:search")
    assert job["meta"]["executor_profile"] == "deep"
    assert lh("open", id="a:search")["anchor"]["registered"]
    assert "It takes 4 s." in job["prompt"]
    assert made["cockpit"]["ref"] in job["prompt"]
    note = lh("open", id=made["cockpit"]["ref"])
    assert "Goal: It takes 4 s." in str(note)
    assert "pinned" in str(note)

    fence = lh("jobs.claim", job=made["job"]["id"], runner_id="r1")["job"]
    refused = lh.refused(
        "jobs.complete",
        job=fence["id"],
        runner_id="r1",
        status="DONE",
        claim_revision=fence["revision"],
        summary="trust me",
    )
    assert refused["code"] == "PROOF_REQUIRED"


@pytest.mark.parametrize("max_chars", [200, 2_000, 12_000])
def test_the_answer_resumes_the_task_as_its_worker_will_find_it(lh: Lh, max_chars: int) -> None:
    args = {"task_title": "Search: mend it", "resume_max_chars": max_chars}
    envelope = lh.envelope("tasks.macro.delegate", **args)
    made = envelope["result"]
    assert not [one for one in envelope["warnings"] if one["code"] == "LINK_UNKNOWN"]
    assert made["resume"]["ref"] == made["task_id"]
    assert made["next"].startswith("next gate s:0")
    facts = [one["text"] for one in made["resume"].get("facts", [])]
    assert max_chars == 200 or any("JOB-001 QUEUED Search: mend it" in one for one in facts)
    assert envelope["actions"][0]["args"]["cmd"] == "jobs.wait"
    state, *facts, command = lh.lines("tasks.macro.delegate", **args)
    note = lh("docs.show", target="TASK-002", doc_kind="notes")["entries"][-1]
    assert state == (
        "delegated TASK-002 — Search: mend it | plan=PLAN-001 | job=JOB-002(QUEUED) "
        f"| cockpit=notes@{note['seq']} | ref={lh('jobs.open', job='JOB-002')['job']['last_ref']} "
        "| next gate s:0 needs(criteria tests) (Frame)"
    )
    assert command.startswith("jobs cmd=jobs.wait job=JOB-002")


def details_of_steps(lh: Lh) -> list[dict[str, Any]]:
    """Everything stored about each step."""
    text = "SELECT detail FROM steps ORDER BY ordinal"
    with lh.house.db.engine.reader() as connection:
        connection.begin(write=False)
        rows = connection.rows(Query("tests.details", text, text), {})
        connection.rollback()
    return [json.loads(row["detail"]) for row in rows]


@pytest.mark.proves("DEL-004", "DEL-074", "DEL-075")
def test_the_task_says_what_done_means_and_demands_proof_under_strict_reasoning(lh: Lh) -> None:
    made = lh.portal(
        "tasks",
        op="call",
        cmd="tasks.macro.delegate",
        args={"task_title": "Search: find the slow query"},
    )
    task = made.envelope["result"]["task_id"]
    (shown,) = lh("tasks.context")["tasks"]
    assert (shown["id"], shown["reasoning_mode"]) == (task, "strict")
    steps = lh("tasks.radar", task=task)["steps"]
    done_means = [row["success_criteria"] for row in details_of_steps(lh)]
    assert len(done_means) == len(steps)
    assert all(said and all(line.strip() for line in said) for said in done_means)
    verifying = [step for step in steps if "tests" in step.get("proof_missing", [])]
    assert len(verifying) >= 1
    snapshot = lh.portal("tasks", op="call", cmd="tasks.snapshot", args={"task": task})
    assert snapshot.success
    own = [{"title": "Profile it", "success_criteria": ["The slow part is named"]}]
    other = lh("tasks.macro.delegate", task_title="Search: mend it", steps=own)["task_id"]
    modes = {row["id"]: row["reasoning_mode"] for row in lh("tasks.context")["tasks"]}
    assert modes == {task: "strict", other: "strict"}, "whoever wrote the steps"


def test_what_is_refused_leaves_nothing_behind(lh: Lh) -> None:
    before = lh("status")["seq"]
    error = lh.refused(
        "tasks.macro.delegate",
        task_title="Search: it",
        description="x" * 20_000,
        executor="codex",
        policy={"forbid": ["codex"]},
    )
    assert "forbids codex" in error["message"]
    assert lh("status")["seq"] == before
    assert lh("jobs.list")["count"] == 0


def test_without_a_job_it_is_a_task_with_its_cockpit(lh: Lh) -> None:
    made = lh(
        "tasks.macro.delegate",
        task_title="Think about it",
        job=False,
        steps=[{"title": "Think", "success_criteria": ["It is clear"]}],
    )
    assert "job" not in made
    assert len(made["steps"]) == 1
    assert made["cockpit"]["anchor_id"] == "a:core"


@pytest.mark.parametrize(
    "title, anchor",
    [
        ("Search: it", "a:search"),
        ("The Web UI: x", "a:the-web-ui"),
        ("no colon", "a:core"),
        (": x", "a:core"),
        ("Ärger: x", "a:rger"),
        ("x" * 100 + ": y", "a:" + "x" * 64),
    ],
)
def test_the_anchor_is_what_the_title_names(title: str, anchor: str) -> None:
    assert anchor_of(title) == anchor


@pytest.mark.parametrize("mode", ["normal", "deep", "strict"])
def test_the_task_reasons_as_it_was_delegated(lh: Lh, mode: str) -> None:
    made = lh("tasks.macro.delegate", task_title="Search: mend it", reasoning_mode=mode)
    assert lh("open", id=made["task_id"])["target"]["reasoning_mode"] == mode
