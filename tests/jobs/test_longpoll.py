"""jobs.wait: events or work as soon as there are any, and always an answer."""

from __future__ import annotations

import threading
from typing import Any

import pytest

from tests.jobs.kit import claimed, ended, new_job, running
from tests.kit import Lh, ManualClock


def test_news_since_the_cursor_are_given_at_once(lh: Lh) -> None:
    fence = running(lh)
    lh("jobs.report", **fence, message="half")
    news = lh("jobs.wait", job=fence["job"], after_seq=1)
    assert [event["kind"] for event in news["events"]] == ["claimed", "progress"]
    assert news["jobs"][0]["status"] == "RUNNING"
    assert not news["timed_out"]
    quiet = lh("jobs.wait", job=fence["job"], after_seq=news["next_cursor"], timeout_ms=0)
    assert quiet["timed_out"]
    assert quiet["events"] == []
    assert quiet["next_cursor"] == news["next_cursor"]


def test_many_news_come_in_pages_without_loss(lh: Lh) -> None:
    fences = [running(lh) for _ in range(3)]
    for n in range(10):
        for fence in fences:
            lh("jobs.report", **fence, message=f"{n}")
    jobs = [fence["job"] for fence in fences]
    seen: list[int] = []
    at, more = 0, True
    while more:
        page = lh("jobs.wait", jobs=jobs, after_seq=at, limit=4)
        seen += [event["seq"] for event in page["events"]]
        at, more = page["next_cursor"], page["has_more"]
    assert seen == sorted(set(seen))
    assert len(seen) == 36


def test_until_end_waits_for_all_of_them(lh: Lh) -> None:
    done, open_job = ended(lh), new_job(lh)
    assert not lh("jobs.wait", job=done, until="end")["timed_out"]
    assert lh("jobs.wait", jobs=[done, open_job], until="end", timeout_ms=0)["timed_out"]


def test_a_waiter_wakes_when_the_job_ends(lh: Lh) -> None:
    fence = running(lh)
    found: list[dict[str, Any]] = []
    waiter = threading.Thread(
        target=lambda: found.append(lh("jobs.wait", job=fence["job"], until="end"))
    )
    waiter.start()
    lh("jobs.report", **fence, message="nearly")
    lh("jobs.complete", **fence, status="DONE", summary="over")
    waiter.join(10)
    assert not waiter.is_alive()
    assert found[0]["jobs"][0]["status"] == "DONE"
    assert found[0]["jobs"][0]["summary"] == "over"


def test_who_names_no_cursor_hears_of_what_happens_after_the_call(lh: Lh) -> None:
    fence = running(lh)
    found: list[dict[str, Any]] = []
    waiter = threading.Thread(target=lambda: found.append(lh("jobs.wait", job=fence["job"])))
    waiter.start()
    while waiter.is_alive():  # whenever it begins to wait, one more report follows
        lh("jobs.report", **fence, message="half")
    assert not found[0]["timed_out"]
    assert found[0]["events"][0]["message"] == "half"


def test_a_waiting_runner_wakes_when_there_is_work_that_it_may_claim(lh: Lh) -> None:
    found: list[dict[str, Any]] = []
    waiter = threading.Thread(target=lambda: found.append(lh("jobs.wait", runner_id="r1")))
    waiter.start()
    new_job(lh, "not for me", executor="codex")
    job = new_job(lh, "for me")
    waiter.join(10)
    assert not waiter.is_alive()
    assert found[0]["claimable"]["id"] == job
    assert claimed(lh, job)["job"] == job


def test_a_waiting_runner_is_told_of_lapsed_claims_only_when_it_asks(
    lh: Lh, clock: ManualClock
) -> None:
    job = running(lh, "r1")["job"]
    clock.advance(180_000)
    assert lh("jobs.wait", runner_id="r2", timeout_ms=0)["timed_out"]
    found = lh("jobs.wait", runner_id="r2", allow_stale=True)
    assert (found["claimable"]["id"], found["claimable"]["status"]) == (job, "RUNNING")


def test_a_wait_ends_when_time_alone_makes_work_claimable(lh: Lh, clock: ManualClock) -> None:
    job = new_job(lh, not_before_ms=clock.now_ms() + 1)
    assert lh("jobs.wait", runner_id="r1")["timed_out"]
    clock.advance(1)
    assert lh("jobs.wait", runner_id="r1")["claimable"]["id"] == job


@pytest.mark.parametrize(
    "args",
    [
        {},
        {"job": "JOB-001", "runner_id": "r1"},
        {"job": "JOB-001", "timeout_ms": 25_001},
        {"job": "JOB-001", "until": "never"},
    ],
)
def test_a_wait_for_nothing_or_for_too_long_is_refused(lh: Lh, args: dict[str, Any]) -> None:
    new_job(lh)
    assert lh.refused("jobs.wait", **args)["code"] == "INVALID_INPUT"


def test_a_wait_for_an_unknown_job_is_refused(lh: Lh) -> None:
    assert lh.refused("jobs.wait", job="JOB-404")["code"] == "UNKNOWN_ID"
