"""jobs.list, jobs.open, jobs.tail and `open`: bounded pages that lose nothing."""

from __future__ import annotations

from typing import Any

import pytest

from tests.jobs.kit import claimed, ended, new_job, running
from tests.kit import Lh


def test_a_list_is_newest_first_and_the_queue_oldest_first(lh: Lh) -> None:
    for title in "abc":
        new_job(lh, title)
    assert [job["title"] for job in lh("jobs.list")["jobs"]] == ["c", "b", "a"]
    assert [job["title"] for job in lh("jobs.list", status="QUEUED")["jobs"]] == ["a", "b", "c"]


@pytest.mark.proves("DEL-042")
@pytest.mark.parametrize("status", [None, "QUEUED", "DONE"])
def test_a_list_pages_through_every_job_once(lh: Lh, status: str | None) -> None:
    for _ in range(7):
        ended(lh) if status == "DONE" else new_job(lh)
    seen: list[str] = []
    page = lh("jobs.list", limit=3, **({"status": status} if status else {}))
    while True:
        seen += [job["id"] for job in page["jobs"]]
        if not page["has_more"]:
            break
        more = {"status": status} if status else {}
        page = lh("jobs.list", limit=3, cursor=page["next_cursor"], **more)
    assert sorted(seen) == [f"JOB-{n:03d}" for n in range(1, 8)]


@pytest.mark.proves("DEL-042")
def test_a_list_that_was_not_told_how_long_to_be_is_a_page(lh: Lh) -> None:
    for _ in range(26):
        new_job(lh)
    for cmd in ("jobs.list", "jobs.radar"):
        page = lh(cmd)
        assert (len(page["jobs"]), page["count"], page["has_more"]) == (25, 25, True), cmd
    rest = lh("jobs.list", cursor=lh("jobs.list")["next_cursor"])
    assert ([job["id"] for job in rest["jobs"]], rest["has_more"]) == (["JOB-001"], False)


def test_a_list_is_narrowed_by_status_task_and_anchor(lh: Lh) -> None:
    new_job(lh, "a", task="TASK-001", anchor="a:core")
    new_job(lh, "b", task="TASK-001", anchor="a:web")
    new_job(lh, "c", anchor="a:core")
    claimed(lh, "JOB-001")

    def titles(**filters: str) -> str:
        return "".join(job["title"] for job in lh("jobs.list", **filters)["jobs"])

    assert titles(task="TASK-001") == "ba"
    assert titles(anchor="a:core") == "ca"
    assert titles(task="TASK-001", anchor="a:core") == "a"
    assert titles(task="TASK-001", status="QUEUED") == "b"
    assert titles(anchor="a:core", status="RUNNING") == "a"
    assert titles(task="TASK-009") == ""


def test_a_list_under_a_tight_budget_still_pages_without_loss(lh: Lh) -> None:
    for n in range(20):
        new_job(lh, f"job {n} " + "x" * 100)
    seen: list[str] = []
    page = lh("jobs.list", max_chars=1_500)
    assert page["truncated"]
    while True:
        seen += [job["id"] for job in page["jobs"]]
        if not page["has_more"]:
            break
        page = lh("jobs.list", max_chars=1_500, cursor=page["next_cursor"])
    assert len(seen) == len(set(seen)) == 20


@pytest.mark.proves("DEL-037")
def test_what_is_seen_does_not_depend_on_who_asks(lh: Lh) -> None:
    links = {"task": "TASK-001", "anchor": "a:core"}
    job = running(lh, "r1", **links)["job"]
    new_job(lh, agent_id="alice", **links)
    filters: list[dict[str, Any]] = [{}, *({name: link} for name, link in links.items())]
    lists = [(cmd, args) for cmd in ("jobs.list", "jobs.radar") for args in filters]
    for cmd, args in (*lists, ("jobs.open", {"job": job})):
        views = [
            lh(cmd, **args),
            lh(cmd, agent_id="alice", **args),
            lh(cmd, agent_id="bob", **args),
        ]
        assert views[0] == views[1] == views[2]
        assert cmd == "jobs.open" or views[0]["count"] == 2
    assert lh("jobs.list")["count"] == 2


@pytest.mark.proves("DEL-039", "DEL-017", "DEL-042")
def test_open_shows_the_newest_events_first_and_pages_back(lh: Lh) -> None:
    fence = running(lh)
    for n in range(30):
        lh("jobs.report", **fence, message=f"step {n}")
    view = lh("jobs.open", job=fence["job"])
    assert [event["message"] for event in view["events"]] == [
        f"step {n}" for n in range(29, 19, -1)
    ]
    assert view["has_more_events"]
    seen = [event["seq"] for event in view["events"]]
    while view["has_more_events"]:
        view = lh("jobs.open", job=fence["job"], before_seq=view["events"][-1]["seq"])
        seen += [event["seq"] for event in view["events"]]
    assert seen == sorted(seen, reverse=True)
    assert len(seen) == 32


@pytest.mark.proves("DEL-041")
@pytest.mark.parametrize("budget", [{}, {"max_chars": 900}, {"limit": 1}])
def test_a_tail_goes_on_from_where_it_was(lh: Lh, budget: dict[str, int]) -> None:
    fence = running(lh)
    seen: list[int] = []
    at = 0
    for burst in (12, 0, 1, 7):
        for n in range(burst):
            lh("jobs.report", **fence, message=f"{n} " + "x" * 120)
        new_job(lh, "another job writes to the same log")
        more = True
        while more:
            page = lh("jobs.tail", job=fence["job"], after_seq=at, **budget)
            seen += [event["seq"] for event in page["events"]]
            at, more = page["next_cursor"], page["has_more"]
    assert seen == sorted(set(seen))
    assert len(seen) == 22


@pytest.mark.proves("DEL-042", "DEL-017")
def test_a_tail_from_the_start_is_a_page_and_not_the_whole_log(lh: Lh) -> None:
    fence = running(lh)
    for n in range(80):
        lh("jobs.report", **fence, message=f"step {n}")
    page = lh("jobs.tail", job=fence["job"])
    assert page["count"] == 50
    assert page["has_more"]


@pytest.mark.proves("MEM-053", "MEM-054")
def test_a_job_opens_with_a_bounded_tail_and_its_prompt_on_request(lh: Lh) -> None:
    fence = running(lh, prompt="the spec", task="TASK-001", anchor="a:core")
    for n in range(60):
        lh("jobs.report", **fence, message=f"step {n}")
    found = lh("open", id=fence["job"])
    fields = {"kind", "id", "job", "events", "has_more_events", "truncated"}
    assert fields <= found.keys()
    assert (found["kind"], found["id"]) == ("job", fence["job"])
    assert len(found["events"]) == 20
    assert found["has_more_events"]
    assert "prompt" not in found
    job = {
        "id": fence["job"],
        "revision": fence["claim_revision"],
        "status": "RUNNING",
        "title": "Look",
        "kind": "codex_cli",
        "priority": "MEDIUM",
        "task_id": "TASK-001",
        "anchor_id": "a:core",
        "runner": fence["runner_id"],
        "created_at_ms": lh.clock.now_ms(),
        "updated_at_ms": lh.clock.now_ms(),
    }
    assert job.items() <= found["job"].items()
    assert lh("open", id=fence["job"], include_drafts=True)["prompt"] == "the spec"
    assert "prompt" not in lh("jobs.open", job=fence["job"], include_meta=True)
    lh("jobs.complete", **fence, status="DONE", summary="over")
    ended = lh("open", id=fence["job"])["job"]
    assert (ended["summary"], ended["completed_at_ms"]) == ("over", lh.clock.now_ms())


@pytest.mark.proves("MEM-055")
def test_an_event_opens_with_what_came_before_and_after(lh: Lh) -> None:
    fence = running(lh)
    refs = [lh("jobs.report", **fence, message=f"step {n}")["event"]["ref"] for n in range(10)]
    found = lh("open", id=refs[5])
    assert (found["kind"], found["ref"]) == ("job_event", refs[5])
    assert found["job"]["id"] == fence["job"]
    assert found["event"]["message"] == "step 5"
    assert [event["ref"] for event in found["context"]["events"]] == [*refs[2:5], *refs[6:9]]
    assert found["context"]["has_more_events"]
    assert found["truncated"] is False


def test_an_event_of_another_subject_is_not_an_event_of_the_job(lh: Lh) -> None:
    new_job(lh)
    ref = lh("vcs.notes.commit", content="x")["ref"]
    seq = ref.partition("@")[2]
    assert lh.refused("open", id=f"JOB-001@{seq}")["code"] == "UNKNOWN_ID"
    assert lh.refused("open", id="JOB-001@999")["code"] == "UNKNOWN_ID"
    assert lh.refused("open", id="JOB-404")["code"] == "UNKNOWN_ID"
    for cmd in ("jobs.open", "jobs.tail"):
        assert lh.refused(cmd, job="JOB-404")["code"] == "UNKNOWN_ID"


def test_lines_of_a_page_say_where_the_next_begins(lh: Lh) -> None:
    for _ in range(3):
        new_job(lh)
    assert lh.lines("jobs.list", limit=2)[-1] == "MORE: cursor=JOB-002"
    assert not any("MORE" in line for line in lh.lines("jobs.list", limit=3))


def test_lists_and_events_read_as_lines(lh: Lh) -> None:
    fence = running(lh, title="Look | here", task="TASK-001")
    lh("jobs.report", **fence, message="half\ndone", refs=["CMD: ls"])
    assert lh.lines("jobs.list") == [
        "jobs count=1",
        "JOB-001 (RUNNING) Look | here | task=TASK-001",
    ]
    assert lh.lines("jobs.open", job="JOB-001", max_events=1) == [
        "JOB-001 (RUNNING) Look | here | open id=JOB-001@3",
        "- JOB-001@3 progress: half done | refs: CMD: ls",
        "MORE: before_seq=3",
    ]
    assert not any("MORE" in line for line in lh.lines("jobs.open", job="JOB-001"))
    assert lh.lines("jobs.tail", job="JOB-001", limit=1) == [
        "JOB-001 (RUNNING) events count=1",
        "- JOB-001@1 created: Look | here",
        "MORE: after_seq=1",
    ]
