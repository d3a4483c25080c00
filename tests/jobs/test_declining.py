"""A decline counts until the runner restarts or changes its offer; then it is offered again."""

from __future__ import annotations

from typing import Any

from tests.jobs.kit import new_job
from tests.kit import Lh


def here(lh: Lh, **more: Any) -> None:
    offer: dict[str, Any] = {"executors": ["codex"], "meta": {"pid": 1}, "lease_ttl_ms": 60_000}
    lh("jobs.runner.heartbeat", runner_id="r1", status="idle", **{**offer, **more})


def declined(lh: Lh) -> str:
    here(lh)
    job = new_job(lh)
    claim = lh("jobs.claim", runner_id="r1")["job"]
    fence = {"job": job, "runner_id": "r1", "claim_revision": claim["revision"]}
    lh("jobs.release", **fence, reason="no such program", decline=True)
    lh.clock.advance(1_000)
    here(lh)
    assert lh("jobs.claim", runner_id="r1")["job"] is None
    return job


def taken(lh: Lh) -> str | None:
    job = lh("jobs.claim", runner_id="r1")["job"]
    return job["id"] if job else None


def test_it_ends_when_the_runner_offers_something_else(lh: Lh) -> None:
    job = declined(lh)
    here(lh, executors=["codex", "claude_code"])
    assert taken(lh) == job


def test_it_ends_when_the_runner_restarts(lh: Lh) -> None:
    job = declined(lh)
    here(lh, meta={"pid": 2})
    assert taken(lh) == job


def test_it_ends_when_the_runner_was_gone(lh: Lh) -> None:
    job = declined(lh)
    lh.clock.advance(60_000)
    here(lh)
    assert taken(lh) == job


def test_the_radar_leads_out_when_all_have_declined_it(lh: Lh) -> None:
    job = declined(lh)
    (line,) = [one for one in lh.lines("jobs.radar") if "job_declined_by_all" in one]
    assert line == f"! diag job_declined_by_all job={job} | open id={job} | requeue job={job}"
    lh("jobs.requeue", job=job)
    assert not [one for one in lh.lines("jobs.radar") if "job_declined_by_all" in one]
    assert taken(lh) == job


def test_a_job_that_rests_is_offered_at_once_when_it_is_requeued(lh: Lh) -> None:
    here(lh)
    job = new_job(lh, max_attempts=2, retry_backoff_ms=3_600_000)
    claim = lh("jobs.claim", runner_id="r1")["job"]
    fence = {"job": job, "runner_id": "r1", "claim_revision": claim["revision"]}
    lh("jobs.complete", **fence, status="FAILED", summary="no luck")
    assert taken(lh) is None
    lh("jobs.requeue", job=job)
    assert taken(lh) == job


def test_a_job_that_waits_for_nobody_in_particular_is_queued_already(lh: Lh) -> None:
    job = new_job(lh)
    assert lh.refused("jobs.requeue", job=job)["recovery"] == "it is already queued"


def test_a_runner_that_is_gone_leaves_the_radar(lh: Lh) -> None:
    here(lh)
    lh.clock.advance(61_000)
    assert lh("jobs.radar")["runner_leases_offline"]["count"] == 1
    lh.clock.advance(600_000)
    radar = lh("jobs.radar")
    assert radar["runner_leases_offline"]["count"] == 0
    assert radar["runner_status"]["offline_count"] == 0


def test_a_claim_made_by_hand_has_no_runner_that_could_be_offline(lh: Lh) -> None:
    job = new_job(lh)
    lh("jobs.claim", job=job, runner_id="by-hand")
    radar = lh("jobs.radar")
    (row,) = radar["jobs"]
    assert row["runner"] == "by-hand"
    assert "runner_state" not in row
    assert radar["runner_diagnostics"]["issues"] == []
