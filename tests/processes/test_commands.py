"""Registry commands as tasks: recorded at once, run after the answer."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from typing import Any

import pytest

from longhouse.config import Settings
from longhouse.dispatch import Caller
from longhouse.house import House
from longhouse.kernel.errors import StoreBusy
from longhouse.kernel.registry import Command, Role
from longhouse.processes import calling
from longhouse.store.artifacts import artifacts_of
from longhouse.store.tx import Tx
from tests.kit import CountedIds, Lh, ManualClock
from tests.processes.kit import Runner, allow
from tests.processes.test_belonging import loop, status
from tests.processes.test_tasks import complaints

SERVICES = {"some": "ability"}
"""A house that has any is a server, and reacts to what was committed."""


@pytest.fixture
def server(settings: Settings, clock: ManualClock) -> Iterator[Lh]:
    with House(settings, clock=clock, ids=CountedIds(), services=SERVICES) as house:
        lh = Lh(house, clock)
        allow(lh)
        yield lh


def spawn(lh: Lh, tool: str, **args: Any) -> str:
    task_id: str = lh("tool.task_spawn", tool=tool, args=args)["task_id"]
    return task_id


def types(lh: Lh, task_id: str) -> list[str]:
    frames = lh("tool.task_stream_events", task_id=task_id)["frames"]
    return [frame["type"] for frame in frames]


@pytest.mark.proves("TTA-008")
def test_a_command_is_spawned_first_and_carried_out_behind_the_answer(lh: Lh) -> None:
    allow(lh)
    spawned = lh("tool.task_spawn", tool="tasks.plan.create", args={"title": "Search"})
    assert (spawned["task_id"], spawned["status"]) == ("PROC-001", "queued")
    assert lh.refused("open", id="PLAN-001")["code"] == "UNKNOWN_ID"
    assert types(lh, "PROC-001") == ["tool_task_spawned", "tool_policy_decided"]
    loop(lh, "carry_out")
    assert lh("open", id="PLAN-001")
    task = status(lh, "PROC-001")
    assert (task["status"], task["exit_code"]) == ("exited", 0)
    output = lh("tool.output_fetch", task_id="PROC-001")
    assert "Search" in "".join(part["text"] for part in output["parts"])
    assert types(lh, "PROC-001")[2:] == ["tool_task_status", "tool_stdout", "tool_task_status"]
    assert complaints(lh) == []


def test_a_server_carries_commands_out_as_soon_as_they_are_spawned(server: Lh) -> None:
    tasks = [spawn(server, "tasks.plan.create", title=f"Plan {n}") for n in range(3)]
    server.house.settle()
    assert [status(server, task)["status"] for task in tasks] == ["exited"] * 3
    assert [server("open", id=f"PLAN-00{n}")["id"] for n in (1, 2, 3)]


@pytest.mark.proves("TTA-008")
def test_a_command_whose_server_died_before_it_is_carried_out_once_by_the_next(
    settings: Settings, clock: ManualClock
) -> None:
    with House(settings, clock=clock, ids=CountedIds()) as house:
        lh = Lh(house, clock)
        allow(lh)
        task = spawn(lh, "tasks.plan.create", title="Search")
    with House(settings, clock=clock, ids=CountedIds(), services=SERVICES) as house:
        lh = Lh(house, clock)
        allow(lh)
        assert status(lh, task)["status"] == "queued"
        for _ in range(3):
            loop(lh, "carry_out")
        assert status(lh, task)["status"] == "exited"
        assert lh.refused("open", id="PLAN-002")["code"] == "UNKNOWN_ID"


def test_a_death_while_a_command_runs_leaves_neither_half_of_it(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The command's writes and its final frames are one transaction."""

    class Killed(BaseException):
        pass

    def killed(*_args: Any, **_more: Any) -> None:
        raise Killed

    allow(lh)
    task = spawn(lh, "tasks.plan.create", title="Search")
    with monkeypatch.context() as patch:
        patch.setattr("longhouse.processes.calling._write_end", killed)
        with pytest.raises(Killed):
            loop(lh, "carry_out")
    assert lh.refused("open", id="PLAN-001")["code"] == "UNKNOWN_ID"
    assert status(lh, task)["status"] == "queued"
    loop(lh, "carry_out")
    assert lh("open", id="PLAN-001")
    assert status(lh, task)["status"] == "exited"


def test_no_runner_is_given_a_command_nor_called_for_one(lh: Lh) -> None:
    allow(lh)
    task = spawn(lh, "tasks.plan.create", title="Search")
    runner = Runner(lh)
    assert runner.claim() == []
    assert runner.watch()["waiting"] == 0
    lh.clock.advance(120_000)
    missing = lh.house.registry.provided["jobs.processes_wait"]

    def look(tx: Tx) -> bool:
        return bool(missing(tx))

    assert not lh.house.db.read("acme", look, lh.house._call())
    assert status(lh, task)["status"] == "queued"


def test_a_command_that_waits_can_be_cancelled(lh: Lh) -> None:
    allow(lh)
    task = spawn(lh, "tasks.plan.create", title="Search")
    lh("tool.task_cancel", task_id=task, reason="changed my mind")
    loop(lh, "carry_out")
    assert status(lh, task)["status"] == "cancelled"
    assert lh.refused("open", id="PLAN-001")["code"] == "UNKNOWN_ID"


def test_a_command_that_is_refused_leaves_nothing_but_the_record(lh: Lh) -> None:
    allow(lh)
    task = spawn(lh, "jobs.cancel", job="JOB-999")
    after = spawn(lh, "tasks.plan.create", title="Search")
    loop(lh, "carry_out")
    told = status(lh, task)
    assert (told["status"], told["cause"]) == ("failed", "unknown_id")
    assert "JOB-999" in told["error"]
    loop(lh, "carry_out")
    assert status(lh, after)["status"] == "exited"
    assert complaints(lh) == []


def test_a_defect_in_a_command_ends_its_task_and_is_reported(
    server: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    def defect(*_args: Any) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("longhouse.processes.calling._result", defect)
    task = spawn(server, "tasks.plan.create", title="Search")
    server.house.settle()
    told = status(server, task)
    assert (told["status"], told["cause"]) == ("failed", "internal_error")


def test_a_command_that_can_never_succeed_does_not_hold_up_those_behind_it(lh: Lh) -> None:
    allow(lh)
    lh("docs.artifact.add", name="log", content="precious")
    digest = hashlib.sha256(b"precious").hexdigest()
    assert artifacts_of(lh.house).blobs.delete(digest, untouched_since_ms=2**60)
    lost = spawn(lh, "docs.artifact.show", id=digest)
    after = spawn(lh, "tasks.plan.create", title="Search")
    loop(lh, "carry_out")
    loop(lh, "carry_out")
    assert (status(lh, lost)["status"], status(lh, lost)["cause"]) == ("failed", "bytes_lost")
    assert status(lh, after)["status"] == "exited"
    assert complaints(lh) == []


def test_a_command_that_found_the_store_busy_is_tried_again(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    def busy(*_args: Any) -> None:
        raise StoreBusy

    allow(lh)
    task = spawn(lh, "tasks.plan.create", title="Search")
    with monkeypatch.context() as patch:
        patch.setattr("longhouse.processes.calling._result", busy)
        with pytest.raises(StoreBusy):
            loop(lh, "carry_out")
    assert status(lh, task)["status"] == "queued"
    loop(lh, "carry_out")
    assert status(lh, task)["status"] == "exited"


def test_a_command_that_is_always_busy_does_not_hold_up_those_behind_it(
    lh: Lh, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such as one that takes longer than the database may take to answer."""
    allow(lh)
    slow = spawn(lh, "tasks.plan.create", title="Slow")
    after = spawn(lh, "tasks.plan.create", title="Search")
    whole = calling._result

    def busy(tx: Tx, command: Command, request: Any, *more: Any) -> Any:
        if request.title == "Slow":
            raise StoreBusy
        return whole(tx, command, request, *more)

    monkeypatch.setattr(calling, "_result", busy)
    with pytest.raises(StoreBusy):
        loop(lh, "carry_out")
    assert (status(lh, slow)["status"], status(lh, after)["status"]) == ("queued", "exited")
    assert complaints(lh) == []


def test_a_command_that_waits_does_not_run_when_its_rule_was_withdrawn(lh: Lh) -> None:
    rule = lh("tool.policy_allow", tool="tasks.plan.create")["rule"]["id"]
    task = spawn(lh, "tasks.plan.create", title="Search")
    lh("tool.policy_withdraw", rule=rule)
    loop(lh, "carry_out")
    told = status(lh, task)
    assert (told["status"], told["cause"]) == ("failed", "policy_denied")
    assert types(lh, task)[2:] == ["tool_policy_decided", "tool_task_status"]
    assert lh.refused("open", id="PLAN-001")["code"] == "UNKNOWN_ID"
    assert complaints(lh) == []


def test_a_command_as_a_task_needs_the_same_role_as_the_command(lh: Lh) -> None:
    allow(lh)
    lh("jobs.create", title="Ship", prompt="ship it")
    args = {"tool": "jobs.update", "args": {"job": "JOB-001", "title": "x"}}
    answer = lh.house.call("tool.task_spawn", args, Caller(Role.AGENT, owner="someone"))
    assert answer.code == "FORBIDDEN"
    loop(lh, "carry_out")
    assert lh("jobs.open", job="JOB-001")["job"]["title"] == "Ship"


@pytest.mark.parametrize(
    "tool, args",
    [
        ("jobs.cancel", {"job": "JOB-001", "reason": "x"}),
        ("jobs.message", {"job": "JOB-001", "message": "go on"}),
        ("jobs.radar", {"reply_job": "JOB-001", "reply_message": "go on"}),
    ],
)
def test_another_owners_job_is_not_steered_by_a_command_as_a_task(
    lh: Lh, tool: str, args: dict[str, Any]
) -> None:
    allow(lh)
    lh("jobs.create", title="Ship", prompt="ship it")
    before = lh("jobs.open", job="JOB-001")["job"]
    spawn = {"tool": tool, "args": args}
    answer = lh.house.call("tool.task_spawn", spawn, Caller(Role.AGENT, owner="someone"))
    loop(lh, "carry_out")
    if answer.success:
        told = status(lh, answer.envelope["result"]["task_id"])
        assert (told["status"], told["cause"]) == ("failed", "forbidden")
    assert lh("jobs.open", job="JOB-001")["job"] == before


def test_a_command_acts_as_who_spawned_it_and_not_as_the_server(lh: Lh) -> None:
    """The owner of the job is the agent's token; the loop's own calls are the operator's."""
    allow(lh)
    agent = Caller(Role.AGENT, owner="token-7", agent="amber-otter")
    made = {"tool": "jobs.create", "args": {"title": "Ship", "prompt": "ship it"}}
    answer = lh.house.call("tool.task_spawn", made, agent)
    assert answer.success, answer.envelope
    loop(lh, "carry_out")
    events = lh("jobs.open", job="JOB-001")
    assert "amber-otter" in str(events)
