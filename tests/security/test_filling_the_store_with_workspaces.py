"""The attacker has an agent's token and wants the store to look after ever more workspaces."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

import pytest

from longhouse.dispatch import Caller
from longhouse.house import House
from longhouse.kernel.registry import Role
from tests.kit import Lh, ManualClock
from tests.security.kit import Outsider

MOST = 3


@pytest.fixture
def small(new_house: Callable[..., House], clock: ManualClock) -> Lh:
    return Lh(new_house(policy="full-auto", workspaces_per_token=MOST), clock)


def write(who: Outsider, workspace: str) -> None:
    who("vcs.notes.commit", content="x", workspace=workspace)


def names(lh: Lh) -> set[str]:
    return {row["workspace"] for row in lh("workspace.list")["workspaces"]}


def test_a_token_below_manager_creates_only_so_many_workspaces(small: Lh) -> None:
    agent = Outsider(small, "TOK-a/1")
    for number in range(MOST):
        write(agent, f"w{number}")
    error = agent.refused("vcs.notes.commit", content="x", workspace="one-more")
    assert error["code"] == "TOO_MANY_WORKSPACES"
    assert "3 workspaces" in error["message"]
    assert "'one-more'" in error["message"]
    assert "one-more" not in names(small)
    write(agent, "w0")  # its own stay open to it
    write(agent, small.house.dispatcher.facts.default_workspace or "")


def test_another_session_of_the_token_is_not_another_token(small: Lh) -> None:
    for number in range(MOST):
        write(Outsider(small, f"TOK-a/{number}"), f"w{number}")
    last = Outsider(small, "TOK-a/new")
    refused = last.refused("vcs.notes.commit", content="x", workspace="more")
    assert refused["code"] == "TOO_MANY_WORKSPACES"
    write(Outsider(small, "TOK-b"), "other")


@pytest.mark.parametrize(
    "cmd, args",
    [
        ("jobs.create", {"title": "t", "prompt": "p"}),
        ("docs.artifact.add", {"content_b64": "eA==", "name": "x"}),
        ("tool.task_spawn", {"tool": "vcs.notes.commit", "args": {"content": "x"}}),
        ("tool.task_spawn", {"tool": "exec", "args": {"argv": ["true"]}}),
    ],
)
def test_no_other_write_creates_one_more(small: Lh, cmd: str, args: dict[str, object]) -> None:
    agent = Outsider(small, "TOK-a")
    for number in range(MOST):
        write(agent, f"w{number}")
    before = names(small)
    assert agent.refused(cmd, **args, workspace="more")["code"] == "TOO_MANY_WORKSPACES"
    task = {"tool": "vcs.notes.commit", "args": {"content": "x", "workspace": "more"}}
    agent.envelope("tool.task_spawn", **task, workspace="w0")
    small.house.settle()
    assert names(small) == before


def test_whoever_leads_creates_as_many_as_the_work_needs(small: Lh) -> None:
    manager = Outsider(small, "TOK-m", Role.MANAGER)
    for number in range(MOST + 2):
        write(manager, f"w{number}")
    assert len(names(small)) >= MOST + 2


def test_zero_means_no_limit(new_house: Callable[..., House], clock: ManualClock) -> None:
    lh = Lh(new_house(workspaces_per_token=0), clock)
    agent = Outsider(lh, "TOK-a")
    for number in range(60):
        write(agent, f"w{number}")


def test_a_refusal_that_is_recorded_counts_for_the_workspace_that_it_creates(
    new_house: Callable[..., House], clock: ManualClock
) -> None:
    lh = Lh(new_house(policy="safe", workspaces_per_token=MOST), clock)
    agent = Outsider(lh, "TOK-a")
    spawn = {"tool": "exec", "args": {"argv": ["rm"]}}
    codes = [
        agent.refused("tool.task_spawn", **spawn, workspace=f"w{number}")["code"]
        for number in range(MOST + 2)
    ]
    assert codes == ["POLICY_DENIED"] * MOST + ["TOO_MANY_WORKSPACES"] * 2
    assert agent.refused("tool.task_spawn", **spawn, workspace="w0")["code"] == "POLICY_DENIED"
    assert names(lh) >= {f"w{number}" for number in range(MOST)}
    assert not names(lh) & {f"w{number}" for number in range(MOST, MOST + 2)}


async def test_writes_at_the_same_time_create_no_more_than_one_after_another(small: Lh) -> None:
    """They may be in one commit, or on connections of their own."""
    made = small("system.token.create", role="agent")
    caller = Caller(Role.AGENT, owner=made["id"])
    answers = await asyncio.gather(
        *(
            small.house.dispatcher.call_async(
                "vcs.notes.commit", {"content": "x", "workspace": f"w{number}"}, caller
            )
            for number in range(MOST * 8)
        )
    )
    assert sum(answer.success for answer in answers) == MOST
    codes = {answer.envelope["error"]["code"] for answer in answers if not answer.success}
    assert codes == {"TOO_MANY_WORKSPACES"}
    assert len([name for name in names(small) if name.startswith("w")]) == MOST
