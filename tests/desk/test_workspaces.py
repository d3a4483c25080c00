"""Which workspace a call means: session, lock, allowlist, project guard."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from longhouse.dispatch import Caller, ClientSession
from longhouse.house import House
from longhouse.kernel.registry import Role
from tests.kit import Lh, runnable


@pytest.fixture
def caller() -> Caller:
    return Caller(Role.OPERATOR, session=ClientSession())


def test_a_connection_uses_a_workspace_until_it_resets(lh: Lh, caller: Caller) -> None:
    used = lh.house.call("workspace.use", {"workspace": "mine"}, caller).envelope["result"]
    assert used["workspace"] == used["workspace_override"] == "mine"
    assert (used["previous"], used["default_workspace"], used["workspace_mode"]) == (
        "acme",
        "acme",
        "explicit",
    )
    assert lh.house.call("status", {}, caller).envelope["result"]["workspace"] == "mine"
    reset = lh.house.call("workspace.reset", {}, caller).envelope["result"]
    assert (reset["workspace"], reset["previous"], reset["override_cleared"]) == (
        "acme",
        "mine",
        True,
    )
    assert lh.house.call("status", {}, caller).envelope["result"]["workspace"] == "acme"


def test_a_call_without_a_session_is_told_to_name_the_workspace(lh: Lh) -> None:
    error = lh.refused("workspace.use", workspace="mine")
    assert error["code"] == "CONFLICT"
    assert "workspace=mine" in error["recovery"]


@pytest.mark.parametrize(
    "rules, code, fallback",
    [
        ({"workspace_lock": True}, "WORKSPACE_LOCKED", "acme"),
        ({"workspace_allowlist": ("one", "two")}, "WORKSPACE_NOT_ALLOWED", "one"),
        (
            {"workspace_allowlist": ("one", "acme"), "workspace_lock": True},
            "WORKSPACE_NOT_ALLOWED",
            "acme",
        ),
    ],
)
def test_a_workspace_that_may_not_be_used_is_refused_with_a_look_at_one_that_may(
    new_house: Callable[..., House], caller: Caller, rules: dict[str, Any], code: str, fallback: str
) -> None:
    house = new_house(**rules)
    for cmd, args in [
        ("vcs.notes.commit", {"content": "x", "workspace": "elsewhere"}),
        ("workspace.use", {"workspace": "elsewhere"}),
    ]:
        answer = house.call(cmd, args, caller)
        assert answer.code == code
        (action,) = answer.envelope["actions"]
        assert action["action_id"] == "recover.workspace::status", (
            "a write stays where it was meant"
        )
        again = house.dispatcher.portal(action["tool"], action["args"], caller)
        assert again.success
        assert again.envelope["context"]["workspace"] == fallback


def test_a_lapse_in_the_call_itself_is_mended_where_it_may_go(
    new_house: Callable[..., House], caller: Caller
) -> None:
    house = new_house(workspace_lock=True)
    answer = house.call("vcs.notes.commit", {"workspace": "elsewhere"}, caller)
    assert [a.get("missing") for a in answer.envelope["actions"]] == [["content"], None]
    for action in runnable(answer.envelope):
        assert house.dispatcher.portal(action["tool"], action["args"], caller).success


@pytest.mark.parametrize("name", ["", " ", "-x", "a b", "é", "../x", "x" * 129, "a\n"])
def test_a_name_that_is_no_workspace_is_refused(lh: Lh, name: str) -> None:
    answer = lh.house.call("vcs.notes.commit", {"content": "x", "workspace": name})
    if name:
        assert answer.code == "INVALID_NAME"
    else:
        assert answer.envelope["context"] == {"workspace": "acme"}


def test_a_write_that_makes_another_workspace_says_so_once(lh: Lh) -> None:
    first = lh.envelope("vcs.notes.commit", content="x", workspace="typo")
    assert [w["code"] for w in first["warnings"]] == ["NEW_WORKSPACE"]
    assert "workspace=acme" in first["warnings"][0]["recovery"]
    assert lh.envelope("vcs.notes.commit", content="x", workspace="typo")["warnings"] == []
    assert lh.envelope("vcs.notes.commit", content="x")["warnings"] == []


@pytest.mark.proves("MEM-032", "MEM-026")
def test_status_tells_the_rules_that_hold_here(new_house: Callable[..., House]) -> None:
    house = new_house(workspace_lock=True, project_guard="repo:ours", agent_id="amber-otter")
    house.call("vcs.notes.commit", {"content": "bound"})
    assert _policy(house) == {
        "default_workspace": "acme",
        "workspace_lock": True,
        "project_guard_configured": "repo:ours",
        "project_guard_stored": "repo:ours",
        "default_agent_id": "amber-otter",
    }
    assert _policy(new_house()) == {
        "default_workspace": "acme",
        "workspace_lock": False,
        "project_guard_stored": "repo:ours",
    }, "what is stored holds, whatever this server was told"


def test_the_first_write_binds_a_workspace_to_its_project(new_house: Callable[..., House]) -> None:
    unguarded = new_house(project_guard=None)
    unguarded.call("vcs.notes.commit", {"content": "before guards"})
    ours = new_house(project_guard="repo:ours")
    assert "project_guard_stored" not in _policy(ours)
    assert ours.call("vcs.notes.commit", {"content": "bound"}).success
    assert _policy(ours)["project_guard_stored"] == "repo:ours"
    theirs = new_house(project_guard="repo:theirs")
    for cmd, args in [("vcs.notes.commit", {"content": "x"}), ("docs.show", {})]:
        answer = theirs.call(cmd, args)
        assert answer.code == "PROJECT_GUARD_MISMATCH"
        assert answer.envelope["error"]["recovery"]


def _policy(house: House) -> dict[str, Any]:
    policy: dict[str, Any] = house.call("status", {"view": "full"}).envelope["result"][
        "workspace_policy"
    ]
    return policy
