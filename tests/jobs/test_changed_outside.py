"""Unreserved files that a job changed: in the log, in the status, and reported to holders."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import pytest

from longhouse.dispatch import Caller
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.registry import Role
from longhouse.store.engine import Row
from longhouse.store.queries import Query
from longhouse.store.tx import Tx
from tests.jobs.test_holding import DIGEST, MINUTE_MS, a_job, a_person, claim, fence
from tests.kit import Lh, ManualClock


def changed(lh: Lh, mine: dict[str, Any], *paths: str, alone: bool = True, **more: Any) -> None:
    lh("jobs.report", **mine, message="slice 1", changed={"paths": paths, "alone": alone, **more})


def outside(lh: Lh, **asked: Any) -> list[dict[str, str | None]]:
    """The files of every record, newest first, each with its holder."""
    told = lh("agents.status", **asked)["outside"]
    return [{f["path"]: f.get("holder") for f in one["files"]} for one in told]


def test_what_a_job_changed_outside_its_reservations_is_recorded_with_who_and_when(lh: Lh) -> None:
    job = a_job(lh, "src/parser/*")
    changed(lh, fence(claim(lh)), "./src/parser/lexer.py", "docs/guide.md", "./docs/./guide.md")
    (told,) = lh("agents.status")["outside"]
    assert (told["agent_id"], told["job_id"], told["bead_id"]) == ("job-001", job, "job-001")
    assert told["files"] == [{"path": "docs/guide.md"}]
    assert told["at"] == rfc3339(lh.clock.now_ms())


def test_nothing_is_recorded_where_everything_was_reserved(lh: Lh) -> None:
    a_job(lh, "src/*", "README.md")
    changed(lh, fence(claim(lh)), "src/a/b/c.py", "README.md")
    assert outside(lh) == []


def test_whose_reservation_was_crossed_is_told_and_the_holder_learns_of_it_once(lh: Lh) -> None:
    otter = a_person(lh)
    lh("agents.reserve", **otter, scope="src/parser/*", bead_id="x-1")
    a_job(lh)
    mine = fence(claim(lh))
    for _ in range(2):
        changed(lh, mine, "src/parser/lexer.py", "src/parser/tree.py", "notes.txt")
    crossed = {"src/parser/lexer.py": "amber-otter", "src/parser/tree.py": "amber-otter"}
    assert outside(lh) == [{**crossed, "notes.txt": None}] * 2
    (mail,) = lh("agents.inbox", agent="amber-otter")["messages"]
    assert mail["subject"] == "JOB-001 changed files in src/parser/*"
    met = {one["scope"]: one["to_agent"] for one in lh("agents.sessions")["incursions"]}
    assert met == crossed
    hints = {one["payload"]["resolution_hint"] for one in lh("agents.sessions")["incursions"]}
    assert hints == {"JOB-001 changed it: review its changes before you continue"}


def test_a_job_whose_files_another_changed_reads_it_in_its_thread(lh: Lh) -> None:
    first = a_job(lh, "src/*")
    claim(lh)
    a_job(lh)
    other = lh("jobs.claim", runner_id="r2", agent_digest="b" * 64)
    changed(lh, fence(other, "r2"), "src/a.py")
    told = [e["message"] for e in lh("jobs.tail", job=first)["events"] if e["kind"] == "incursion"]
    assert told == ["JOB-002 changed files in src/*, which this job holds"]


def test_in_a_work_tree_that_others_use_their_files_are_taken_for_their_work(lh: Lh) -> None:
    lh("agents.reserve", **a_person(lh), scope="src/*", bead_id="x-1")
    a_job(lh)
    changed(lh, fence(claim(lh)), "src/a.py", "notes.txt", alone=False)
    assert outside(lh) == [{"notes.txt": None}]
    assert lh("agents.inbox", agent="amber-otter")["messages"] == []


@pytest.mark.parametrize("alone", [False, True])
def test_what_somebody_gave_back_while_the_job_worked_may_be_their_work_if_both_share_the_tree(
    lh: Lh, clock: ManualClock, alone: bool
) -> None:
    otter = a_person(lh)
    lh("agents.reserve", **otter, scope="src/*", bead_id="x-1")
    a_job(lh)
    mine = fence(claim(lh))
    clock.advance(MINUTE_MS)
    lh("agents.release", **otter, scope="src/*")
    changed(lh, mine, "src/a.py", "notes.txt", alone=alone, over_ms=2 * MINUTE_MS)
    assert outside(lh) == [{"notes.txt": None} | ({"src/a.py": None} if alone else {})]


AGENT = Caller(Role.AGENT, owner=DIGEST)


def reserved_by_its_agent(lh: Lh) -> dict[str, str]:
    """Reserve files as a job's agent, under its own name."""
    made = lh.house.call("agents.register", {"name": "misty-heron"}, AGENT).envelope["result"]
    wanted = {"agent": "misty-heron", "agent_token": made["agent_token"], "scope": "src/*"}
    assert lh.house.call("agents.reserve", {**wanted, "bead_id": "x-1"}, AGENT).success
    return wanted


def test_changes_that_are_applied_to_files_that_the_jobs_own_agent_holds_are_not_told(
    lh: Lh,
) -> None:
    job = a_job(lh)
    mine = fence(claim(lh))
    reserved_by_its_agent(lh)
    lh("jobs.complete", **mine, status="DONE", changes="they wait")
    lh("jobs.apply", job=job, changed={"paths": ["src/a.py"]})
    assert outside(lh) == []


@pytest.mark.parametrize("released", [False, True])
def test_what_the_jobs_agent_reserved_while_it_worked_counts(
    lh: Lh, clock: ManualClock, released: bool
) -> None:
    a_job(lh)
    mine = fence(claim(lh))
    wanted = reserved_by_its_agent(lh)
    clock.advance(MINUTE_MS)
    if released:
        assert lh.house.call("agents.release", wanted, AGENT).success
        clock.advance(MINUTE_MS)
    changed(lh, mine, "src/a.py", over_ms=3 * MINUTE_MS)
    assert outside(lh) == []
    clock.advance(MINUTE_MS)
    changed(lh, mine, "src/a.py", over_ms=1_000)  # a later slice
    assert outside(lh) == ([{"src/a.py": None}] if released else [])


def test_a_reservation_whose_time_ran_out_covers_and_binds_nobody(
    lh: Lh, clock: ManualClock
) -> None:
    lh("agents.reserve", **a_person(lh), scope="src/*", bead_id="x-1", ttl_minutes=5)
    clock.advance(6 * MINUTE_MS)
    a_job(lh)
    changed(lh, fence(claim(lh)), "src/a.py")
    assert outside(lh) == [{"src/a.py": None}]


def test_changes_that_are_applied_to_held_files_are_told_and_others_not_again(lh: Lh) -> None:
    job = a_job(lh, "src/*")
    mine = fence(claim(lh))
    lh("jobs.complete", **mine, status="DONE", changes="they wait")
    lh("agents.reserve", **a_person(lh), scope="src/a.py", bead_id="x-1")
    lh("jobs.apply", job=job, changed={"paths": ["src/a.py", "src/b.py", "notes.txt"]})
    assert outside(lh) == [{"src/a.py": "amber-otter"}]


def test_a_holder_who_was_told_of_a_slice_is_not_told_again_when_its_changes_are_applied(
    lh: Lh,
) -> None:
    lh("agents.reserve", **a_person(lh), scope="src/*", bead_id="x-1")
    job = a_job(lh)
    mine = fence(claim(lh))
    changed(lh, mine, "src/a.py")
    lh("jobs.complete", **mine, status="DONE", changes="they wait")
    lh("jobs.apply", job=job, changed={"paths": ["src/a.py"]})
    assert outside(lh) == [{"src/a.py": "amber-otter"}]
    assert len(lh("agents.inbox", agent="amber-otter")["messages"]) == 1


def test_dropped_changes_changed_nothing(lh: Lh) -> None:
    job = a_job(lh)
    lh("jobs.complete", **fence(claim(lh)), status="DONE", changes="they wait")
    lh("agents.reserve", **a_person(lh), scope="src/a.py", bead_id="x-1")
    lh("jobs.apply", job=job, outcome="dropped", changed={"paths": ["src/a.py"]})
    assert outside(lh) == []


def test_many_files_are_named_in_part_and_the_rest_is_counted(lh: Lh) -> None:
    a_job(lh)
    mine = fence(claim(lh))
    names = [f"out/{n:03}/{n:03}.txt" for n in range(200)]
    changed(lh, mine, *names, more=41)
    (told,) = lh("agents.status")["outside"]
    assert [one["path"] for one in told["files"]] == names[:12]
    assert (told["unnamed"], told["more"]) == (188, 41)
    (line,) = lh.lines("agents.status")[-1:]
    assert line.endswith("(188 more in the log) (41 not compared)")
    refused = {"paths": [*names, "one-more"]}
    error = lh.refused("jobs.report", **mine, message="slice 2", changed=refused)
    assert "changed.paths" in error["message"]


def test_a_list_that_was_cut_is_told_even_if_all_that_it_names_was_reserved(lh: Lh) -> None:
    a_job(lh, "src/*")
    changed(lh, fence(claim(lh)), "src/a.py", more=3)
    (told,) = lh("agents.status")["outside"]
    assert (told["files"], told["unnamed"], told["more"]) == ([], 0, 3)


def test_every_holder_is_told_however_many_files_of_another_come_first(lh: Lh) -> None:
    lh("agents.reserve", **a_person(lh), scope="a/*", bead_id="x-1")
    lh("agents.reserve", **a_person(lh, "misty-heron"), scope="b.py", bead_id="x-2")
    a_job(lh)
    changed(lh, fence(claim(lh)), *(f"a/{n:02}.py" for n in range(25)), "b.py")
    for name in ("amber-otter", "misty-heron"):
        assert len(lh("agents.inbox", agent=name)["messages"]) == 1


@pytest.fixture
def rows_read(monkeypatch: pytest.MonkeyPatch) -> dict[str, list[int]]:
    """How many rows each run of a query has returned, by the name of the query."""
    found: dict[str, list[int]] = defaultdict(list)
    every = Tx.all

    def counted(tx: Tx, query: Query, **params: Any) -> list[Row]:
        rows = every(tx, query, **params)
        found[query.name].append(len(rows))
        return rows

    monkeypatch.setattr(Tx, "all", counted)
    return found


def test_files_below_hundreds_of_folders_cost_few_queries(
    lh: Lh, rows_read: dict[str, list[int]]
) -> None:
    deep = "/".join("d" * 300)
    a_job(lh, f"{deep}/0")
    changed(lh, fence(claim(lh)), f"{deep}/0", f"{deep}/1")
    assert 1 <= len(rows_read["longhouse.crew.reservations_covering"]) <= 3
    assert [list(one) for one in outside(lh)] == [[f"{deep}/1"]]


def test_no_more_rows_are_read_than_are_shown(lh: Lh, rows_read: dict[str, list[int]]) -> None:
    a_job(lh)
    mine = fence(claim(lh))
    for number in range(22):
        changed(lh, mine, f"{number}.txt")
    assert len(outside(lh)) == len(outside(lh, agent="job-001")) == 20
    assert rows_read["longhouse.crew.changes_outside_newest"] == [20, 22]


@pytest.mark.parametrize("path", ["../other/x", "/etc/passwd", "a\x1b[2Jb", " "])
def test_a_path_that_is_none_of_the_project_is_refused_and_nothing_is_written(
    lh: Lh, path: str
) -> None:
    job = a_job(lh)
    mine = fence(claim(lh))
    assert lh.refused("jobs.report", **mine, message="m", changed={"paths": ["ok", path]})["code"]
    assert outside(lh) == []
    assert [e["kind"] for e in lh("jobs.tail", job=job)["events"]] == ["created", "claimed"]


def test_it_is_shown_of_one_agent_and_one_work_item(lh: Lh) -> None:
    for number, runner in enumerate(("r1", "r2"), 1):
        lh("tasks.macro.delegate", task_title=f"Part {number}")
        changed(lh, fence(claim(lh, runner), runner), f"{number}.txt")
    assert outside(lh) == [{"2.txt": None}, {"1.txt": None}]
    assert outside(lh, agent="job-001") == [{"1.txt": None}]
    assert outside(lh, bead_id="TASK-002") == [{"2.txt": None}]
    labels = [row["label"] for row in lh("agents.conversation", bead_id="TASK-002")["thread"]]
    assert "Changed outside its reservations" in labels


def test_a_secret_in_the_name_of_a_file_is_not_shown(lh: Lh) -> None:
    a_job(lh)
    secret = "ghp_" + "a1B2" * 9
    changed(lh, fence(claim(lh)), f"out/{secret}.txt")
    assert secret not in str(lh.envelope("agents.status"))
    assert "changed outside" in "\n".join(lh.lines("agents.status"))
