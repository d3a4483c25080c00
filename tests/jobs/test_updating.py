"""`jobs.update`: a queued job can be changed, and its history keeps the previous values."""

from __future__ import annotations

from typing import Any

import pytest

from tests.jobs.kit import new_job
from tests.kit import Lh


def test_a_queued_job_is_corrected_and_its_history_keeps_what_was_before(lh: Lh) -> None:
    job = new_job(lh, prompt="Look at the wrong page.", executor="codex")
    moved = lh(
        "jobs.update",
        job=job,
        prompt="Look at the search page.",
        priority="high",
        executor="claude_code",
        deadline_ms=9_000_000_000_000,
        max_tokens=5_000,
        max_cost_usd=1.5,
        reason="a slip",
    )
    assert moved["event"]["kind"] == "updated"
    assert moved["event"]["message"].endswith("changed: a slip")
    before = moved["event"]["meta"]["before"]
    assert before["prompt"] == "Look at the wrong page."
    assert (before["priority"], before["executor"]) == ("MEDIUM", "codex")
    view = lh("jobs.open", job=job, include_prompt=True, include_meta=True)
    assert view["prompt"] == "Look at the search page."
    assert view["meta"]["executor"] == "claude_code"
    assert view["job"]["priority"] == "HIGH"
    assert view["job"]["limits"] == {
        "deadline_ms": 9_000_000_000_000,
        "max_tokens": 5_000,
        "max_cost_usd": 1.5,
    }
    assert lh("jobs.update", job=job, max_tokens=0)["job"]["limits"].keys() == {
        "deadline_ms",
        "max_cost_usd",
    }


@pytest.mark.parametrize("given, was", [({}, "fast"), ({"executor_profile": "audit"}, "audit")])
def test_a_corrected_profile_says_which_it_was(lh: Lh, given: dict[str, str], was: str) -> None:
    moved = lh("jobs.update", job=new_job(lh, **given), executor_profile="deep")
    assert moved["event"]["meta"]["before"] == {"executor_profile": was}


def test_a_corrected_executor_decides_who_may_claim(lh: Lh) -> None:
    offer: dict[str, Any] = {"status": "idle", "executors": ["claude_code"]}
    lh("jobs.runner.heartbeat", runner_id="r1", **offer)
    job = new_job(lh, executor="codex")
    assert lh("jobs.claim", runner_id="r1")["job"] is None
    lh("jobs.update", job=job, executor="claude_code")
    assert lh("jobs.claim", runner_id="r1")["job"]["id"] == job


@pytest.mark.parametrize("ended", [False, True])
def test_what_runs_or_has_ended_is_not_corrected(lh: Lh, ended: bool) -> None:
    job = new_job(lh, prompt="Do it")
    claim = lh("jobs.claim", runner_id="r1")["job"]
    fence = {"job": job, "runner_id": "r1", "claim_revision": claim["revision"]}
    if ended:
        lh("jobs.complete", **fence, status="FAILED", summary="no")
    answer = lh.envelope("jobs.update", job=job, prompt="Something else")
    error = answer["error"]
    assert error["code"] == "CONFLICT"
    steer = "jobs.requeue" if ended else "jobs.message"
    assert steer in error["recovery"]
    assert [action["action_id"] for action in answer["actions"]] == [f"next::{steer}"]
    assert lh("jobs.open", job=job, include_prompt=True)["prompt"] == "Do it"


def test_a_correction_that_changes_nothing_is_refused(lh: Lh) -> None:
    job = new_job(lh, prompt="Do it")
    assert lh.refused("jobs.update", job=job, prompt="Do it")["code"] == "INVALID_INPUT"
    assert lh.refused("jobs.update", job=job)["code"] == "INVALID_INPUT"


def test_an_executor_that_the_policy_forbids_is_refused(lh: Lh) -> None:
    job = new_job(lh, policy={"forbid": ["codex"]})
    assert "forbids codex" in lh.refused("jobs.update", job=job, executor="codex")["message"]


def test_a_job_for_one_agent_is_not_called_after_another(lh: Lh) -> None:
    kinds = {
        executor: lh("jobs.create", title="x", prompt="y", executor=executor)["job"]["kind"]
        for executor in ("auto", "codex", "claude_code", "acme.shell")
    }
    assert kinds == {
        "auto": "codex_cli",
        "codex": "codex_cli",
        "claude_code": "claude_code",
        "acme.shell": "acme.shell",
    }
    named = lh("jobs.create", title="x", prompt="y", executor="claude_code", kind="audit")
    assert named["job"]["kind"] == "audit"
