"""`after`: a job starts only when its dependencies are done."""

from __future__ import annotations

import pytest

from tests.jobs.kit import attention, claimed, ended, events, kinds, new_job, running, seq_now
from tests.kit import Lh


def test_a_job_waits_for_all_that_it_comes_after(lh: Lh) -> None:
    first, second = new_job(lh, "a"), new_job(lh, "b")
    third = new_job(lh, "c", after=[second, first, first], priority="high")
    assert lh("jobs.open", job=third)["after"] == [first, second]
    assert lh.refused("jobs.claim", job=third, runner_id="r1")["code"] == "CONFLICT"
    for waits in (1, 0):
        fence = claimed(lh)
        lh("jobs.complete", **fence, status="DONE")
        assert lh("jobs.open", job=third)["job"].get("waits_for", 0) == waits
    assert kinds(lh, third) == ["created", "ready"]
    assert claimed(lh)["job"] == third


def test_a_job_after_what_is_done_already_can_start(lh: Lh) -> None:
    job = new_job(lh, after=[ended(lh)])
    assert claimed(lh)["job"] == job


@pytest.mark.parametrize("end", ["FAILED", "CANCELED"])
def test_a_failed_dependency_blocks_and_asks_for_attention(lh: Lh, end: str) -> None:
    fence = running(lh)
    job = new_job(lh, after=[fence["job"]])
    if end == "FAILED":
        lh("jobs.complete", **fence, status="FAILED")
    else:
        lh("jobs.cancel", job=fence["job"])
    assert attention(lh, job)["marker"] == "!"
    last = events(lh, job)[-1]
    assert last["kind"] == "blocked"
    assert fence["job"] in last["message"]
    assert lh("jobs.claim", runner_id="r1")["job"] is None
    lh("jobs.requeue", job=fence["job"])
    assert "marker" not in attention(lh, job)
    lh("jobs.complete", **claimed(lh), status="DONE")
    assert claimed(lh)["job"] == job


def test_a_job_after_one_that_failed_already_is_blocked_from_the_start(lh: Lh) -> None:
    job = new_job(lh, after=[ended(lh, "FAILED")])
    assert kinds(lh, job) == ["created", "blocked"]
    assert attention(lh, job)["has_error"]


def test_one_dependency_that_runs_again_does_not_hide_another_that_failed(lh: Lh) -> None:
    bad, worse = ended(lh, "FAILED"), ended(lh, "FAILED")
    job = new_job(lh, after=[bad, worse])
    lh("jobs.requeue", job=bad)
    assert attention(lh, job)["has_error"]
    lh("jobs.requeue", job=worse)
    assert not attention(lh, job)["has_error"]


def test_a_dependency_done_twice_does_not_count_twice(lh: Lh) -> None:
    first, second = new_job(lh), new_job(lh)
    third = new_job(lh, after=[first, second])
    for _ in range(2):
        lh("jobs.complete", **claimed(lh, first), status="DONE")
        lh("jobs.requeue", job=first)
    lh("jobs.complete", **claimed(lh, first), status="DONE")
    assert lh("jobs.open", job=third)["job"]["waits_for"] == 1
    lh("jobs.complete", **claimed(lh, second), status="DONE")
    assert claimed(lh)["job"] == third


def test_a_retry_does_not_block_what_comes_after(lh: Lh) -> None:
    fence = running(lh, max_attempts=2, retry_backoff_ms=0)
    job = new_job(lh, after=[fence["job"]])
    lh("jobs.complete", **fence, status="FAILED")
    assert "marker" not in attention(lh, job)


@pytest.mark.parametrize("after, code", [("JOB-002", "INVALID_INPUT"), ("JOB-003", "UNKNOWN_ID")])
def test_a_job_comes_only_after_jobs_that_exist_so_there_is_no_cycle(
    lh: Lh, after: str, code: str
) -> None:
    new_job(lh)
    before = seq_now(lh)
    assert lh.refused("jobs.create", title="x", prompt="y", after=[after])["code"] == code
    assert seq_now(lh) == before
    assert new_job(lh) == "JOB-002"


def test_a_canceled_job_that_was_waiting_waits_again_when_requeued(lh: Lh) -> None:
    first = new_job(lh)
    second = new_job(lh, after=[first])
    lh("jobs.cancel", job=second)
    lh("jobs.complete", **claimed(lh), status="DONE")
    lh("jobs.requeue", job=second)
    assert claimed(lh)["job"] == second
