"""jobs.claim and jobs.release: one holder at a time, fenced, in order."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from longhouse.house import House
from longhouse.jobs.claiming import LAPSED_MS
from tests.jobs.kit import claimed, ended, events, kinds, new_job, running, seq_now
from tests.kit import Lh, ManualClock

TTL = 60_000


@pytest.mark.proves("DEL-087", "DEL-092", "DEL-096", "DEL-100")
def test_a_claim_gives_the_token_and_the_end_of_the_lease(lh: Lh, clock: ManualClock) -> None:
    job = new_job(lh)
    found = lh("jobs.claim", job=job, runner_id="r1", lease_ttl_ms=TTL)
    assert found["job"]["status"] == "RUNNING"
    assert found["job"]["revision"] == 1
    assert found["job"]["claim_expires_at_ms"] == clock.now_ms() + TTL
    assert found["event"]["kind"] == "claimed"


@pytest.mark.parametrize("asked, given", [(1, 1_000), (10**9, 300_000)])
def test_a_lease_too_short_or_too_long_is_clamped(
    lh: Lh, clock: ManualClock, asked: int, given: int
) -> None:
    found = lh("jobs.claim", job=new_job(lh), runner_id="r1", lease_ttl_ms=asked)
    assert found["job"]["claim_expires_at_ms"] == clock.now_ms() + given


@pytest.mark.proves("DEL-090", "DEL-094", "DEL-100", "DEL-101", "DEL-102")
def test_a_lapsed_claim_can_be_taken_over_but_only_when_asked_for(
    lh: Lh, clock: ManualClock
) -> None:
    fence = running(lh, "r1")
    clock.advance(180_000)
    refused = lh.refused("jobs.claim", job=fence["job"], runner_id="r2")
    assert refused["code"] == "CONFLICT"
    assert "allow_stale" in refused["recovery"]
    found = lh("jobs.claim", job=fence["job"], runner_id="r2", allow_stale=True)
    assert found["job"]["revision"] == 2
    assert found["event"]["kind"] == "reclaimed"
    assert found["event"]["meta"] == {"previous_runner_id": "r1", "reason": "ttl_expired"}
    clock.advance(180_000)
    assert lh("jobs.claim", runner_id="r3")["job"] is None
    assert lh("jobs.claim", runner_id="r3", allow_stale=True)["job"]["id"] == fence["job"]


@pytest.mark.proves("DEL-094", "DEL-095", "DEL-052")
def test_a_claim_that_holds_for_one_more_millisecond_cannot_be_taken(
    lh: Lh, clock: ManualClock
) -> None:
    fence = running(lh, "r1")
    clock.advance(179_999)
    take = {"job": fence["job"], "runner_id": "r2", "allow_stale": True}
    assert lh.refused("jobs.claim", **take)["code"] == "CONFLICT"
    assert "marker" not in lh("jobs.radar")["jobs"][0]["attention"]
    clock.advance(1)
    assert lh("jobs.radar")["jobs"][0]["attention"]["marker"] == "~"
    assert lh("jobs.claim", **take)["job"]["runner"] == "r2"


@pytest.mark.proves("DEL-092", "DEL-096")
def test_each_reclaim_counts_the_token_up_and_starts_a_new_lease(
    lh: Lh, clock: ManualClock
) -> None:
    job = running(lh, "r0")["job"]
    for turn in range(1, 4):
        clock.advance(300_000)
        found = lh("jobs.claim", job=job, runner_id=f"r{turn}", allow_stale=True, lease_ttl_ms=TTL)[
            "job"
        ]
        assert found["revision"] == turn + 1
        assert found["claim_expires_at_ms"] == clock.now_ms() + TTL


@pytest.mark.proves("DEL-016")
@pytest.mark.parametrize("status", ["DONE", "FAILED"])
def test_an_ended_job_cannot_be_claimed(lh: Lh, status: str, clock: ManualClock) -> None:
    job = ended(lh, status)
    clock.advance(10**9)
    before = seq_now(lh)
    for stale in (False, True):
        call = {"job": job, "runner_id": "r2", "allow_stale": stale}
        assert lh.refused("jobs.claim", **call)["code"] == "CONFLICT"
    assert lh("jobs.claim", runner_id="r2", allow_stale=True)["job"] is None
    assert seq_now(lh) == before


def test_the_next_job_is_the_one_of_highest_priority_and_then_the_oldest(lh: Lh) -> None:
    for title, priority in [("a", "low"), ("b", "medium"), ("c", "high"), ("d", "medium")]:
        new_job(lh, title, priority=priority)
    order = [lh("jobs.claim", runner_id="r1")["job"]["title"] for _ in range(4)]
    assert order == ["c", "b", "d", "a"]
    empty = lh.envelope("jobs.claim", runner_id="r1")
    assert empty["result"]["job"] is None
    assert empty["actions"][0]["args"]["cmd"] == "jobs.wait"


def test_a_message_does_not_move_a_job_forward(lh: Lh) -> None:
    new_job(lh, "first")
    second = new_job(lh, "second")
    lh("jobs.message", job=second, message="hurry")
    assert lh("jobs.claim", runner_id="r1")["job"]["title"] == "first"


def test_with_allow_stale_a_lapsed_job_is_taken_in_its_turn(lh: Lh, clock: ManualClock) -> None:
    running(lh, "r1", title="lapsed", priority="low")
    clock.advance(180_000)
    new_job(lh, "fresh", priority="high")
    take = {"runner_id": "r2", "allow_stale": True}
    assert lh("jobs.claim", **take)["job"]["title"] == "fresh"
    assert lh("jobs.claim", **take)["job"]["title"] == "lapsed"
    assert lh("jobs.claim", **take)["job"] is None


def test_a_released_job_is_queued_again_with_the_reason(lh: Lh) -> None:
    fence = running(lh, "r1")
    before = seq_now(lh)
    lh("jobs.release", **fence, reason="shutting down")
    assert seq_now(lh) == before + 1
    assert kinds(lh, fence["job"]) == ["created", "claimed", "released"]
    assert events(lh, fence["job"])[-1]["message"] == "shutting down"
    assert lh("jobs.claim", runner_id="r1")["job"]["revision"] == 3
    assert lh.refused("jobs.release", **fence, reason="again")["code"] == "CONFLICT"


def test_a_runner_that_declined_a_job_is_not_offered_it_again(lh: Lh) -> None:
    fence = running(lh, "r1")
    lh("jobs.release", **fence, reason="no browser here", decline=True)
    assert lh("jobs.claim", runner_id="r1")["job"] is None
    assert lh.refused("jobs.claim", runner_id="r1", job=fence["job"])["code"] == "ROUTING_REFUSED"
    assert lh("jobs.claim", runner_id="r2")["job"]["id"] == fence["job"]


def test_a_workspace_runs_no_more_jobs_than_its_setting_allows(
    new_house: Callable[..., House], clock: ManualClock
) -> None:
    lh = Lh(new_house(jobs_max_running=2), clock)
    for _ in range(3):
        new_job(lh)
    first = claimed(lh)
    claimed(lh)
    assert lh.refused("jobs.claim", runner_id="r1")["code"] == "CONFLICT"
    assert lh.refused("jobs.claim", runner_id="r1", job="JOB-003")["code"] == "CONFLICT"
    assert lh("jobs.wait", runner_id="r1", timeout_ms=0)["timed_out"]
    clock.advance(180_000)
    retaken = claimed(lh, None, "r2", allow_stale=True)
    assert retaken["job"] == first["job"]
    lh("jobs.complete", **retaken, status="DONE")
    assert claimed(lh)["job"] == "JOB-003"


@pytest.mark.proves("DEL-067")
def test_two_houses_on_one_store_agree_on_who_holds_a_job(
    new_house: Callable[..., House], clock: ManualClock
) -> None:
    one, other = Lh(new_house(), clock), Lh(new_house(), clock)
    job = new_job(one)
    claimed(other, job, "r2")
    other("jobs.runner.heartbeat", runner_id="r2", status="live", active_job_id=job)
    assert one.refused("jobs.claim", job=job, runner_id="r1")["code"] == "CONFLICT"
    assert one("jobs.radar")["runner_status"]["status"] == "live"


def test_an_unknown_job_is_refused_with_a_way_to_find_one(lh: Lh) -> None:
    answer = lh.envelope("jobs.claim", job="JOB-404", runner_id="r1")
    assert answer["error"]["code"] == "UNKNOWN_ID"
    assert answer["actions"][0]["args"]["op"] == "list"


def upkeep(lh: Lh) -> None:
    """One round of what a leading server does."""
    lh.house.maintenance(lambda name, error: pytest.fail(f"{name}: {error!r}")).step(0)


def test_upkeep_queues_a_job_again_a_minute_after_its_claim_ran_out(lh: Lh) -> None:
    job = new_job(lh)
    claim = lh("jobs.claim", job=job, runner_id="r1", lease_ttl_ms=1_000)["job"]
    lh.clock.advance(1_000 + LAPSED_MS - 1)
    upkeep(lh)
    assert lh("jobs.open", job=job)["job"]["status"] == "RUNNING"
    lh.clock.advance(1)
    upkeep(lh)
    found = lh("jobs.open", job=job)["job"]
    assert (found["status"], found.get("runner")) == ("QUEUED", None)
    last = lh("jobs.tail", job=job)["events"][-1]
    assert (last["kind"], last["meta"]["reason"]) == ("released", "ttl_expired")
    fence = {"job": job, "runner_id": "r1", "claim_revision": claim["revision"]}
    assert lh.refused("jobs.report", **fence, message="late")["code"] == "CONFLICT"
    assert lh("jobs.claim", runner_id="r2")["job"]["id"] == job
    upkeep(lh)
    assert lh("jobs.open", job=job)["job"]["status"] == "RUNNING"


def test_a_job_that_cannot_be_claimed_says_what_it_waits_for(lh: Lh, clock: ManualClock) -> None:
    first = new_job(lh)
    behind = new_job(lh, after=[first])
    later = new_job(lh, not_before_ms=clock.now_ms() + 60_000)
    done = ended(lh)
    for job, state in (
        (behind, "waits for 1 other job"),
        (later, "may not start before 2[0-9TZ:.-]+"),
        (done, "has finished as DONE"),
    ):
        error = lh.refused("jobs.claim", job=job, runner_id="r1")
        assert error["code"] == "CONFLICT"
        assert re.fullmatch(f"job: {job} {state}", error["message"])


def test_a_lease_without_a_length_is_refused_with_the_shortest_that_is_taken(lh: Lh) -> None:
    for ttl in (0, -1):
        error = lh.refused("jobs.claim", job=new_job(lh), runner_id="r1", lease_ttl_ms=ttl)
        assert error["code"] == "INVALID_INPUT"
        assert "lease_ttl_ms: expected a whole number of at least 1" in error["message"]
