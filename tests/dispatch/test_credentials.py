"""A credential that is shown only once is shown whole, however small the budget."""

from __future__ import annotations

from typing import Any

import pytest

from tests.kit import Lh

CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("agents.register", {"name": "amber-otter", "role": "coder"}, "agent_token"),
    (
        "agents.adopt",
        {"agent": "cobalt-harbor", "interactive": True, "confirm": True},
        "agent_token",
    ),
    ("system.token.create", {"role": "viewer", "name": "w" * 64}, "token"),
]


@pytest.fixture(autouse=True)
def somebody_to_adopt(lh: Lh) -> None:
    lh("agents.register", name="cobalt-harbor")


def test_these_are_all_the_credentials_that_are_shown_once(lh: Lh) -> None:
    shown = {(one.cmd, one.reveals) for one in lh.house.facts.registry if one.reveals}
    assert shown == {(cmd, (field,)) for cmd, _, field in CALLS}


@pytest.mark.parametrize("room", [{"max_chars": 1}, {"max_bytes": 1}, {"context_budget": 40}])
@pytest.mark.parametrize("cmd, args, field", CALLS)
def test_no_budget_trims_a_credential(
    lh: Lh, cmd: str, args: dict[str, Any], field: str, room: dict[str, int]
) -> None:
    whole = lh.envelope(cmd, **args, **room)
    token = whole["result"][field]
    assert token.rpartition("_")[2].isalnum()
    assert len(token) > 50
    assert "BUDGET_MIN_CLAMPED" in [warning["code"] for warning in whole["warnings"]]
    assert whole["result"]["budget"]["used_chars"] <= whole["result"]["budget"]["max_chars"]


@pytest.mark.parametrize("cmd, args, field", CALLS)
def test_no_budget_trims_a_credential_in_lines(
    lh: Lh, cmd: str, args: dict[str, Any], field: str
) -> None:
    text = "\n".join(lh.lines(cmd, **args, max_chars=1))
    token = text.partition(f"{field}=")[2].split()[0]
    assert token.startswith(("lh_", "lha_"))
    assert len(token) > 50


def test_a_token_from_a_tiny_answer_works(lh: Lh) -> None:
    token = lh("agents.register", name="amber-otter", role="coder", max_chars=1)["agent_token"]
    lh("agents.heartbeat", agent="amber-otter", agent_token=token)
