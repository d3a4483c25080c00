"""Nobody is offered what their role may not do, beside an answer's result or inside it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from longhouse.dispatch import Caller, ClientSession
from longhouse.house import registry
from longhouse.kernel.registry import PORTALS, Role
from longhouse.surfaces.mcp.tools import instructions, tool_list
from tests.contracts.world import build_world, example_args, prepare
from tests.kit import WAITING, Lh, at_once

SLICES = 4
NEVER = {"jobs.runner.start", "think.context.pack.export", "tool.recording_export", *WAITING}
"""Calls that start a process, write a file, or wait."""
REFUSED = re.compile(r"requires the \w+ role")


def offered(value: Any) -> Iterator[dict[str, Any]]:
    """Every call that an answer holds, at any depth; those that lack something say so."""
    if isinstance(value, dict):
        if value.get("tool") in PORTALS and isinstance(value.get("args"), dict):
            yield value
        for name, inner in value.items():
            if not name.startswith("example_"):
                yield from offered(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from offered(inner)


def forbidden(lh: Lh, action: dict[str, Any], caller: Caller) -> str | None:
    cmd, _ = lh.house.dispatcher.call_portal(action["tool"], action["args"])
    if cmd in NEVER:
        return None
    answer = lh.house.dispatcher.portal(action["tool"], at_once(action), caller)
    error = answer.envelope["error"] or {}
    return (
        f"{action['args']}: {error['message']}"
        if REFUSED.search(error.get("message", ""))
        else None
    )


@pytest.mark.parametrize("role", [Role.VIEWER, Role.AGENT, Role.MANAGER], ids=lambda r: r.name)
@pytest.mark.parametrize("part", range(SLICES))
def test_every_offered_call_is_one_that_the_role_may_make(lh: Lh, role: Role, part: int) -> None:
    build_world(lh)
    wrong, ran = [], 0
    for command in tuple(registry())[part::SLICES]:
        if command.cmd in NEVER:
            continue
        try:
            prepare(lh, command.cmd)
            args = example_args(lh, command)
        except (AssertionError, KeyError, IndexError, StopIteration):
            continue  # an example before it has changed what this one needs
        caller = Caller(role, session=ClientSession())
        answer = lh.house.dispatcher.call(command.cmd, args, caller)
        for action in offered(answer.envelope):
            ran += 1
            if found := forbidden(lh, action, caller):
                wrong.append(f"{command.cmd} as {role.name} offers {found}")
    assert not wrong, "\n".join(wrong)
    assert ran


@pytest.mark.parametrize("role", list(Role), ids=lambda role: role.name)
def test_a_role_is_told_only_of_what_it_may_call(role: Role) -> None:
    commands = registry().commands
    for tool in tool_list(registry(), role):
        name, text = tool["name"], tool["description"]
        for op in tool["inputSchema"]["properties"].get("op", {}).get("enum", ()):
            assert op == "call" or registry().ops[name, op].role <= role, f"{name} op={op}"
        for word in re.findall(r"[a-z_]+(?:\.[a-z_]+)*", text):
            for family in (name, "agents", "tool"):
                command = commands.get(f"{family}.{word}")
                if command is not None and ("_" in word or "." in word):
                    assert command.role <= role, f"{name} tells a {role.name} of {command.cmd}"


def test_a_viewer_is_not_told_to_write() -> None:
    assert "Record decisions" in instructions(Role.AGENT)
    assert "Record" not in instructions(Role.VIEWER)
    told = {tool["name"]: tool for tool in tool_list(registry(), Role.VIEWER)}
    assert "task_spawn" not in told["jobs"]["description"]
    assert told["graph"]["annotations"]["readOnlyHint"]


def test_where_a_role_is_missing_the_message_is_offered(lh: Lh) -> None:
    lh("tasks.macro.start", task_title="Errand")
    lh("jobs.create", title="Look", prompt="Look.")
    asked = {"op": "call", "cmd": "jobs.requeue", "args": {"job": "JOB-001", "agent_id": "ada"}}
    for given, missing in (
        (asked, ["body"]),
        ({**asked, "args": {"job": "JOB-001"}}, ["agent", "body"]),
    ):
        answer = lh.house.dispatcher.portal("jobs", given, Caller(Role.AGENT))
        assert answer.code == "FORBIDDEN"
        assert "manager role" in answer.envelope["error"]["recovery"]
        (action,) = answer.envelope["actions"]
        cmd, args = lh.house.dispatcher.call_portal(action["tool"], action["args"])
        assert (cmd, args["to"], args["subject"]) == (
            "agents.send",
            "role:manager",
            "jobs.requeue JOB-001",
        )
        assert action["missing"] == missing
        assert "body" not in args, "what is asked is the caller's to say"
    ada = lh("agents.register", name="ada")["agent_token"]
    lh("agents.register", name="lee", role="manager")
    sent = lh("agents.send", agent="ada", agent_token=ada, to="role:manager", subject="x", body="y")
    assert sent["messages"][0]["to_agent"] == "lee"
    viewer = lh.house.dispatcher.portal("jobs", asked, Caller(Role.VIEWER))
    assert not viewer.envelope["actions"], "a viewer may not send it either"


def test_a_message_to_a_role_that_nobody_has_says_whom_to_tell(lh: Lh) -> None:
    token = lh("agents.register", name="ada")["agent_token"]
    lh("tasks.macro.start", task_title="Errand")
    error = lh.refused(
        "agents.send", agent="ada", agent_token=token, to="role:manager", subject="x", body="y"
    )
    assert "the person who runs this store" in error["recovery"]
