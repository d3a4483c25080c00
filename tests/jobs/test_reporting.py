"""jobs.report and jobs.complete: only the holder of the claim, only once, nothing half-written."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from longhouse.dispatch import Caller
from longhouse.jobs.fold import differences
from longhouse.kernel.registry import Role
from longhouse.store.queries import Query
from longhouse.store.tx import Call
from tests.jobs.kit import attention, claimed, ended, events, kinds, new_job, note, running, seq_now
from tests.kit import Lh, ManualClock

HOUR = 3_600_000


@pytest.mark.proves("DEL-103", "DEL-107")
@pytest.mark.parametrize("kind", ["checkpoint", "progress", "question", "proof_gate", "error"])
def test_a_report_is_an_event_with_its_refs(lh: Lh, kind: str) -> None:
    fence, ref = running(lh), note(lh)
    task = lh("tasks.plan.create", title="Mend it", kind="task")["id"]
    card = lh("think.card", card={"type": "evidence", "title": "It expired"})["card_id"]
    refs = [ref, task, card]
    made = lh("jobs.report", **fence, message="so far", kind=kind, refs=refs, percent=40)
    assert made["event"]["refs"] == refs
    shown = lh("jobs.open", job=fence["job"])
    assert shown["events"][0]["kind"] == kind
    assert shown["job"]["percent"] == 40
    opened = [lh("open", id=one) for one in shown["events"][0]["refs"]]
    assert [one["kind"] for one in opened] == ["doc_entry", "task", "card"]
    assert opened[0]["entry"]["content"] == "what was done"


@pytest.mark.proves("DEL-089", "DEL-107")
@pytest.mark.parametrize(
    "cmd, args, kind",
    [
        ("jobs.complete", {"status": "DONE"}, "completed"),
        ("jobs.complete", {"status": "FAILED"}, "failed"),
        ("jobs.message", {"message": "look there"}, "manager"),
        ("jobs.question", {"message": "this one?"}, "question"),
    ],
)
def test_what_ends_a_job_or_is_said_about_it_carries_its_refs_too(
    lh: Lh, cmd: str, args: dict[str, Any], kind: str
) -> None:
    fence, refs = running(lh), [note(lh), "CMD: make test"]
    given = fence if cmd != "jobs.message" else {"job": fence["job"]}
    lh(cmd, **given, **args, refs=refs)
    newest = lh("jobs.open", job=fence["job"])["events"][0]
    assert (newest["kind"], newest["refs"]) == (kind, refs)


@pytest.mark.proves("DEL-093", "DEL-103", "DEL-104")
def test_heartbeats_renew_the_claim_and_leave_no_event(lh: Lh, clock: ManualClock) -> None:
    fence = running(lh)
    before = seq_now(lh)
    for _ in range(50):
        clock.advance(100_000)
        job = lh("jobs.report", **fence, message="alive", kind="heartbeat", lease_ttl_ms=120_000)
        assert job["job"]["claim_expires_at_ms"] == clock.now_ms() + 120_000
        assert job["job"]["last_heartbeat_ms"] == clock.now_ms()
        assert job["event"] is None
    assert kinds(lh, fence["job"]) == ["created", "claimed"]
    assert seq_now(lh) == before


@pytest.mark.proves("DEL-093")
@pytest.mark.parametrize(
    "kind", ["heartbeat", "checkpoint", "progress", "question", "proof_gate", "error"]
)
def test_a_report_of_any_kind_renews_the_claim(lh: Lh, clock: ManualClock, kind: str) -> None:
    fence = running(lh)
    claimed_until = lh("jobs.open", job=fence["job"])["job"]["claim_expires_at_ms"]
    ttl = claimed_until - clock.now_ms()
    clock.advance(7_000)
    job = lh("jobs.report", **fence, message="so far", kind=kind)["job"]
    assert job["claim_expires_at_ms"] == claimed_until + 7_000
    lh("jobs.report", **fence, message="so far", kind=kind, lease_ttl_ms=ttl + 60_000)
    job = lh("jobs.open", job=fence["job"])["job"]
    assert job["claim_expires_at_ms"] == clock.now_ms() + ttl + 60_000
    clock.advance(ttl + 90_000)
    late = lh("jobs.report", **fence, message="a long silence", kind=kind)["job"]
    assert late["claim_expires_at_ms"] == clock.now_ms() + ttl, "nobody took it meanwhile"


@pytest.mark.proves("DEL-091", "DEL-093")
def test_reports_keep_one_claim_for_a_whole_day(lh: Lh, clock: ManualClock) -> None:
    fence = claimed(lh, new_job(lh), lease_ttl_ms=300_000)
    for turn in range(24 * 15):
        clock.advance(HOUR // 15)
        if turn % 15 == 0:  # the lease of the claim itself is long over
            assert lh("jobs.claim", runner_id="r2", allow_stale=True)["job"] is None
        lh("jobs.report", **fence, message="still at it", kind="progress", lease_ttl_ms=300_000)
    assert lh("jobs.complete", **fence, status="DONE")["job"]["status"] == "DONE"


@pytest.mark.proves("DEL-097")
@pytest.mark.parametrize("missing", ["runner_id", "claim_revision"])
@pytest.mark.parametrize(
    "cmd, args", [("jobs.report", {"message": "m"}), ("jobs.complete", {"status": "DONE"})]
)
def test_a_write_without_the_token_is_refused(
    lh: Lh, cmd: str, args: dict[str, Any], missing: str
) -> None:
    fence = running(lh)
    before = seq_now(lh)
    del fence[missing]
    error = lh.refused(cmd, **fence, **args)
    assert error["code"] == "INVALID_INPUT"
    assert missing in error["message"]
    assert seq_now(lh) == before


@pytest.mark.proves("DEL-098", "DEL-099")
@pytest.mark.parametrize(
    "change", [{"runner_id": "r2"}, {"claim_revision": 2}, {"claim_revision": 0}]
)
@pytest.mark.parametrize(
    "cmd, args",
    [
        ("jobs.report", {"message": "m"}),
        ("jobs.report", {"message": "m", "kind": "heartbeat"}),
        ("jobs.complete", {"status": "DONE"}),
        ("jobs.complete", {"status": "FAILED"}),
        ("jobs.release", {"reason": "r"}),
    ],
)
def test_a_wrong_token_changes_nothing(
    lh: Lh, cmd: str, args: dict[str, Any], change: dict[str, Any]
) -> None:
    fence = running(lh)
    before = lh("jobs.open", job=fence["job"])
    error = lh.refused(cmd, **{**fence, **change}, **args)
    assert error["code"] == "CONFLICT"
    assert lh("jobs.open", job=fence["job"]) == before


WRONG: dict[str, dict[str, Any]] = {
    "another runner": {"runner_id": "r2"},
    "a later revision": {"claim_revision": 2},
    "an earlier revision": {"claim_revision": 0},
    "another caller": {},
}
ENDINGS: dict[str, tuple[dict[str, Any], dict[str, Any], str]] = {
    "done": ({}, {"status": "DONE"}, "DONE"),
    "failed for good": ({}, {"status": "FAILED"}, "FAILED"),
    "tried again": ({"max_attempts": 3}, {"status": "FAILED"}, "QUEUED"),
    "its changes wait": ({}, {"status": "DONE", "changes": "they wait"}, "QUEUED"),
}


@pytest.mark.proves("DEL-098", "DEL-099")
@pytest.mark.parametrize("wrong", WRONG)
@pytest.mark.parametrize("ending", ENDINGS)
def test_no_way_of_ending_a_job_lets_a_stranger_end_it(lh: Lh, ending: str, wrong: str) -> None:
    spec, args, after = ENDINGS[ending]
    fence = running(lh, **spec)
    before = lh("jobs.open", job=fence["job"])
    caller = Caller(Role.MANAGER, owner="b" * 64) if wrong == "another caller" else None
    refused = lh.house.call("jobs.complete", {**fence, **WRONG[wrong], **args}, caller)
    assert refused.code == "CONFLICT"
    assert lh("jobs.open", job=fence["job"]) == before
    assert lh("jobs.complete", **fence, **args)["job"]["status"] == after


@pytest.mark.proves("DEL-098", "DEL-099")
@pytest.mark.parametrize("ending", ENDINGS)
def test_a_runner_that_lost_its_claim_ends_nothing(lh: Lh, clock: ManualClock, ending: str) -> None:
    spec, args, after = ENDINGS[ending]
    old = running(lh, "r1", **spec)
    clock.advance(180_000)
    new = claimed(lh, old["job"], "r2", allow_stale=True)
    before = lh("jobs.open", job=old["job"])["job"]
    for late in (old, {**old, "runner_id": "r2"}, {**new, "runner_id": "r1"}):
        assert lh.refused("jobs.complete", **late, **args)["code"] == "CONFLICT"
    held = lh("jobs.open", job=old["job"])["job"]
    assert {**held, "last_ref": ""} == {**before, "last_ref": ""}
    assert lh("jobs.complete", **new, **args)["job"]["status"] == after


@pytest.mark.proves("DEL-098", "DEL-099")
def test_the_old_runner_can_write_nothing_after_a_reclaim(lh: Lh, clock: ManualClock) -> None:
    old = running(lh, "r1")
    clock.advance(180_000)
    new = claimed(lh, old["job"], "r2", allow_stale=True)
    before = lh("jobs.open", job=old["job"])
    assert lh.refused("jobs.report", **old, message="zombie")["code"] == "CONFLICT"
    assert lh.refused("jobs.complete", **old, status="DONE")["code"] == "CONFLICT"
    after = lh("jobs.open", job=old["job"])
    refused, *events = after.pop("events")
    assert (refused["kind"], events) == ("refused", before["events"])
    assert {**after["job"], "last_ref": ""} == {**before["job"], "last_ref": ""}
    assert lh("jobs.complete", **new, status="DONE")["job"]["runner"] == "r2"


def test_what_a_runner_writes_too_late_is_refused_and_kept_once(lh: Lh, clock: ManualClock) -> None:
    old = running(lh, "r1")
    clock.advance(180_000)
    claimed(lh, old["job"], "r2", allow_stale=True)
    for late in ("heartbeat", "progress", "question"):
        assert lh.refused("jobs.report", **old, message="x", kind=late)["code"] == "CONFLICT"
    lh.refused("jobs.release", **old, reason="x")
    stranger = {**old, "runner_id": "r9"}
    assert lh.refused("jobs.report", **stranger, message="x")["code"] == "CONFLICT"
    assert kinds(lh, old["job"]) == ["created", "claimed", "reclaimed", "refused"]
    (event, *_) = lh("jobs.open", job=old["job"])["events"]
    assert event["meta"] == {"late_claim": ["r1", 1], "wanted": "a heartbeat"}
    call = Call(now_ms=clock.now_ms(), ids=lh.house.dispatcher.ids)
    assert lh.house.db.read("acme", differences, call) == []


@pytest.mark.parametrize("kind, noun", [("progress", "progress"), ("question", "a question")])
def test_a_refused_late_write_keeps_what_it_wanted(
    lh: Lh, clock: ManualClock, kind: str, noun: str
) -> None:
    old = running(lh, "r1")
    clock.advance(180_000)
    claimed(lh, old["job"], "r2", allow_stale=True)
    lh.refused("jobs.report", **old, message="x", kind=kind)
    (event, *_) = lh("jobs.open", job=old["job"])["events"]
    assert noun in event["meta"]["wanted"]


def test_a_word_after_the_claim_was_given_up_is_no_late_write(lh: Lh) -> None:
    fence = running(lh)
    lh("jobs.release", **fence, reason="too hot")
    assert lh.refused("jobs.report", **fence, message="late")["code"] == "CONFLICT"
    assert kinds(lh, fence["job"]) == ["created", "claimed", "released"]


def test_a_late_report_under_an_unclaimed_lapsed_lease_still_counts(
    lh: Lh, clock: ManualClock
) -> None:
    fence = running(lh)
    clock.advance(10 * HOUR)
    assert attention(lh, fence["job"])["stale"]
    lh("jobs.report", **fence, message="back again")
    assert not attention(lh, fence["job"])["stale"]


def test_the_newest_event_of_a_job_tells_how_far_it_is(lh: Lh) -> None:
    fence = running(lh)
    lh("jobs.report", **fence, message="half", percent=50)
    lh("jobs.report", **fence, message="more of it")
    text = "SELECT data FROM log WHERE ws = :ws AND subject = 'JOB-001' ORDER BY seq"
    call = Call(now_ms=0, ids=lh.house.dispatcher.ids)
    rows = lh.house.db.read("acme", lambda tx: tx.all(Query("said", text, text)), call)
    told = [msgspec.json.decode(row["data"]) for row in rows]
    assert [one.get("percent") for one in told[-2:]] == [50, None]
    assert [one.get("reached") for one in told[-2:]] == [None, 50]


@pytest.mark.proves("DEL-016")
def test_a_job_ends_once(lh: Lh) -> None:
    fence = running(lh)
    lh("jobs.complete", **fence, status="DONE", summary="first")
    for status in ("DONE", "FAILED"):
        assert lh.refused("jobs.complete", **fence, status=status)["code"] == "CONFLICT"
    assert lh.refused("jobs.report", **fence, message="late")["code"] == "CONFLICT"
    assert kinds(lh, fence["job"]) == ["created", "claimed", "completed"]


@pytest.mark.proves("DEL-016")
def test_a_queued_job_cannot_be_completed_or_end_as_anything_else(lh: Lh) -> None:
    job = new_job(lh)
    fence = {"job": job, "runner_id": "r1", "claim_revision": 0}
    assert lh.refused("jobs.complete", **fence, status="DONE")["code"] == "CONFLICT"
    error = lh.refused("jobs.complete", **claimed(lh, job), status="CANCELED")
    assert error["code"] == "INVALID_INPUT"


@pytest.mark.proves("DEL-076", "DEL-018")
def test_completion_keeps_what_changed_what_was_tested_and_where_it_is(lh: Lh) -> None:
    fence = running(lh)
    task = lh("tasks.plan.create", title="Mend it", kind="task")["id"]
    card = lh("think.card", card={"type": "evidence", "title": "It expired"})["card_id"]
    stable = [note(lh), task, card]
    summary = "The index was missing.\nCMD: pytest -q tests/search"
    refs = [*stable, "CMD: pytest -q"]
    lh("jobs.complete", **fence, status="DONE", summary=summary, refs=refs)
    job = lh("jobs.open", job=fence["job"])["job"]
    assert job["summary"] == summary
    assert job["refs"] == refs
    assert [lh("open", id=ref)["kind"] for ref in stable] == ["doc_entry", "task", "card"]


@pytest.mark.parametrize("kind", ["manager", "claimed", "completed", "created", "ready"])
def test_a_report_cannot_pass_for_what_only_the_server_writes(lh: Lh, kind: str) -> None:
    fence = running(lh)
    error = lh.refused("jobs.report", **fence, message="m", kind=kind)
    assert error["code"] == "INVALID_INPUT"


@pytest.mark.parametrize("ref", ["JOB-404", "JOB-001@99", "notes@7"])
def test_a_ref_to_nothing_is_refused_and_nothing_is_written(lh: Lh, ref: str) -> None:
    fence = running(lh)
    before = seq_now(lh)
    for cmd, args in (
        ("jobs.report", {"message": "m"}),
        ("jobs.complete", {"status": "DONE"}),
    ):
        assert lh.refused(cmd, **fence, **args, refs=[ref])["code"] == "UNKNOWN_ID"
    answer = lh.refused("jobs.message", job=fence["job"], message="m", refs=[ref])
    assert answer["code"] == "UNKNOWN_ID"
    assert seq_now(lh) == before


def test_usage_adds_up_per_job_and_per_task(lh: Lh) -> None:
    for _ in range(2):
        fence = running(lh, task="TASK-001")
        used = {"input_tokens": 1_000, "output_tokens": 50, "cost_usd": 0.1}
        for kind in ("progress", "heartbeat", "checkpoint"):
            lh("jobs.report", **fence, message="m", kind=kind, usage=used)
        ended_job = lh("jobs.complete", **fence, status="DONE", usage=used)["job"]
        assert ended_job["usage"] == {
            "input_tokens": 4_000,
            "output_tokens": 200,
            "cost_usd": 0.4,
        }
    total = {"input_tokens": 8_000, "output_tokens": 400, "cost_usd": 0.8}
    assert lh("jobs.list", task="TASK-001")["usage"] == total
    assert lh("jobs.radar", task="TASK-001")["usage"] == total
    assert "usage" not in lh("jobs.list", task="TASK-002")


@pytest.mark.parametrize("usage", [{"input_tokens": -1}, {"cost_usd": -0.5}, {"tokens": 1}])
def test_usage_that_makes_no_sense_is_refused(lh: Lh, usage: dict[str, Any]) -> None:
    fence = running(lh)
    error = lh.refused("jobs.report", **fence, message="m", usage=usage)
    assert error["code"] == "INVALID_INPUT"


def test_a_failed_attempt_goes_back_to_the_queue_after_a_growing_pause(
    lh: Lh, clock: ManualClock
) -> None:
    job = new_job(lh, max_attempts=3, retry_backoff_ms=1_000)
    for pause in (1_000, 2_000):
        fence = claimed(lh, job)
        moved = lh("jobs.complete", **fence, status="FAILED", summary="no network")
        assert moved["job"]["status"] == "QUEUED"
        assert moved["event"]["kind"] == "retrying"
        assert moved["event"]["message"] == "no network"
        assert moved["job"]["not_before_ms"] == clock.now_ms() + pause
        assert attention(lh, job)["has_error"]
        assert lh("jobs.claim", runner_id="r1")["job"] is None
        assert lh.refused("jobs.complete", **fence, status="DONE")["code"] == "CONFLICT"
        clock.advance(pause)
    fence = claimed(lh, None, "r1")
    assert not attention(lh, job)["has_error"]
    assert lh("jobs.complete", **fence, status="FAILED")["job"]["status"] == "FAILED"
    assert kinds(lh, job).count("retrying") == 2


def test_a_job_without_retries_fails_at_once(lh: Lh) -> None:
    job = ended(lh, "FAILED")
    assert lh("jobs.open", job=job)["job"]["status"] == "FAILED"
    assert events(lh, job)[-1]["kind"] == "failed"


def test_runtime_notes_are_merged_and_null_takes_one_out(lh: Lh) -> None:
    fence = running(lh)
    lh("jobs.report", **fence, message="m", meta={"host": "h1", "pid": 7})
    lh("jobs.report", **fence, message="m", kind="heartbeat", meta={"pid": None, "slice": 2})
    runtime = lh("jobs.open", job=fence["job"], include_meta=True)["runtime"]
    assert runtime == {"host": "h1", "slice": 2}
    error = lh.refused("jobs.report", **fence, message="m", meta={"blob": "x" * 20_000})
    assert error["code"] == "INVALID_INPUT"


@pytest.mark.proves("MEM-136")
def test_what_happens_to_a_job_is_told_to_the_task_that_it_serves(lh: Lh) -> None:
    task = lh("tasks.plan.create", title="Mend it", kind="task")["id"]
    lh("tasks.macro.fanout.jobs", task=task, anchors=["a:core"], prompt="Look.")
    fence = claimed(lh, "JOB-001")
    lh("jobs.report", **fence, message="which branch?", kind="question")
    lh("jobs.message", job="JOB-001", message="main")
    lh("jobs.report", **fence, message="alive", kind="heartbeat")
    lh("jobs.complete", **fence, status="DONE", summary="It was the index.")
    merged = lh("tasks.macro.merge.report", task=task, jobs=["JOB-001"])
    wanted = ["job_created", "jobs_fanned_out", "job_claimed", "job_question"]
    wanted += ["job_manager", "job_completed", "jobs_merged"]
    told = [e for e in lh("tasks.delta", limit=200)["events"] if e["type"].startswith("job")]
    assert [e["type"] for e in told] == wanted
    assert {e["task"] for e in told} == {task}
    kept = {"ref": merged["ref"], "title": merged["title"], "jobs": ["JOB-001"]}
    assert kept.items() <= told[-1]["payload"].items()
    asked = told[3]["payload"]
    assert (asked["job"], asked["note"]) == ("JOB-001", "which branch?")
    assert lh("open", id=asked["ref"])["event"]["message"] == "which branch?"
    traced = lh("docs.show", target=task, doc_kind="trace", limit=200)["entries"]
    assert [e["source_event_id"] for e in traced][-len(told) :] == [e["event_id"] for e in told]
    history = lh("tasks.history", task=task)["operations"]
    assert [e["type"] for e in history][: len(told)] == wanted[::-1]
    thread = lh("agents.conversation", bead_id=task)["thread"]
    assert [row["kind"] for row in thread][-len(told) :] == wanted


@pytest.mark.parametrize(
    "status, attempts, kind, said",
    [
        ("DONE", 1, "completed", "done"),
        ("FAILED", 1, "failed", "failed"),
        ("FAILED", 2, "retrying", "failed"),
    ],
)
def test_an_end_without_a_summary_says_what_it_is(
    lh: Lh, status: str, attempts: int, kind: str, said: str
) -> None:
    fence = running(lh, max_attempts=attempts)
    event = lh("jobs.complete", **fence, status=status)["event"]
    assert (event["kind"], event["message"]) == (kind, said)
