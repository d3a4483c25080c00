"""Portal calls: what the envelope means, and the errors for an invalid one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from longhouse.dispatch import Caller, ClientSession
from longhouse.dispatch.portals import aim
from longhouse.house import House
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.registry import PORTALS, Registry, Role
from longhouse.kernel.rooms import Room
from longhouse.kernel.values import Request, Result
from tests.kit import Lh


@pytest.mark.proves("DEL-001")
def test_there_are_ten_portals() -> None:
    assert PORTALS == (
        "status",
        "open",
        "workspace",
        "tasks",
        "jobs",
        "think",
        "graph",
        "vcs",
        "docs",
        "system",
    )


@pytest.mark.proves("DEL-002")
def test_op_call_reaches_any_command_of_the_portal(lh: Lh) -> None:
    made = lh.portal("jobs", op="call", cmd="jobs.create", args={"title": "t", "prompt": "p"})
    assert made.envelope["result"]["job"]["id"] == "JOB-001"


@pytest.mark.parametrize("tool", ["jobs", "vcs"])
def test_op_call_without_a_command_is_told_where_they_are_and_names_none(lh: Lh, tool: str) -> None:
    for given in ({}, {"cmd": " "}):
        error = lh.portal(tool, op="call", **given).envelope["error"]
        assert error["message"] == f"cmd: expected a command of {tool} (missing)"
        assert error["recovery"] == f"choose one from system op=cmd.list args.prefix={tool}."


def test_a_command_named_inside_args_is_taken_from_there(lh: Lh) -> None:
    answer = lh.portal("tasks", op="call", args={"cmd": "tasks.ready"})
    assert answer.success
    assert answer.envelope["intent"] == "tasks.ready"
    assert "cmd in args" in answer.envelope["warnings"][0]["message"]


def test_op_and_cmd_are_trimmed_and_lower_cased_and_null_args_are_none(lh: Lh) -> None:
    assert lh.portal("docs", op=" Show ", args=None).success
    assert lh.portal("system", op="CALL", cmd=" System.Help ").success


@pytest.mark.parametrize("tool", ["longhouse/status", "mcp/longhouse.status", "bm.status"])
def test_a_servers_name_before_the_tool_does_not_matter(lh: Lh, tool: str) -> None:
    assert lh.portal(tool).envelope["intent"] == "status"


@pytest.mark.proves("DEL-003")
@pytest.mark.parametrize("old", ["tasks_jobs_create", "notes_commit", "show"])
def test_an_old_tool_name_is_refused_with_the_way_to_the_new_one(lh: Lh, old: str) -> None:
    answer = lh.portal(old)
    assert answer.code == "UNKNOWN_TOOL"
    ids = [action["action_id"] for action in answer.envelope["actions"]]
    assert ids == [f"recover.migration.lookup::{old}", "recover.status.portal"]
    found = lh.run_actions(answer.envelope)[0].envelope["result"]
    call = found["example_valid_call"]
    assert lh.portal(call["tool"], **call["args"]).success


def test_a_name_that_never_was_offers_what_runs_only(lh: Lh) -> None:
    answer = lh.portal("\ud800 rm -rf")
    assert answer.code == "UNKNOWN_TOOL"
    assert [a["action_id"] for a in answer.envelope["actions"]] == ["recover.status.portal"]
    assert answer.body()


def test_a_command_is_accepted_only_through_its_portal(lh: Lh) -> None:
    answer = lh.portal("docs", op="call", cmd="jobs.create", args={"title": "t", "prompt": "p"})
    assert answer.code == "UNKNOWN_CMD"
    assert answer.envelope["actions"][0]["tool"] == "jobs"
    lh.run_actions(answer.envelope)


@pytest.mark.parametrize(
    "arguments, code",
    [
        ({}, "UNKNOWN_OP"),
        ({"op": "nope"}, "UNKNOWN_OP"),
        ({"op": "claim"}, "INVALID_INPUT"),
        ({"op": "call"}, "INVALID_INPUT"),
        ({"op": "call", "cmd": "jobs.nope"}, "UNKNOWN_CMD"),
        ({"op": 7}, "INVALID_INPUT"),
        ({"op": "create", "args": "x"}, "INVALID_INPUT"),
        ({"op": "create", "cmd": "jobs.claim", "args": {}}, "INVALID_INPUT"),
        ({"op": "create", "args": {}, "view": "wide"}, "INVALID_INPUT"),
        ({"op": "create", "args": {}, "colour": "red"}, "INVALID_INPUT"),
    ],
)
def test_a_wrong_envelope_is_refused_with_calls_that_run(
    lh: Lh, arguments: dict[str, Any], code: str
) -> None:
    answer = lh.portal("jobs", **arguments)
    assert answer.code == code
    lh.run_actions(answer.envelope)


def test_an_op_that_is_a_command_is_that_command(lh: Lh) -> None:
    envelope = lh.portal("jobs", op="claim").envelope
    assert envelope["intent"] == "jobs.claim"
    assert envelope["error"]["recovery"] == "add runner_id=…"


def test_a_golden_op_whose_command_takes_cmd_may_be_written_flat(lh: Lh) -> None:
    answer = lh.portal("system", op="schema.get", cmd="docs.show")
    assert answer.envelope["result"]["cmd"] == "docs.show"


@pytest.mark.parametrize("where", ["top", "args"])
def test_fmt_may_stand_in_the_envelope_or_in_args(lh: Lh, where: str) -> None:
    given = {"fmt": "lines"} if where == "top" else {"args": {"fmt": "lines"}}
    assert lh.portal("docs", op="show", **given).text
    assert lh.portal("docs", op="nope", **given).text


def test_the_envelopes_workspace_wins_over_the_one_in_args_then_session_then_default(
    new_house: Callable[..., House],
) -> None:
    house = new_house()
    caller = Caller(Role.OPERATOR, session=ClientSession())

    def where(**given: Any) -> str:
        answer = house.dispatcher.portal(
            "system", {"op": "call", "cmd": "system.init", **given}, caller
        )
        name: str = answer.envelope["result"]["workspace"]
        return name

    assert where() == "acme"
    house.dispatcher.portal("workspace", {"op": "use", "args": {"workspace": "mine"}}, caller)
    assert where() == "mine"
    assert where(args={"workspace": "inner"}) == "inner"
    assert where(args={"workspace": "inner"}, workspace="outer") == "outer"


class TaskThing(Request, frozen=True, kw_only=True):
    task: str | None = None
    plan: str | None = None


class Done(Result, frozen=True, kw_only=True):
    ok: bool


def task_command() -> Any:
    room = Room("work")

    @room.command("tasks.thing", example=TaskThing())
    def thing(tx: object, req: TaskThing) -> Done:
        """A command that takes a task or a plan."""
        return Done(ok=True)

    return Registry([room]).get("tasks.thing")


@pytest.mark.parametrize(
    "target", ["TASK-001", {"id": "TASK-001"}, {"id": "TASK-001", "kind": "task"}]
)
def test_target_of_a_task_command_names_the_task_or_plan(target: object) -> None:
    assert aim(task_command(), {"target": target}) == {"task": "TASK-001"}


@pytest.mark.parametrize(
    "args",
    [
        {"target": "JOB-001"},
        {"target": {"id": "TASK-001", "kind": "plan"}},
        {"target": {"kind": "task"}},
        {"target": {"id": "TASK-001", "x": 1}},
        {"target": "TASK-001", "task": "TASK-002"},
        {"target": "TASK-001", "plan": "PLAN-002"},
        {"target": 7},
    ],
)
def test_a_target_that_is_unclear_is_refused(args: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput, match=r"^target: expected"):
        aim(task_command(), args)


@pytest.mark.parametrize("target", ["JOB-001", 7, {"kind": "task"}])
def test_a_target_of_no_task_or_plan_is_answered_with_the_ids_that_fit(target: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        aim(task_command(), {"target": target})
    assert str(refused.value) == "target: expected TASK-001 or PLAN-001; fix: target=TASK-001"


def test_a_command_about_a_workspace_means_the_one_in_its_own_arguments(lh: Lh) -> None:
    caller = Caller(Role.OPERATOR, session=ClientSession())
    asked = {"op": "use", "workspace": "acme", "args": {"workspace": "inner"}}
    used = lh.house.dispatcher.portal("workspace", asked, caller)
    assert used.envelope["result"]["workspace"] == "inner"
