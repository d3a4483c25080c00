"""What the examples of the crew room need; see tests/contracts/world.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from longhouse.crew.identity import TOKEN
from longhouse.kernel.redact import HIDDEN
from tests.kit import Lh


def build(lh: Lh) -> None:
    """Two agents, one of whom wrote to the other."""
    lh.kept["agent_token"] = lh("agents.register", name="amber-otter")["agent_token"]
    other = lh("agents.register", name="cobalt-harbor")["agent_token"]
    lh(
        "agents.send",
        agent="cobalt-harbor",
        agent_token=other,
        to="amber-otter",
        bead_id="bd-1",
        subject="Parser",
        body="Shall I take v1?",
    )


def _reserved(lh: Lh) -> None:
    lh(
        "agents.reserve",
        agent="amber-otter",
        agent_token=_token(lh),
        scope="src/parser/*",
        bead_id="bd-1",
    )


def _token(lh: Lh) -> str:
    return lh.kept["agent_token"]


def _message(lh: Lh) -> str:
    newest: dict[str, Any] = lh("agents.inbox", agent="amber-otter")["messages"][0]
    return str(newest["message_id"])


PREPARE: dict[str, Callable[[Lh], Any]] = {
    "agents.release": _reserved,
    "agents.renew": _reserved,
}
STAND_INS: dict[str, Callable[[Lh], str]] = {TOKEN: _token, HIDDEN: _token, "msg_1": _message}
