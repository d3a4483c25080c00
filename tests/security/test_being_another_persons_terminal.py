"""The attacker has an agent's token, and wants what a person types into a terminal."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.desk.tokens import digest_of
from longhouse.dispatch import Caller
from longhouse.house import House
from longhouse.kernel.registry import Role
from longhouse.surfaces.http.access import Identity, Tokens
from tests.kit import Lh
from tests.processes.kit import HOST, Runner, allow, spawned
from tests.security.kit import Outsider

ME = {"runner_id": "mine", "host_id": "host-0badc0de"}


async def identity(house: House, token: str) -> Identity:
    return await Tokens(house).identify(f"Bearer {token}")


def terminal(lh: Lh) -> str:
    """A terminal that the person has opened and typed a password into."""
    task_id = spawned(lh, "sudo make install", execution_mode="pty")
    runner = Runner(lh)
    runner.hold()
    return task_id


def refused_everywhere(outsider: Outsider, task_id: str, host: str, revision: int) -> None:
    me = {**ME, "host_id": host}
    frames: list[dict[str, Any]] = [
        {"type": "tool_task_status", "status": "running", "pid": 1, "started_at_ms": 1}
    ]
    calls: dict[str, dict[str, Any]] = {
        "tool.task_held": me,
        "tool.task_claim": {**me, "revision": revision},
        "tool.task_watch": {**me, "revision": revision, "timeout_ms": 0},
        "tool.task_append": {
            "task_id": task_id,
            "runner_id": me["runner_id"],
            "revision": revision,
            "base_seq": 2,
            "frames": frames,
        },
    }
    for cmd, args in calls.items():
        error = outsider.refused(cmd, **args)
        assert (cmd, error["code"]) == (cmd, "FORBIDDEN")
        assert "longhouse token create --role agent --runner" in error["recovery"]


@pytest.mark.parametrize("host", [ME["host_id"], HOST])
def test_an_agent_cannot_claim_a_terminal_for_an_invented_or_a_real_host(lh: Lh, host: str) -> None:
    task_id = terminal(lh)
    refused_everywhere(Outsider(lh, "TOK-agent"), task_id, host, 1)
    assert lh("tool.task_status", task_id=task_id)["task"]["status"] == "queued"


def test_a_host_that_an_agent_made_before_the_rule_gets_nothing_more(lh: Lh) -> None:
    """Its token was valid for a host once; the row is still there."""
    task_id = terminal(lh)
    older = Outsider(lh, "TOK-older", runner=True)
    revision = older("tool.task_held", **ME)["revision"]
    refused_everywhere(Outsider(lh, "TOK-older"), task_id, ME["host_id"], revision)


async def test_the_token_of_a_jobs_agent_is_no_runner(lh: Lh) -> None:
    task_id = terminal(lh)
    lh("jobs.create", title="Look", prompt="look")
    token = "lh_" + "a" * 43
    lh("jobs.claim", job="JOB-001", runner_id="r", agent_digest=digest_of(token))
    found = await identity(lh.house, token)
    assert (found.role, found.runner) == (Role.AGENT, False)
    refused_everywhere(Outsider(lh, found.owner, runner=found.runner), task_id, HOST, 1)


async def test_a_runners_token_hosts_only_in_its_own_workspaces(lh: Lh) -> None:
    terminal(lh)
    made = lh("system.token.create", role="agent", runner=True, workspaces=["beta"])
    found = await identity(lh.house, made["token"])
    caller = found.caller({})
    assert lh.house.call("tool.task_held", {**ME, "workspace": "beta"}, caller).success
    error = lh.house.call("tool.task_held", {**ME, "workspace": "acme"}, caller)
    assert error.code == "WORKSPACE_NOT_ALLOWED"


async def test_a_runners_token_and_a_manager_may_host(lh: Lh) -> None:
    task_id = terminal(lh)
    made = lh("system.token.create", role="agent", runner=True)
    found = await identity(lh.house, made["token"])
    caller = found.caller({"longhouse-role": "agent"})
    assert caller.runner
    revision = lh.house.call("tool.task_held", ME, caller).envelope["result"]["revision"]
    claimed = lh.house.call("tool.task_claim", {**ME, "revision": revision}, caller).envelope
    assert [task["task_id"] for task in claimed["result"]["tasks"]] == [task_id]
    manager = Caller(Role.MANAGER, owner="TOK-manager")
    theirs = {"runner_id": "m", "host_id": "host-00000002"}
    assert lh.house.call("tool.task_held", theirs, manager).success
    less = Caller(Role.AGENT, owner="TOK-manager")
    assert lh.house.call("tool.task_held", theirs, less).code == "FORBIDDEN"


@pytest.mark.parametrize("more", [{"client": "codex"}, {"role": "viewer"}])
def test_neither_a_client_nor_a_viewer_is_made_a_runner(lh: Lh, more: dict[str, str]) -> None:
    args = {"role": "agent", "runner": True, **more}
    answer = lh.house.call("system.token.create", args)
    assert answer.code == "INVALID_INPUT"
    assert "--runner" in answer.envelope["error"]["recovery"]


def test_the_list_of_tokens_says_which_are_runners(lh: Lh) -> None:
    lh("system.token.create", role="agent", runner=True)
    lh("system.token.create", role="agent")
    assert sorted(row.get("runner", False) for row in lh("system.token.list")["tokens"]) == [
        False,
        True,
    ]


def test_hosting_cannot_be_spawned_as_a_task(lh: Lh) -> None:
    allow(lh)
    caller = Caller(Role.AGENT, owner="TOK-agent")
    for cmd in ("tool.task_held", "tool.task_claim"):
        spawn = {"tool": cmd, "args": {**ME, "revision": 1} if "claim" in cmd else ME}
        assert not lh.house.call("tool.task_spawn", spawn, caller).success
