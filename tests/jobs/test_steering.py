"""jobs.message, jobs.cancel and jobs.requeue: what a manager may do."""

from __future__ import annotations

import pytest

from tests.jobs.kit import attention, claimed, ended, events, kinds, new_job, note, running, seq_now
from tests.kit import Lh


@pytest.mark.proves("DEL-109", "DEL-111")
def test_a_message_reaches_a_queued_and_a_running_job_as_a_manager_event(lh: Lh) -> None:
    job = new_job(lh)
    lh("jobs.message", job=job, message="start with the tests")
    fence = claimed(lh, job)
    assert fence["claim_revision"] == 1
    lh("jobs.message", job=job, message="and the docs")
    assert kinds(lh, job) == ["created", "manager", "claimed", "manager"]
    lh("jobs.report", **fence, message="the token still holds")


@pytest.mark.proves("DEL-109")
@pytest.mark.parametrize("end", ["DONE", "FAILED", "CANCELED"])
def test_a_message_to_an_ended_job_is_refused(lh: Lh, end: str) -> None:
    if end == "CANCELED":
        job = new_job(lh)
        lh("jobs.cancel", job=job)
    else:
        job = ended(lh, end)
    before = seq_now(lh)
    answer = lh.envelope("jobs.message", job=job, message="hello?")
    assert answer["error"]["code"] == "CONFLICT"
    assert seq_now(lh) == before
    action = answer["actions"][0]["args"]
    assert lh(action["cmd"], **action["args"])["job"]["status"] == "QUEUED"


@pytest.mark.proves("DEL-016")
def test_a_job_can_be_canceled_while_queued_and_while_running(lh: Lh) -> None:
    queued = new_job(lh)
    assert lh("jobs.cancel", job=queued, reason="not needed")["job"]["status"] == "CANCELED"
    fence = running(lh)
    assert lh("jobs.cancel", job=fence["job"])["job"]["status"] == "CANCELED"
    for cmd, args in (("jobs.report", {"message": "m"}), ("jobs.complete", {"status": "DONE"})):
        error = lh.refused(cmd, **fence, **args)
        assert error["code"] == "CONFLICT"
        assert "CANCELED" in error["message"]
    assert lh("jobs.claim", runner_id="r1", allow_stale=True)["job"] is None
    assert events(lh, queued)[-1]["message"] == "not needed"


@pytest.mark.parametrize("end", ["DONE", "FAILED"])
def test_an_ended_job_cannot_be_canceled(lh: Lh, end: str) -> None:
    assert lh.refused("jobs.cancel", job=ended(lh, end))["code"] == "CONFLICT"


def test_a_requeued_job_runs_again_from_the_start(lh: Lh) -> None:
    ref = note(lh)
    job = ended(lh, "FAILED")
    moved = lh("jobs.requeue", job=job, reason="the network is back", refs=[ref])
    assert moved["event"]["message"] == "the network is back"
    assert moved["event"]["refs"] == [ref]
    assert moved["job"]["status"] == "QUEUED"
    assert not {"summary", "refs", "runner", "completed_at_ms"} & moved["job"].keys()
    assert attention(lh, job)["has_error"] is False
    fence = claimed(lh, None, "r2")
    assert fence["job"] == job
    assert fence["claim_revision"] > 1


@pytest.mark.parametrize("state", ["QUEUED", "RUNNING"])
def test_only_an_ended_job_can_be_requeued(lh: Lh, state: str) -> None:
    job = new_job(lh)
    if state == "RUNNING":
        claimed(lh, job)
    before = seq_now(lh)
    assert lh.refused("jobs.requeue", job=job)["code"] == "CONFLICT"
    assert seq_now(lh) == before


def test_a_requeued_job_is_offered_again_to_a_runner_that_declined_it(lh: Lh) -> None:
    fence = running(lh, "r1")
    lh("jobs.release", **fence, reason="no browser", decline=True)
    lh("jobs.cancel", job=fence["job"])
    lh("jobs.requeue", job=fence["job"], reason="a browser was installed")
    assert lh("jobs.claim", runner_id="r1")["job"]["id"] == fence["job"]
