"""What `status` says about jobs, and what `verify` checks about them."""

from __future__ import annotations

from longhouse.store.queries import Query
from longhouse.store.tx import Call
from tests.jobs.kit import new_job, running
from tests.kit import CountedIds, Lh


def test_status_counts_jobs_and_names_what_to_do_first(lh: Lh) -> None:
    new_job(lh)
    answer = lh.envelope("status", view="full")
    waiting = {
        "code": "no_runner",
        "why": "no runner is online",
        "fix": "longhouse runner start",
    }
    assert answer["result"]["jobs"] == {"queued": 1, "running": 0, "waiting": waiting}
    assert answer["result"]["runner"]["status"] == "offline"
    assert answer["actions"][0]["action_id"] == "next::runner.start"
    lh.run_actions(answer)
    fence = running(lh)
    lh("jobs.runner.heartbeat", runner_id="r1", status="live", active_job_id=fence["job"])
    assert "jobs(q=1,r=1);runner=live" in lh("status", view="full")["state_fingerprint"]
    calm = {one["action_id"]: one for one in lh.envelope("status", view="full")["actions"]}[
        "next::jobs.radar"
    ]
    lh("jobs.report", **fence, message="which?", kind="question")
    asks = lh.envelope("status", view="full")["actions"][0]
    assert (calm["priority"], asks["priority"]) == ("low", "high")
    assert ("asks" in calm["why"], "asks" in asks["why"]) == (False, True)


def test_verify_finds_a_row_that_is_not_what_its_events_say(lh: Lh) -> None:
    new_job(lh)
    running(lh)
    (check,) = [check for check in lh.house.registry.checks if check.room == "jobs"]
    call = Call(now_ms=0, ids=CountedIds())
    read = lh.house.db.read
    assert list(read("acme", check.complaints, call)) == []
    text = "UPDATE jobs SET status = 'DONE', revision = 9 WHERE ws = :ws AND n = 1"
    lh.house.db.write("acme", lambda tx: tx.run(Query("spoil", text, text)), call)
    assert list(read("acme", check.complaints, call)) == ["JOB-001: status, revision"]
