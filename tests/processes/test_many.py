"""Several tasks in one call: claimed whole, and each report accepted or refused by itself."""

from __future__ import annotations

import json
from typing import Any

import pytest

from longhouse.processes import claiming
from tests.kit import Lh
from tests.processes.kit import Runner, ended, out, running, spawned

WIDE = {f"V{n}": "" for n in range(2_500)}
"""Short variables, which a claim spells out: more characters than any budget allows."""


def told(runner: Runner, *tasks: tuple[str, int, list[dict[str, Any]]]) -> list[dict[str, Any]]:
    listed = [{"task_id": one, "base_seq": at, "frames": frames} for one, at, frames in tasks]
    answer = runner.lh("tool.task_append_many", revision=runner.revision, tasks=listed, **runner.me)
    found: list[dict[str, Any]] = answer["tasks"]
    return found


def next_seq(lh: Lh, task: str) -> int:
    return int(lh("tool.task_status", task_id=task)["task"]["next_seq"])


def test_a_task_refused_among_others_leaves_nothing_and_stops_no_other(lh: Lh) -> None:
    runner = Runner(lh)
    first, second, third = (spawned(lh) for _ in range(3))
    runner.claim()
    logged = runner.watch()["seq"]
    illegal = second, 2, [running(), out(5, "not where its output ends")]
    told(runner, illegal)
    assert (next_seq(lh, second), runner.watch()["seq"]) == (2, logged)
    found = told(
        runner,
        (first, 2, [running(), out(0, "hi"), ended()]),
        illegal,
        (third, 2, [running()]),
        ("PROC-999", 2, [running()]),
    )
    assert [one.get("refused") is None for one in found] == [True, False, True, False]
    assert "continues at 0, not at 5" in found[1]["refused"]
    assert found[3]["refused"].startswith("UNKNOWN_ID")
    assert next_seq(lh, second) == 2
    statuses = [lh("tool.task_status", task_id=one)["task"]["status"] for one in (first, third)]
    assert statuses == ["exited", "running"]


def test_frames_told_twice_are_there_once(lh: Lh) -> None:
    runner = Runner(lh)
    first, second = spawned(lh), spawned(lh)
    runner.claim()
    what = (first, 2, [running(), out(0, "hi")]), (second, 2, [running()])
    told(runner, *what)
    again = told(runner, *what)
    assert [one["repeated"] for one in again] == [True, True]
    assert [next_seq(lh, one) for one in (first, second)] == [4, 3]


def test_a_runner_that_no_longer_speaks_reports_on_no_task(lh: Lh) -> None:
    runner, other = Runner(lh), Runner(lh, "runner-2")
    task = spawned(lh)
    runner.claim()
    other.hold()
    listed = [{"task_id": task, "base_seq": 2, "frames": [running()]}]
    args = {"revision": runner.revision, "tasks": listed, **runner.me}
    assert lh.refused("tool.task_append_many", **args)["code"] == "CONFLICT"
    assert next_seq(lh, task) == 2


def test_nobody_reports_on_another_hosts_task(lh: Lh) -> None:
    runner, other = Runner(lh), Runner(lh, "runner-2", "host-ffffffff")
    task = spawned(lh)
    runner.claim()
    other.hold()
    (found,) = told(other, (task, 2, [running()]))
    assert "does not belong to host-ffffffff" in found["refused"]
    assert next_seq(lh, task) == 2


def test_a_claimed_command_line_is_never_cut(lh: Lh) -> None:
    runner = Runner(lh)
    task = spawned(lh, args={"env": WIDE})
    runner.hold()
    claimed = lh("tool.task_claim", revision=runner.revision, max_chars=1_000, **runner.me)
    (work,) = claimed["tasks"]
    assert len(json.dumps(claimed)) > 100_000
    assert {one["name"]: one["value"] for one in work["env"]} == WIDE
    assert not claimed["truncated"]
    (held,) = runner.hold()["tasks"]
    assert (held["task_id"], len(held["env"])) == (task, len(WIDE))


def test_a_claim_takes_only_what_its_answer_holds(lh: Lh, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claiming, "_MOST_CHARS", 4_000)
    tasks = [spawned(lh, f"echo {'x' * 2_000}") for _ in range(5)]
    runner = Runner(lh)
    taken = []
    while some := runner.claim():
        assert len(some) == 1
        taken += [one["task_id"] for one in some]
    assert taken == tasks
    held: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = lh("tool.task_held", **runner.me, **after)
        held += [one["task_id"] for one in page["tasks"]]
        if not page["has_more"]:
            break
        after = {"after": held[-1]}
    assert held == tasks
