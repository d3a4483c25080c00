"""Files that an agent saw changed in its checkout: compared with reservations, recorded once."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.dispatch import Caller
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.registry import Role
from tests.jobs.test_changed_outside import changed as changed_by_job
from tests.jobs.test_changed_outside import outside
from tests.jobs.test_holding import MINUTE_MS, a_job, a_person, claim, fence
from tests.kit import Lh, ManualClock


def report(lh: Lh, me: dict[str, str], *paths: str, **more: Any) -> dict[str, Any]:
    return lh("agents.changed", **me, changed={"paths": paths, **more})


@pytest.fixture
def otter(lh: Lh) -> dict[str, str]:
    return a_person(lh)


@pytest.fixture
def heron(lh: Lh) -> dict[str, str]:
    return a_person(lh, "misty-heron")


def test_what_nobody_holds_is_recorded_with_who_saw_it_and_when(
    lh: Lh, otter: dict[str, str]
) -> None:
    lh("agents.reserve", **otter, scope="src/*", bead_id="x-1")
    told = report(lh, otter, "./src/a.py", "docs/guide.md", "./docs/./guide.md", more=2)
    assert (told["outside"], told["count"]) == ([{"path": "docs/guide.md"}], 1)
    (seen,) = lh("agents.status", agent="amber-otter")["outside"]
    assert seen["files"] == [{"path": "docs/guide.md"}]
    assert (seen["agent_id"], seen["ref"], seen["more"]) == ("amber-otter", told["ref"], 2)
    assert seen["at"] == rfc3339(lh.clock.now_ms())
    assert "job_id" not in seen
    line = lh.lines("agents.status")[-1]
    assert "changed outside seen_by=amber-otter docs/guide.md (2 not compared)" in line
    (row,) = lh("agents.conversation", bead_id="agent:amber-otter")["thread"]
    assert (row["label"], row["actor"]) == ("Saw a change outside any reservation", "amber-otter")
    assert lh("open", id=told["ref"])["kind"] == "moment"


def test_a_work_item_with_the_name_of_an_agent_hears_nothing_of_what_it_saw(
    lh: Lh, otter: dict[str, str], heron: dict[str, str]
) -> None:
    lh("agents.reserve", **heron, scope="src/*", bead_id="amber-otter")
    report(lh, otter, "src/a.py", "docs/guide.md", alone=True)
    thread = lh("agents.conversation", bead_id="amber-otter")["thread"]
    assert [row["kind"] for row in thread] == ["registered", "reserved"]
    assert outside(lh, bead_id="amber-otter") == []
    assert len(outside(lh, bead_id="agent:amber-otter")) == 1


def test_what_another_holds_or_gave_back_meanwhile_is_taken_for_their_work(
    lh: Lh, clock: ManualClock, otter: dict[str, str], heron: dict[str, str]
) -> None:
    for scope in ("src/*", "docs/*"):
        lh("agents.reserve", **heron, scope=scope, bead_id="x-1")
    clock.advance(MINUTE_MS)
    lh("agents.release", **heron, scope="docs/*")
    told = report(lh, otter, "src/a.py", "docs/guide.md", over_ms=MINUTE_MS)
    assert (told["outside"], told.get("ref")) == ([], None)
    assert outside(lh) == []
    clock.advance(MINUTE_MS)
    report(lh, otter, "src/a.py", "docs/guide.md", over_ms=1_000)
    assert outside(lh) == [{"docs/guide.md": None}]


@pytest.mark.parametrize("alone", [False, True])
def test_what_the_reporter_held_meanwhile_is_not_recorded(
    lh: Lh, clock: ManualClock, otter: dict[str, str], alone: bool
) -> None:
    lh("agents.reserve", **otter, scope="src/*", bead_id="x-1")
    clock.advance(MINUTE_MS)
    lh("agents.release", **otter, scope="src/*")
    clock.advance(MINUTE_MS)
    told = report(lh, otter, "src/a.py", over_ms=2 * MINUTE_MS, alone=alone)
    assert told["outside"] == []


def test_whoever_works_alone_crosses_what_another_holds_and_the_holder_is_told_once(
    lh: Lh, clock: ManualClock, otter: dict[str, str], heron: dict[str, str]
) -> None:
    lh("agents.reserve", **heron, scope="src/*", bead_id="x-1")
    for _ in range(2):
        told = report(lh, otter, "src/a.py", "notes.txt", alone=True)
        assert told["outside"] == [
            {"path": "src/a.py", "holder": "misty-heron"},
            {"path": "notes.txt"},
        ]
    assert outside(lh) == [{"src/a.py": "misty-heron", "notes.txt": None}]
    (mail,) = lh("agents.inbox", agent="misty-heron")["messages"]
    assert mail["subject"] == "amber-otter changed files in src/*"
    assert mail["body"].endswith("before you continue: ask amber-otter with agents.send")
    (met,) = lh("agents.sessions")["incursions"]
    assert (met["from_agent"], met["to_agent"], met["scope"]) == (
        "amber-otter",
        "misty-heron",
        "src/a.py",
    )


def test_a_second_agent_that_crosses_the_same_reservation_is_told_of_as_well(
    lh: Lh, otter: dict[str, str], heron: dict[str, str]
) -> None:
    lh("agents.reserve", **heron, scope="src/*", bead_id="x-1")
    for me in (otter, a_person(lh, "slate-wren")):
        assert report(lh, me, "src/a.py", alone=True)["ref"]
    mails = lh("agents.inbox", agent="misty-heron")["messages"]
    assert {one["from_agent"] for one in mails} == {"amber-otter", "slate-wren"}


def test_a_holder_is_told_once_an_hour_however_many_files_an_agent_crosses(
    lh: Lh, clock: ManualClock, otter: dict[str, str], heron: dict[str, str]
) -> None:
    for scope in ("src/*", "docs/*"):
        lh("agents.reserve", **heron, scope=scope, bead_id="x-1", ttl_minutes=1440)
    for number in range(3):
        assert report(lh, otter, f"src/{number}.py", alone=True)["ref"]
    report(lh, otter, "docs/a.md", "src/4.py", alone=True)
    mails = [one["subject"] for one in lh("agents.inbox", agent="misty-heron")["messages"]]
    assert mails == [f"amber-otter changed files in {scope}" for scope in ("docs/*", "src/*")]
    clock.advance(60 * MINUTE_MS)
    report(lh, otter, "src/5.py", alone=True)
    assert len(lh("agents.inbox", agent="misty-heron")["messages"]) == 3


def test_a_record_holds_a_bounded_length_of_paths_and_counts_the_rest(
    lh: Lh, otter: dict[str, str], heron: dict[str, str]
) -> None:
    lh("agents.reserve", **heron, scope="src/*", bead_id="x-1")
    long = [f"{number}{'x' * 1_000}" for number in range(20)]
    report(lh, otter, *long, "src/a.py", alone=True)
    (seen,) = lh("agents.status")["outside"]
    assert len(seen["files"]) + seen["unnamed"] == 21
    assert seen["files"][0] == {"path": "src/a.py", "holder": "misty-heron"}
    assert report(lh, otter, *long, alone=True)["ref"], "what had no room is recorded next time"
    second, first = (one["files"] for one in lh("agents.status")["outside"])
    assert len(first) == 10
    assert not {one["path"] for one in first} & {one["path"] for one in second}


def test_what_was_given_back_more_than_a_day_ago_is_not_compared_with(
    lh: Lh, clock: ManualClock, otter: dict[str, str], heron: dict[str, str]
) -> None:
    lh("agents.reserve", **heron, scope="src/*", bead_id="x-1")
    lh("agents.release", **heron, scope="src/*")
    clock.advance(24 * 60 * MINUTE_MS)
    assert report(lh, otter, "src/a.py", over_ms=2**53)["count"] == 1


def test_a_file_is_not_recorded_again_within_the_hour_whoever_sees_it(
    lh: Lh, clock: ManualClock, otter: dict[str, str], heron: dict[str, str]
) -> None:
    first = report(lh, otter, "a.txt")
    clock.advance(59 * MINUTE_MS)
    again = report(lh, heron, "a.txt", "b.txt")
    assert [one["path"] for one in again["outside"]] == ["a.txt", "b.txt"]
    assert outside(lh) == [{"b.txt": None}, {"a.txt": None}]
    silent = report(lh, otter, "a.txt", "b.txt")
    assert (silent["count"], silent.get("ref")) == (2, None)
    clock.advance(MINUTE_MS)
    assert report(lh, otter, "a.txt", "b.txt")["ref"] != first["ref"]
    assert outside(lh)[0] == {"a.txt": None}


def test_what_a_job_was_seen_to_change_is_not_recorded_a_second_time(
    lh: Lh, otter: dict[str, str]
) -> None:
    a_job(lh)
    changed_by_job(lh, fence(claim(lh)), "a.txt")
    assert report(lh, otter, "a.txt").get("ref") is None
    assert len(outside(lh)) == 1


def test_files_that_were_only_counted_are_recorded_once_an_hour(
    lh: Lh, clock: ManualClock, otter: dict[str, str]
) -> None:
    for number in range(3):
        report(lh, otter, more=30_000 + number)
    assert [one["more"] for one in lh("agents.status")["outside"]] == [30_000]
    clock.advance(60 * MINUTE_MS)
    report(lh, otter, more=5)
    assert [one["more"] for one in lh("agents.status")["outside"]] == [5, 30_000]


def test_a_path_is_the_same_file_in_every_checkout(lh: Lh, otter: dict[str, str]) -> None:
    lh("agents.reserve", **otter, scope="src/*", bead_id="x-1")
    paths = ["src/a.py", "/elsewhere/tree/src/b.py", "/elsewhere/tree/notes.txt"]
    told = lh("agents.changed", **otter, root="/elsewhere/tree", changed={"paths": paths})
    assert told["outside"] == [{"path": "notes.txt"}]


@pytest.mark.parametrize("path", ["../other/x", "/etc/passwd", "a\x1b[2Jb", " ", "", "x" * 1025])
def test_a_path_that_is_none_of_the_project_is_refused_and_nothing_is_written(
    lh: Lh, otter: dict[str, str], path: str
) -> None:
    before = lh("agents.show", agent="amber-otter")
    assert lh.refused("agents.changed", **otter, changed={"paths": ["ok", path]})["code"]
    assert outside(lh) == []
    assert lh("agents.show", agent="amber-otter") == before


def test_a_name_with_a_star_is_one_file(lh: Lh, otter: dict[str, str]) -> None:
    assert report(lh, otter, "src/*", "what?.py")["count"] == 2


def test_at_most_200_files_are_taken_at_once(lh: Lh, otter: dict[str, str]) -> None:
    many = [f"{number}.txt" for number in range(201)]
    assert "200" in lh.refused("agents.changed", **otter, changed={"paths": many})["message"]
    assert report(lh, otter, *many[:200], more=1)["count"] == 200


def test_a_repeated_call_is_answered_as_the_first_one_was(lh: Lh, otter: dict[str, str]) -> None:
    told = [
        lh("agents.changed", **otter, changed={"paths": ["a.txt"]}, idempotency_key="k-1")
        for _ in range(2)
    ]
    assert told[0] == told[1]
    assert told[0]["ref"]


def test_it_is_no_sign_of_life_and_renews_nothing(
    lh: Lh, clock: ManualClock, otter: dict[str, str]
) -> None:
    """Otherwise a program that reports automatically would keep a dead agent active."""
    lh("agents.reserve", **otter, scope="src/*", bead_id="x-1")
    before = lh("agents.status")["reservations"][0]["expires_at"]
    clock.advance(16 * MINUTE_MS)
    report(lh, otter, "a.txt")
    (held,) = lh("agents.status")["reservations"]
    assert (held["owner_liveness"], held["expires_at"]) == ("stale", before)


def test_only_the_identity_itself_reports_in_its_name(
    lh: Lh, otter: dict[str, str], heron: dict[str, str]
) -> None:
    changed = {"changed": {"paths": ["a.txt"]}}
    for wrong in ({"agent_token": heron["agent_token"]}, {"agent_token": None}):
        error = lh.refused("agents.changed", **{**otter, **wrong}, **changed)
        assert error["code"] == "AGENT_TOKEN_REQUIRED"
    assert lh.refused("agents.changed", agent="nobody", **changed)["code"] == "AGENT_NOT_FOUND"
    lh("agents.retire", **heron)
    assert "retired" in lh.refused("agents.changed", **heron, **changed)["message"]
    viewer = lh.house.call("agents.changed", {**otter, **changed}, Caller(Role.VIEWER))
    assert viewer.code == "FORBIDDEN"
    assert outside(lh) == []


def test_another_workspace_neither_knows_the_agent_nor_hears_of_it(
    lh: Lh, otter: dict[str, str]
) -> None:
    changed = {"changed": {"paths": ["a.txt"]}, "workspace": "other"}
    assert lh.refused("agents.changed", **otter, **changed)["code"] == "AGENT_NOT_FOUND"
    report(lh, otter, "a.txt")
    assert lh("agents.status", workspace="other")["outside"] == []
    made = lh("agents.register", name="amber-otter", workspace="other")
    mine = {"agent": "amber-otter", "agent_token": made["agent_token"]}
    assert lh("agents.changed", **mine, **changed)["ref"], "what is recent is so in one workspace"
