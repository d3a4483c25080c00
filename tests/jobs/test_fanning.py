"""Fan-out and merge: all or nothing, and the same text for the same jobs."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.config import Settings
from longhouse.house import House
from tests.jobs.kit import claimed, ended, new_job, note, running, seq_now
from tests.kit import Lh, ManualClock


@pytest.mark.proves("DEL-116", "DEL-117", "DEL-118", "DEL-119")
def test_a_fan_out_makes_one_job_per_anchor_in_order(lh: Lh) -> None:
    made = lh(
        "tasks.macro.fanout.jobs",
        anchors=["a:web", "a:core", "a:web"],
        prompt="Find it.",
        task="TASK-007",
        title_prefix="Hunt",
        job_kind="research",
        job_priority="high",
    )
    assert made["count"] == 2
    assert [(job["job_id"], job["anchor"]) for job in made["jobs"]] == [
        ("JOB-001", "a:core"),
        ("JOB-002", "a:web"),
    ]
    for job in made["jobs"]:
        view = lh("jobs.open", job=job["job_id"], include_prompt=True)
        assert view["prompt"] == f"Find it.\n\nAnchor: {job['anchor']}"
        assert view["job"]["anchor_id"] == job["anchor"]
        assert view["job"]["task_id"] == "TASK-007"
        assert (view["job"]["kind"], view["job"]["priority"]) == ("research", "HIGH")
        assert view["job"]["title"] == f"Hunt: {job['anchor']}"
        opened = lh("open", id=job["created_ref"])
        assert (opened["job"]["id"], opened["event"]["kind"]) == (job["job_id"], "created")


@pytest.mark.proves("DEL-114")
@pytest.mark.parametrize("missing", ["anchors", "prompt"])
def test_a_fan_out_needs_anchors_and_a_prompt(lh: Lh, missing: str) -> None:
    args: dict[str, Any] = {"anchors": ["a:core"], "prompt": "Find it."}
    assert lh("tasks.macro.fanout.jobs", **args)["count"] == 1
    del args[missing]
    assert lh.refused("tasks.macro.fanout.jobs", **args)["code"] == "INVALID_INPUT"


@pytest.mark.proves("DEL-115", "DEL-121")
def test_without_a_task_the_macros_take_the_one_in_focus(lh: Lh) -> None:
    for title in ("First", "Second"):
        lh("tasks.plan.create", kind="task", title=title)
    lh("tasks.focus.set", task="TASK-002")
    made = lh("tasks.macro.fanout.jobs", anchors=["a:core"], prompt="Find it.")
    assert made["task_id"] == "TASK-002"
    assert lh("jobs.list", task="TASK-002")["count"] == 1
    given = lh("tasks.macro.fanout.jobs", anchors=["a:core"], prompt="x", task="TASK-001")
    assert given["task_id"] == "TASK-001"
    merged = lh("tasks.macro.merge.report", jobs=["JOB-001"])
    assert merged["task_id"] == "TASK-002"


@pytest.mark.proves("DEL-115")
def test_a_plan_in_focus_is_no_task_to_link(lh: Lh) -> None:
    lh("tasks.plan.create", kind="plan", title="Search")
    lh("tasks.focus.set", plan="PLAN-001")
    assert "task_id" not in lh("tasks.macro.fanout.jobs", anchors=["a:core"], prompt="x")


@pytest.mark.proves("DEL-120")
@pytest.mark.parametrize("count", [3, 10])
def test_three_to_ten_jobs_come_from_one_call(lh: Lh, count: int) -> None:
    anchors = [f"a:part-{n:02d}" for n in range(count)]
    assert lh("tasks.macro.fanout.jobs", anchors=anchors, prompt="x")["count"] == count


@pytest.mark.parametrize(
    "args",
    [
        {"anchors": [f"a:part-{n}" for n in range(11)], "prompt": "x"},
        {"anchors": [], "prompt": "x"},
        {"anchors": ["core"], "prompt": "x"},
        {"anchors": ["a:core", "a:" + "z" * 60], "prompt": "x" * 49_970},
        {"anchors": ["a:core"], "prompt": "x", "title_prefix": ""},
    ],
)
def test_a_fan_out_that_cannot_be_whole_leaves_nothing(lh: Lh, args: dict[str, Any]) -> None:
    assert lh.refused("tasks.macro.fanout.jobs", **args)["code"] == "INVALID_INPUT"
    assert lh("jobs.list")["count"] == 0
    assert seq_now(lh) == 0


def some_work(lh: Lh) -> list[str]:
    ref = note(lh, "the finding")
    done = running(lh, title="Fix the query", anchor="a:core")
    lh(
        "jobs.complete",
        **done,
        status="DONE",
        summary="Added the index.",
        refs=[ref, "CMD: pytest -q tests/search"],
    )
    weak = ended(lh, title="Look around")
    fence = running(lh, title="Try the cache")
    lh("jobs.complete", **fence, status="FAILED", summary="failed", refs=[ref, "CMD: make cache"])
    failed = str(fence["job"])
    asks = running(lh, title="Choose")
    lh("jobs.report", **asks, message="which?", kind="question")
    return [str(done["job"]), weak, failed, str(asks["job"])]


@pytest.mark.proves("DEL-122", "DEL-123")
def test_a_report_says_what_changed_what_was_verified_where_and_what_is_open(lh: Lh) -> None:
    done, weak, failed, asks = jobs = some_work(lh)
    merged = lh("tasks.macro.merge.report", jobs=jobs, title="Search is slow")
    ref = lh("jobs.open", job=done)["job"]["refs"][0]
    assert (
        merged["report"]
        == f"""# Search is slow

## What changed
- {done} (DONE) [a:core] Fix the query: Added the index.
- {weak} (DONE) Look around: done
- {failed} (FAILED) Try the cache: failed
- {asks} (RUNNING) Choose: no summary

## What was verified
- {done}: CMD: pytest -q tests/search
- {failed}: CMD: make cache

## Refs
- {done}: {ref}
- {failed}: {ref}

## Open risks and next actions
- {weak} has no ref that shows what it did: ask for proof
- {failed} finished as FAILED: requeue it or do without it
- {asks} is not finished (RUNNING): wait and merge again
- {asks} asked a question that no one has answered
"""
    )
    assert [job["missing_proof"] for job in merged["jobs"]] == [False, True, False, True]
    assert merged["jobs"][0]["completion_refs"] == [ref, "CMD: pytest -q tests/search"]
    kept = lh("open", id=merged["ref"])["entry"]
    assert (kept["title"], kept["content"]) == ("Search is slow", merged["report"])


@pytest.mark.proves("DEL-124")
def test_the_same_jobs_give_the_same_report_whatever_their_order(
    lh: Lh, clock: ManualClock
) -> None:
    jobs = some_work(lh)
    first = lh("tasks.macro.merge.report", jobs=jobs)["report"]
    clock.advance(60_000)
    assert lh("tasks.macro.merge.report", jobs=[*reversed(jobs), jobs[0]])["report"] == first


@pytest.mark.parametrize("count, rest", [(3, ""), (4, " and 1 more"), (6, " and 3 more")])
def test_a_report_without_a_title_names_three_jobs_and_counts_the_rest(
    lh: Lh, count: int, rest: str
) -> None:
    jobs = [ended(lh) for _ in range(count)]
    title = lh("tasks.macro.merge.report", jobs=jobs)["title"]
    assert title.endswith(f"JOB-001, JOB-002, JOB-003{rest}")


@pytest.mark.proves("DEL-122")
def test_what_a_report_takes_from_each_job_is_bounded(lh: Lh) -> None:
    fence = running(lh, title="t" * 200)
    lh("jobs.complete", **fence, status="DONE", summary="s" * 8_000)
    report = lh("tasks.macro.merge.report", jobs=[fence["job"]])["report"]
    assert len(report) < 1_000


@pytest.mark.proves("DEL-125", "DEL-121")
@pytest.mark.parametrize("pin, tags", [(None, ["v:canon", "pinned"]), (False, ["v:canon"])])
def test_a_report_is_kept_pinned_unless_told_otherwise_and_survives_a_restart(
    settings: Settings, clock: ManualClock, pin: bool | None, tags: list[str]
) -> None:
    with House(settings, clock=clock) as house:
        lh = Lh(house, clock)
        more = {} if pin is None else {"pin": pin}
        merged = lh("tasks.macro.merge.report", jobs=some_work(lh), task="TASK-001", **more)
    with House(settings, clock=clock) as house:
        entry = Lh(house, clock)("open", id=merged["ref"])["entry"]
    assert entry["content"] == merged["report"]
    assert entry["meta"]["tags"] == tags
    assert entry["meta"]["pinned"] is (pin is None)
    assert entry["branch"] == "task/TASK-001"


@pytest.mark.proves("DEL-121")
def test_a_report_needs_jobs_that_exist(lh: Lh) -> None:
    assert lh.refused("tasks.macro.merge.report")["code"] == "INVALID_INPUT"
    assert lh.refused("tasks.macro.merge.report", jobs=[])["code"] == "INVALID_INPUT"
    job = new_job(lh)
    before = seq_now(lh)
    answer = lh.refused("tasks.macro.merge.report", jobs=[job, "JOB-404"])
    assert answer["code"] == "UNKNOWN_ID"
    assert seq_now(lh) == before


def test_what_a_fan_out_suggests_runs_as_it_stands(lh: Lh) -> None:
    answer = lh.envelope("tasks.macro.fanout.jobs", anchors=["a:core", "a:web"], prompt="x")
    for _ in range(2):
        lh("jobs.complete", **claimed(lh), status="DONE")
    for action in answer["actions"]:
        cmd, args = lh.house.dispatcher.call_portal(action["tool"], action["args"])
        assert lh.house.call(cmd, args).success, action
