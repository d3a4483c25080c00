"""A job in the crew: while it runs, it has an identity and holds its files."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from tests.kit import Lh, ManualClock

DIGEST = "a" * 64
MINUTE_MS = 60_000


def a_job(lh: Lh, *paths: str, **more: Any) -> str:
    made = lh("jobs.create", title="Mend the parser", prompt="Do.", paths=list(paths), **more)
    job: str = made["job"]["id"]
    return job


def claim(lh: Lh, runner: str = "r1", **more: Any) -> dict[str, Any]:
    return lh("jobs.claim", runner_id=runner, agent_digest=DIGEST, **more)


def fence(claimed: dict[str, Any], runner: str = "r1") -> dict[str, Any]:
    job = claimed["job"]
    return {"job": job["id"], "runner_id": runner, "claim_revision": job["revision"]}


def a_person(lh: Lh, name: str = "amber-otter") -> dict[str, str]:
    token = lh("agents.register", name=name)["agent_token"]
    return {"agent": name, "agent_token": token}


def held(lh: Lh) -> dict[str, str]:
    return {one["scope"]: one["agent_id"] for one in lh("agents.status")["reservations"]}


def names(lh: Lh) -> list[str]:
    return [one["agent_id"] for one in lh("agents.list")["agents"]]


def test_a_runners_job_is_in_the_crew_and_holds_the_files_it_is_given(lh: Lh) -> None:
    job = a_job(lh, "src/parser/*", "README.md")
    assert names(lh) == []
    claim(lh)
    (agent,) = lh("agents.list")["agents"]
    assert (agent["agent_id"], agent["kind"], agent["liveness"]) == ("job-001", "job", "active")
    assert held(lh) == {"src/parser/*": "job-001", "README.md": "job-001"}
    assert lh("jobs.open", job=job)["holds"] == ["README.md", "src/parser/*"]
    assert lh("jobs.radar")["jobs"][0]["holds"] == ["README.md", "src/parser/*"]


def test_the_files_of_a_job_that_waits_are_corrected(lh: Lh) -> None:
    job = a_job(lh, "src/wrong/*")
    moved = lh("jobs.update", job=job, paths=["./src/parser/*", "src/parser/*"])
    assert moved["event"]["meta"]["before"] == {"paths": ["src/wrong/*"]}
    mine = fence(claim(lh))
    assert held(lh) == {"src/parser/*": "job-001"}
    lh("jobs.release", **mine, reason="later")
    lh("jobs.update", job=job, paths=[])
    claim(lh)
    assert held(lh) == {}
    assert lh.refused("jobs.update", job=a_job(lh), paths=["../other"])["code"]


def test_files_can_be_given_to_a_job_that_had_none(lh: Lh) -> None:
    job = a_job(lh, meta={"paths": "a note of somebody's own"})
    lh("jobs.update", job=job, priority="HIGH")
    noted = lh("jobs.open", job=job, include_meta=True)["meta"]["paths"]
    assert noted == "a note of somebody's own"
    assert lh("jobs.update", job=job, paths=["README.md"])["event"]["meta"] == {
        "before": {"paths": []}
    }
    claim(lh)
    assert held(lh) == {"README.md": "job-001"}


def test_delegated_work_holds_the_files_it_is_given(lh: Lh) -> None:
    lh("tasks.macro.delegate", task_title="Parser: mend it", paths=["src/parser/*"])
    claim(lh)
    assert held(lh) == {"src/parser/*": "job-001"}
    assert lh("jobs.open", job="JOB-001")["job"]["task_id"] == "TASK-001"


@pytest.mark.parametrize("end", ["complete", "fail", "release", "cancel"])
def test_a_job_gives_everything_back_when_it_ends(lh: Lh, end: str) -> None:
    job = a_job(lh, "src/parser/*")
    mine = fence(claim(lh))
    if end == "complete":
        lh("jobs.complete", **mine, status="DONE")
    elif end == "fail":
        lh("jobs.complete", **mine, status="FAILED")
    elif end == "release":
        lh("jobs.release", **mine, reason="shutting down")
    else:
        lh("jobs.cancel", job=job)
    assert held(lh) == {}
    assert names(lh) == []
    verified = lh("agents.status")["summary"]
    assert (verified["active"], verified["released"]) == (0, 1)


def test_what_a_job_holds_goes_over_with_its_claim(lh: Lh, clock: ManualClock) -> None:
    a_job(lh, "src/parser/*")
    claim(lh, lease_ttl_ms=10_000)
    before = lh("agents.status")["reservations"][0]["reservation_id"]
    clock.advance(11_000)
    claim(lh, "r2", allow_stale=True)
    (one,) = lh("agents.status")["reservations"]
    assert (one["reservation_id"], one["agent_id"]) == (before, "job-001")


def test_a_job_whose_runner_gives_signs_of_life_keeps_its_files(lh: Lh, clock: ManualClock) -> None:
    a_job(lh, "src/parser/*")
    mine = fence(claim(lh))
    someone = a_person(lh)
    for _ in range(24):
        clock.advance(5 * MINUTE_MS)
        lh("jobs.report", **mine, kind="heartbeat", message="alive", lease_ttl_ms=300_000)
        lh("agents.heartbeat", **someone)
    error = lh.refused("agents.reserve", **someone, scope="src/parser/a.py", bead_id="x-1")
    assert error["code"] == "RESERVATION_CONFLICT"


def test_a_person_who_wants_a_jobs_files_is_refused_and_the_job_is_told(lh: Lh) -> None:
    job = a_job(lh, "src/parser/*")
    claim(lh)
    someone = a_person(lh)
    for _ in range(2):  # asking twice notifies it once
        error = lh.refused("agents.reserve", **someone, scope="src/parser/a.py", bead_id="x-1")
        assert "held by job-001 (active)" in error["message"]
    told = [e for e in lh("jobs.tail", job=job)["events"] if e["kind"] == "incursion"]
    assert [one["message"] for one in told] == [
        "amber-otter wants src/parser/*, which this job holds"
    ]


def test_a_job_waits_for_files_that_a_person_holds_and_both_are_told(
    lh: Lh, clock: ManualClock
) -> None:
    someone = a_person(lh)
    lh("agents.reserve", **someone, scope="src/parser/a.py", bead_id="x-1", ttl_minutes=120)
    job = a_job(lh, "src/parser/*")
    assert claim(lh)["job"] is None
    view = lh("jobs.open", job=job)
    assert (view["job"]["status"], view["attention"]["marker"]) == ("QUEUED", "!")
    assert "src/parser/a.py is held by amber-otter" in view["events"][0]["message"]
    assert lh("jobs.radar")["jobs"][0]["attention"]["marker"] == "!"
    (mail,) = lh("agents.inbox", agent="amber-otter")["messages"]
    assert (mail["from_agent"], mail["subject"]) == ("job-001", "JOB-001 waits for src/parser/a.py")

    clock.advance(MINUTE_MS)
    assert claim(lh)["job"] is None  # still blocked: no one is notified twice
    assert len(lh("agents.inbox", agent="amber-otter")["messages"]) == 1
    assert [e["kind"] for e in lh("jobs.tail", job=job)["events"]] == ["created", "blocked"]

    lh("agents.release", **someone, scope="src/parser/a.py")
    clock.advance(MINUTE_MS)
    assert claim(lh)["job"]["id"] == job
    assert held(lh) == {"src/parser/*": "job-001"}
    assert "marker" not in lh("jobs.open", job=job)["attention"]


def test_a_job_that_waits_for_files_keeps_no_other_job_from_running(lh: Lh) -> None:
    someone = a_person(lh)
    lh("agents.reserve", **someone, scope="src/parser/a.py", bead_id="x-1")
    first = a_job(lh, "src/parser/*", priority="high")
    second = a_job(lh, "docs/*")
    assert claim(lh)["job"]["id"] == second
    named = lh.envelope("jobs.claim", job=first, runner_id="r2")
    assert named["result"]["job"] is None
    assert "held by amber-otter" in named["warnings"][0]["message"]


def test_two_jobs_with_the_same_files_run_one_after_the_other(lh: Lh, clock: ManualClock) -> None:
    first, second = a_job(lh, "src/a.py"), a_job(lh, "src/*")
    mine = claim(lh)
    assert mine["job"]["id"] == first
    assert claim(lh, "r2")["job"] is None
    told = [e["kind"] for e in lh("jobs.tail", job=first)["events"]]
    assert told == ["created", "claimed", "incursion"]
    lh("jobs.complete", **fence(mine), status="DONE")
    clock.advance(MINUTE_MS)
    assert claim(lh, "r2")["job"]["id"] == second


def test_files_of_a_silent_agent_are_taken_over_by_a_job(lh: Lh, clock: ManualClock) -> None:
    someone = a_person(lh)
    lh("agents.reserve", **someone, scope="src/a.py", bead_id="x-1", ttl_minutes=120)
    clock.advance(40 * MINUTE_MS)
    job = a_job(lh, "src/*")
    assert claim(lh)["job"]["id"] == job
    assert held(lh) == {"src/*": "job-001"}


def test_the_agent_of_a_job_is_not_in_its_own_way(lh: Lh) -> None:
    a_job(lh, "src/parser/*")
    claim(lh)
    agent = Caller(Role.AGENT, owner=DIGEST)
    other = Caller(Role.AGENT, owner="b" * 64)
    wanted = {"scope": "src/parser/a.py", "bead_id": "x-1"}
    for caller, name, taken in ((agent, "misty-heron", True), (other, "amber-otter", False)):
        made = lh.house.call("agents.register", {"name": name}, caller).envelope["result"]
        who = {"agent": name, "agent_token": made["agent_token"]}
        assert lh.house.call("agents.reserve", {**who, **wanted}, caller).success is taken


def test_nobody_takes_the_name_or_the_identity_of_a_job(lh: Lh) -> None:
    assert lh.refused("agents.register", name="job-001")["code"] == "INVALID_AGENT_ID"
    a_job(lh, "src/parser/*")
    claim(lh)
    error = lh.refused("agents.adopt", agent="job-001", interactive=True, confirm=True)
    assert error["code"] == "ADOPTION_REJECTED"


def test_a_path_outside_of_the_project_is_refused_when_the_job_is_made(lh: Lh) -> None:
    refused = {"title": "x", "prompt": "y"}
    assert lh.refused("jobs.create", **refused, paths=["../other"])["code"]
    assert lh.refused("jobs.create", **refused, paths=["src/*.py"])["code"]
    assert lh("jobs.list")["jobs"] == []
