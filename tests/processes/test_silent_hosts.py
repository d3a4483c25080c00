"""Hosts that fall silent: who takes over, what their tasks hold, and how they end."""

from __future__ import annotations

import pytest

from longhouse.processes.facts import ProcessFacts
from longhouse.processes.records import SILENT_MS
from longhouse.processes.upkeep import GIVEN_UP_MS, give_up_lost_hosts
from longhouse.store.queries import Query
from tests.kit import Lh
from tests.processes.kit import HOST, Runner, ended, running, spawned


def status(lh: Lh, task_id: str) -> dict:
    return lh("tool.task_status", task_id=task_id)["task"]


def sweep(lh: Lh) -> None:
    lh.house.db.write("acme", give_up_lost_hosts, lh.house._call())


def test_a_speaker_that_is_heard_keeps_its_lease_and_a_silent_one_loses_it(lh: Lh) -> None:
    first, second = Runner(lh), Runner(lh, "runner-2")
    task = first.start()
    asked = {**second.me, "only_if_silent": True}
    lh.clock.advance(SILENT_MS)
    refused = lh.refused("tool.task_held", **asked)
    assert (refused["code"], "is not silent" in refused["message"]) == ("CONFLICT", True)
    first.claim()  # renews the lease
    lh.clock.advance(SILENT_MS)
    assert lh.refused("tool.task_held", **asked)["code"] == "CONFLICT"
    lh.clock.advance(1)
    second.revision = lh("tool.task_held", **asked)["revision"]
    assert "does not speak for" in first.refused(task, ended())["message"]
    second.append(task, ended())
    assert status(lh, task)["exit_code"] == 0


def test_a_runner_may_take_its_own_host_again_before_its_lease_ends(lh: Lh) -> None:
    runner = Runner(lh)
    runner.hold()
    again = lh("tool.task_held", **runner.me, only_if_silent=True)
    assert again["revision"] == runner.revision + 1


@pytest.mark.parametrize(
    "restored",
    ["DELETE FROM tool_hosts WHERE ws = :ws", "UPDATE tool_hosts SET revision = 2 WHERE ws = :ws"],
)
def test_the_revision_of_a_host_never_goes_back_not_even_in_a_restored_store(
    lh: Lh, restored: str
) -> None:
    """A host that outlives the store refuses every revision lower than the one it knows."""
    runner = Runner(lh)
    known = [runner.hold()["revision"] for _ in range(3)]
    query = Query("restored", restored, restored)
    lh.house.db.write("acme", lambda tx: tx.run(query), lh.house._call())
    lh.clock.advance(1_000)
    known += [runner.hold()["revision"] for _ in range(2)]
    assert known == sorted(set(known))


def test_the_tasks_of_a_silent_host_take_no_slot(lh: Lh) -> None:
    gone, here = Runner(lh), Runner(lh, "runner-2", "host-00000002")
    facts = lh.house.facts
    gone.start()
    facts.put(facts.of(ProcessFacts)._replace(max_running=1))
    waits = spawned(lh)
    assert here.claim() == []
    lh.clock.advance(SILENT_MS + 1)
    assert here.watch()["waiting"] == 1
    assert [task["task_id"] for task in here.claim()] == [waits]


@pytest.mark.parametrize("starts", [True, False])
def test_a_cancelled_task_of_a_silent_host_ends_with_the_next_sweep(
    lh: Lh, *, starts: bool
) -> None:
    runner = Runner(lh)
    task = runner.start() if starts else spawned(lh)
    other = spawned(lh)
    runner.claim()
    lh("tool.task_cancel", task_id=task, reason="enough")
    sweep(lh)
    assert status(lh, task)["ended_at_ms"] is None  # its host may still do it
    lh.clock.advance(GIVEN_UP_MS + 1)
    sweep(lh)
    found = status(lh, task)
    assert (found["status"], found["cause"]) == ("exited" if starts else "failed", "host_lost")
    assert found["cancel_reason"] == "enough"
    assert status(lh, other)["ended_at_ms"] is None  # nobody asked for its end
    assert runner.hold()["ops"] == []


def test_a_runner_that_takes_over_is_left_time_to_report_how_a_cancelled_task_ended(
    lh: Lh,
) -> None:
    """The first one was stopped; its host was not, and ends the task when the second asks."""
    first, second = Runner(lh), Runner(lh, "runner-2")
    task = first.start()
    lh("tool.task_cancel", task_id=task, reason="enough")
    lh.clock.advance(SILENT_MS + 5_000)  # a runner looks this often whether it can take over
    sweep(lh)
    assert status(lh, task)["ended_at_ms"] is None
    held = lh("tool.task_held", **second.me, only_if_silent=True)
    assert [(op["task_id"], op["kind"]) for op in held["ops"]] == [(task, "cancel")]
    lh.clock.advance(GIVEN_UP_MS - SILENT_MS)
    sweep(lh)
    assert status(lh, task)["ended_at_ms"] is None


def test_force_gives_up_a_task_of_a_silent_host_at_once(lh: Lh) -> None:
    runner = Runner(lh)
    task = runner.start()
    lh("tool.task_cancel", task_id=task, force=True)
    assert status(lh, task)["status"] == "running"  # its host is there and will end it
    lh.clock.advance(SILENT_MS + 1)
    found = lh("tool.task_cancel", task_id=task, force=True)["task"]
    assert (found["status"], found["cause"]) == ("exited", "host_lost")
    assert "does not speak for" in runner.refused(task, ended(), base_seq=5)["message"]
    assert runner.hold()["tasks"] == []  # so that its runner learns what to end


def test_silent_and_frozen_hosts_are_named(lh: Lh) -> None:
    runner = Runner(lh)
    task = runner.start()
    assert status(lh, task)["host"] == "connected"
    assert HOST not in str(lh.envelope("status"))
    beat = {**runner.me, "revision": runner.revision, "limit": 0}
    lh("tool.task_claim", **beat, host_answers=False)
    assert status(lh, task)["host"] == "frozen"
    assert f"{HOST} (frozen)" in str(lh.envelope("status"))
    lh("tool.task_claim", **beat)
    assert status(lh, task)["host"] == "connected"
    lh.clock.advance(SILENT_MS + 1)
    (host,) = lh("tool.host_list")["hosts"]
    assert (host["host_id"], host["state"], host["unfinished"]) == (HOST, "silent", 1)
    assert f"{HOST} (silent)" in str(lh.envelope("status"))


def test_a_cancel_between_claim_and_start_waits_for_the_host_and_reaches_the_next_runner(
    lh: Lh,
) -> None:
    runner = Runner(lh)
    task = spawned(lh)
    runner.claim()
    lh("tool.task_cancel", task_id=task, reason="enough")
    (op,) = runner.watch()["ops"]
    assert (op["kind"], op["task_id"]) == ("cancel", task)
    held = Runner(lh, "runner-2").hold()
    assert held["tasks"][0]["cancel_reason"] == "enough"
    assert [one["op_id"] for one in held["ops"]] == [op["op_id"]]


@pytest.mark.parametrize(
    "cmd, more",
    [
        ("tool.task_write_stdin", {"chunk_b64": "aGkK"}),
        ("tool.task_resize", {"rows": 30, "cols": 100}),
        ("tool.task_signal", {"signal": "INT"}),
    ],
)
def test_control_between_claim_and_start_is_refused_aloud_and_works_once_it_runs(
    lh: Lh, cmd: str, more: dict
) -> None:
    runner = Runner(lh)
    task = spawned(lh, execution_mode="pty")
    runner.claim()
    refused = lh.refused(cmd, task_id=task, **more)
    assert (refused["code"], refused["recovery"]) == ("CONFLICT", "wait until it runs")
    assert runner.watch()["ops"] == []
    runner.append(task, running())
    op = lh(cmd, task_id=task, **more)["op_id"]
    assert [one["op_id"] for one in runner.watch()["ops"]] == [op]
