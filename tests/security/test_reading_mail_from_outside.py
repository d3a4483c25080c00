"""The attacker wants mail of agents: of a workspace that is closed to it, or to make it look read.

Within a workspace mail is no secret: it is part of the conversation about a work item, which
everyone who may enter the workspace can read, also in its log and its history.
"""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.kernel.registry import Role
from tests.crew.kit import join
from tests.kit import Lh
from tests.security.kit import Outsider


@pytest.fixture
def sent(lh: Lh) -> dict[str, Any]:
    """A letter of amber-otter to cobalt-harbor, which nobody has read."""
    amber = join(lh, "amber-otter")
    join(lh, "cobalt-harbor")
    note = {"to": "cobalt-harbor", "bead_id": "bd-1", "subject": "Plan", "body": "the walrus plan"}
    (message,) = lh("agents.send", **amber, **note)["messages"]
    return dict(message)


def test_mail_is_open_to_the_workspace_and_looking_leaves_no_trace(
    lh: Lh, sent: dict[str, Any]
) -> None:
    viewer = Outsider(lh, "TOK-viewer", Role.VIEWER)
    before = lh("status")["seq"]
    (seen,) = viewer("agents.inbox", agent="cobalt-harbor")["messages"]
    assert (seen["body"], seen["state"]) == ("the walrus plan", "unread")
    assert "walrus" in str(viewer("open", id=sent["message_id"]))
    assert lh("status")["seq"] == before
    agent = Outsider(lh, "TOK-agent", Role.AGENT)
    for cmd in ("agents.read", "agents.ack"):
        claim = {"agent": "cobalt-harbor", "message": sent["message_id"]}
        for proof in ({}, {"agent_token": "lha_" + "0" * 48}):
            assert agent.refused(cmd, **claim, **proof)["code"] == "AGENT_TOKEN_REQUIRED"
    assert lh("agents.inbox", agent="cobalt-harbor", state=["unread"])["count"] == 1


def test_what_waits_for_an_agent_is_counted_for_that_agent_alone(
    lh: Lh, sent: dict[str, Any]
) -> None:
    """`status` is about whoever asks; a name without proof does not make it somebody else's."""
    agent = Outsider(lh, "TOK-agent", Role.AGENT)
    named = agent.envelope("status", agent="cobalt-harbor")
    assert "inbox" not in named["result"]
    assert named["warnings"][0]["code"] == "AGENT_TOKEN_MISSING"


def test_mail_is_closed_to_a_token_of_another_workspace(lh: Lh, sent: dict[str, Any]) -> None:
    lh("vcs.notes.commit", content="x", workspace="other")
    guest = Outsider(lh, "TOK-guest", Role.MANAGER, workspaces=("other",))
    for cmd, args in (
        ("agents.inbox", {"agent": "cobalt-harbor"}),
        ("open", {"id": sent["message_id"]}),
        ("agents.conversation", {"bead_id": sent["bead_id"]}),
    ):
        assert guest.refused(cmd, **args, workspace="acme")["code"] == "WORKSPACE_NOT_ALLOWED"
        assert "walrus" not in str(guest.envelope(cmd, **args))
