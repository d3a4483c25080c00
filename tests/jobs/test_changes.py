"""`jobs.apply`: a job with pending changes finishes when they are applied or dropped."""

from __future__ import annotations

import pytest

from tests.jobs.kit import attention, events, new_job, running
from tests.kit import Lh


@pytest.fixture
def waiting(lh: Lh) -> str:
    """A job that is done, but whose changes do not apply."""
    fence = running(lh)
    done = {"status": "DONE", "summary": "Ported.", "changes": "src/lexer.py has changed"}
    lh("jobs.complete", **fence, **done)
    return str(fence["job"])


def test_waiting_changes_need_a_person_and_the_radar_shows_both_ways_out(
    lh: Lh, waiting: str
) -> None:
    assert attention(lh, waiting)["has_error"]
    assert lh("jobs.claim", runner_id="r2")["job"] is None
    (row,) = lh("jobs.radar")["jobs"]
    assert row["changes"] == {
        "why": "src/lexer.py has changed",
        "apply": f"longhouse job apply {waiting}",
        "drop": f"longhouse job apply {waiting} --drop",
    }


@pytest.mark.parametrize(
    "outcome, status, kind", [("applied", "DONE", "completed"), ("dropped", "FAILED", "failed")]
)
def test_the_outcome_of_the_changes_ends_the_job(
    lh: Lh, waiting: str, outcome: str, status: str, kind: str
) -> None:
    moved = lh("jobs.apply", job=waiting, outcome=outcome, reason="looked at it")
    assert (moved["job"]["status"], moved["event"]["kind"]) == (status, kind)
    assert moved["job"]["completed_at_ms"] == lh.clock.now_ms()
    stored = lh("jobs.open", job=waiting)
    assert stored["job"] == moved["job"]
    assert "changes" not in stored["job"]
    assert stored["job"]["summary"].startswith("Ported.")
    assert (stored["job"]["summary"] == "Ported.") is (outcome == "applied")
    assert events(lh, waiting)[-1]["message"] == "looked at it"
    assert lh.refused("jobs.apply", job=waiting)["code"] == "CONFLICT"
    assert lh("jobs.list", status=status)["count"] == 1


@pytest.mark.parametrize("outcome, freed", [("applied", True), ("dropped", False)])
def test_a_job_that_comes_after_it_starts_only_once_its_changes_were_taken(
    lh: Lh, waiting: str, outcome: str, freed: bool
) -> None:
    later = new_job(lh, after=[waiting])
    assert lh("jobs.claim", runner_id="r2")["job"] is None
    lh("jobs.apply", job=waiting, outcome=outcome)
    found = lh("jobs.claim", runner_id="r2")["job"]
    assert (found and found["id"]) == (later if freed else None)
