"""Protocol events: a stable envelope, and payloads that are whole or refused."""

from __future__ import annotations

import re
from typing import Any

import pytest

from tests.contracts.world import fingerprint
from tests.crew.kit import join
from tests.kit import Lh

FIELDS = {
    "id",
    "version",
    "event_type",
    "project_root",
    "bead_id",
    "from_agent",
    "to_agent",
    "scope",
    "created_at",
    "payload",
}
HANDOFF = {
    "to": "cobalt-harbor",
    "bead_id": "bd-1",
    "subject": "Parser",
    "summary": "Reads v2.",
    "next_action": "Test v1.",
}
BLOCKED = {
    "to": "cobalt-harbor",
    "bead_id": "bd-1",
    "subject": "Key",
    "blocker": "No access.",
    "requested_action": "Grant it.",
    "urgency": "high",
}


@pytest.fixture
def amber(lh: Lh) -> dict[str, Any]:
    join(lh, "cobalt-harbor", "ui")
    return join(lh, "amber-otter")


@pytest.mark.proves("OPS-038", "OPS-039", "OPS-040", "OPS-041")
def test_every_event_comes_in_the_same_envelope(lh: Lh, amber: dict[str, Any]) -> None:
    sent = lh("agents.handoff", **amber, **HANDOFF, scope="src/parser/*")
    event = sent["event"]
    assert set(event) - {"ref"} == FIELDS
    assert re.fullmatch(r"proto_20270115_\d{3,}", event["id"])
    assert event["version"] == "v1"
    assert event["event_type"] == "HANDOFF"
    assert event["project_root"] == str(lh.house.settings.project_root)
    assert (event["bead_id"], event["scope"]) == ("bd-1", "src/parser/*")
    assert (event["from_agent"], event["to_agent"]) == ("amber-otter", "cobalt-harbor")
    assert event["created_at"] == "2027-01-15T08:00:00.000Z"
    assert lh("agents.handoff", **amber, **HANDOFF)["event"]["scope"] is None
    stuck = lh("agents.blocked", **amber, **BLOCKED, scope="src/parser/*")
    assert stuck["event"]["scope"] == "src/parser/*"
    lh("agents.reserve", **amber, scope="src", bead_id="bd-1")
    rival = lh("agents.adopt", agent="cobalt-harbor", interactive=True, confirm=True)
    theirs = {"agent": "cobalt-harbor", "agent_token": rival["agent_token"]}
    lh.refused("agents.reserve", **theirs, scope="src/a", bead_id="bd-1")
    lh("agents.adopt", **amber)
    told = [
        row["event"]
        for row in lh("agents.conversation", bead_id="bd-1")["thread"]
        if row["type"] == "protocol"
    ] + [rival["event"]]
    kinds = {"HANDOFF", "BLOCKED", "INCURSION", "RESUME"}
    assert {one["event_type"] for one in told} == kinds
    for one in told:
        assert (set(one) - {"ref"}, one["version"]) == (FIELDS, "v1"), one
        assert None not in (one["from_agent"], one["to_agent"]), one


@pytest.mark.proves("OPS-042")
def test_a_handoff_says_what_was_done_and_what_comes_next(lh: Lh, amber: dict[str, Any]) -> None:
    sent = lh("agents.handoff", **amber, **HANDOFF)
    assert sent["event"]["payload"] == {
        "subject": "Parser",
        "summary": "Reads v2.",
        "next_action": "Test v1.",
        "requires_ack": True,
    }
    assert sent["message"]["requires_ack"] is True
    assert sent["message"]["body"] == "Reads v2.\n\nNext: Test v1."
    quiet = lh("agents.handoff", **amber, **HANDOFF, requires_ack=False)
    assert quiet["event"]["payload"]["requires_ack"] is False
    assert quiet["message"]["requires_ack"] is False


@pytest.mark.proves("OPS-043", "OPS-044")
def test_a_call_for_help_says_what_is_in_the_way(lh: Lh, amber: dict[str, Any]) -> None:
    sent = lh("agents.blocked", **amber, **BLOCKED)
    assert sent["event"]["payload"] == {
        "subject": "Key",
        "blocker": "No access.",
        "requested_action": "Grant it.",
        "urgency": "high",
        "requires_ack": True,
    }
    for urgency in ("low", "medium", "high"):
        sent = lh("agents.blocked", **amber, **{**BLOCKED, "urgency": urgency})
        assert sent["event"]["payload"]["urgency"] == urgency
    wrong = lh.refused("agents.blocked", **amber, **{**BLOCKED, "urgency": "extreme"})
    assert wrong["code"] == "INVALID_INPUT"
    refused = lh.refused("agents.blocked", **amber, **BLOCKED, requires_ack=False)
    assert refused["code"] == "INVALID_INPUT"


@pytest.mark.proves("OPS-047")
@pytest.mark.parametrize(
    "cmd,whole",
    [("agents.handoff", HANDOFF), ("agents.blocked", BLOCKED)],
)
def test_what_lacks_a_part_is_refused_and_not_kept(
    lh: Lh, amber: dict[str, Any], cmd: str, whole: dict[str, Any]
) -> None:
    before = fingerprint(lh)
    for name in set(whole) - {"urgency"}:
        rest = {key: value for key, value in whole.items() if key != name}
        lacking = "MISSING_BEAD_ID" if name == "bead_id" else "INVALID_INPUT"
        assert lh.refused(cmd, **amber, **rest)["code"] == lacking
        blank = lh.refused(cmd, **amber, **{**whole, name: "  "})
        assert blank["code"] in ("INVALID_MESSAGE", "MISSING_BEAD_ID", "UNKNOWN_RECIPIENT")
    if "urgency" in whole:
        wrong = {**whole, "urgency": "extreme"}
        assert lh.refused(cmd, **amber, **wrong)["code"] == "INVALID_INPUT"
    assert fingerprint(lh) == before


def test_an_event_to_a_role_is_one_event_for_each(lh: Lh, amber: dict[str, Any]) -> None:
    join(lh, "misty-heron", "ui")
    sent = lh("agents.handoff", **amber, **{**HANDOFF, "to": "role:ui"})
    events = [sent["event"], *sent["events"]]
    assert [one["to_agent"] for one in events] == ["cobalt-harbor", "misty-heron"]
    assert len({one["id"] for one in events}) == 2


@pytest.mark.proves("OPS-038", "OPS-039")
@pytest.mark.parametrize("category", ["INFO", "DECISION"])
def test_notes_are_events_too(lh: Lh, amber: dict[str, Any], category: str) -> None:
    lh(
        "agents.send",
        **amber,
        to="cobalt-harbor",
        bead_id="bd-1",
        subject="s",
        body="long " * 90,
        category=category,
    )
    (row,) = lh("agents.conversation", bead_id="bd-1")["thread"]
    assert lh.lines("agents.conversation", bead_id="bd-1")[1].endswith(" by=amber-otter s")
    assert (row["type"], row["event"]["event_type"]) == ("protocol", category)
    assert (set(row["event"]) - {"ref"}, row["event"]["version"]) == (FIELDS, "v1")
    assert (row["event"]["from_agent"], row["event"]["to_agent"]) == (
        "amber-otter",
        "cobalt-harbor",
    )
    assert len(row["event"]["payload"]["snippet"]) <= 200
    assert row["message"]["body"] == ("long " * 90).strip()
