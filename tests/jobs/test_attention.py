"""Attention: from unresolved records, however long ago they were made."""

from __future__ import annotations

import pytest

from longhouse.jobs.fold import differences
from longhouse.store.tx import Call
from tests.jobs.kit import attention, claimed, ended, new_job, note, running
from tests.kit import CountedIds, Lh, ManualClock


@pytest.mark.proves("DEL-051", "DEL-113", "DEL-111")
def test_a_question_needs_the_manager_until_the_manager_answers(lh: Lh) -> None:
    fence = running(lh)
    assert not attention(lh, fence["job"])["needs_manager"]
    lh("jobs.report", **fence, message="which one?", kind="question")
    lh("jobs.report", **fence, message="the rest meanwhile", kind="progress")
    assert attention(lh, fence["job"])["marker"] == "?"
    lh("jobs.message", job=fence["job"], message="the first")
    assert not attention(lh, fence["job"])["needs_manager"]
    lh("jobs.report", **fence, message="and now?", kind="question")
    assert attention(lh, fence["job"])["needs_manager"]
    lh("jobs.release", **fence, reason="shutting down")
    claimed(lh, fence["job"], "r2")
    assert attention(lh, fence["job"])["marker"] == "?", "nobody has answered it yet"


@pytest.mark.proves("DEL-113")
def test_a_question_asked_a_thousand_events_ago_still_shows(lh: Lh) -> None:
    fence = running(lh)
    lh("jobs.report", **fence, message="which one?", kind="question")
    for turn in range(1_000):
        kind = ("progress", "checkpoint")[turn % 2]
        lh("jobs.report", **fence, message="still waiting", kind=kind)
    assert lh("jobs.radar")["jobs"][0]["attention"]["marker"] == "?"


@pytest.mark.proves("DEL-113")
def test_a_question_survives_release_and_ends_with_the_job(lh: Lh) -> None:
    fence = running(lh)
    lh("jobs.report", **fence, message="which one?", kind="question")
    lh("jobs.release", **fence, reason="drain")
    assert attention(lh, fence["job"])["needs_manager"]
    lh("jobs.complete", **claimed(lh, fence["job"]), status="DONE")
    assert not attention(lh, fence["job"])["needs_manager"]


@pytest.mark.proves("DEL-050")
def test_an_error_stays_until_the_next_claim_whatever_the_runner_says_of_its_slices(
    lh: Lh, clock: ManualClock
) -> None:
    fence = running(lh)
    lh("jobs.report", **fence, message="exit 1", kind="error")
    lh("jobs.report", **fence, message="slice 2 started", kind="checkpoint")
    assert attention(lh, fence["job"])["marker"] == "!"
    clock.advance(180_000)
    claimed(lh, fence["job"], "r2", allow_stale=True)
    assert "marker" not in attention(lh, fence["job"])


@pytest.mark.proves("DEL-050")
@pytest.mark.parametrize("kind, flag", [("error", "has_error"), ("proof_gate", "needs_proof")])
def test_an_error_or_a_missing_proof_alone_is_marked(lh: Lh, kind: str, flag: str) -> None:
    fence = running(lh)
    assert "marker" not in attention(lh, fence["job"])
    lh("jobs.report", **fence, message="look", kind=kind)
    seen = attention(lh, fence["job"])
    assert (seen["marker"], seen["has_error"], seen["needs_proof"]) == (
        "!",
        flag == "has_error",
        flag == "needs_proof",
    )


@pytest.mark.proves("DEL-050")
def test_a_failed_job_has_an_error_and_a_done_one_has_not(lh: Lh) -> None:
    assert attention(lh, ended(lh, "FAILED"))["marker"] == "!"
    fence = running(lh)
    lh("jobs.report", **fence, message="exit 1", kind="error")
    lh("jobs.complete", **fence, status="DONE")
    assert not attention(lh, fence["job"])["has_error"]


@pytest.mark.proves("DEL-049")
@pytest.mark.parametrize(
    "reports, lapsed, marker",
    [
        (["question", "error", "proof_gate"], True, "?"),
        (["error", "proof_gate"], True, "!"),
        (["proof_gate"], True, "!"),
        ([], True, "~"),
        ([], False, None),
    ],
)
def test_one_marker_shows_the_question_before_the_error_before_the_lapsed_claim(
    lh: Lh, clock: ManualClock, reports: list[str], lapsed: bool, marker: str | None
) -> None:
    fence = running(lh)
    for kind in reports:
        lh("jobs.report", **fence, message="m", kind=kind)
    clock.advance(180_000 if lapsed else 0)
    assert lh("jobs.radar")["jobs"][0]["attention"].get("marker") == marker


def test_a_row_is_what_its_events_say(lh: Lh, clock: ManualClock) -> None:
    first = running(lh, max_attempts=2, retry_backoff_ms=0)
    new_job(lh, after=[first["job"]])
    for kind in ("question", "proof_gate", "error", "progress", "heartbeat"):
        lh("jobs.report", **first, message="m", kind=kind)
    lh("jobs.message", job=first["job"], message="see", refs=[note(lh)])
    for _ in range(2):
        lh("jobs.complete", **claimed_or(lh, first), status="FAILED")
    lh("jobs.requeue", job=first["job"])
    call = Call(now_ms=clock.now_ms(), ids=CountedIds())
    assert lh.house.db.read("acme", differences, call) == []


def claimed_or(lh: Lh, fence: dict) -> dict:
    """The fence while it holds, else a new claim."""
    status = lh("jobs.open", job=fence["job"])["job"]["status"]
    return fence if status == "RUNNING" else claimed(lh, fence["job"])


def test_a_question_can_be_asked_by_its_own_name_and_is_fenced_like_a_report(lh: Lh) -> None:
    fence = running(lh)
    asked = lh.envelope("jobs.question", **fence, message="which one?")
    assert asked["result"]["event"]["kind"] == "question"
    assert attention(lh, fence["job"])["needs_manager"]
    (wait,) = asked["actions"]
    assert wait["args"]["args"]["after_seq"] == asked["result"]["event"]["seq"]
    stale = {**fence, "claim_revision": fence["claim_revision"] + 1}
    assert lh.refused("jobs.question", **stale, message="and now?")["code"] == "CONFLICT"
