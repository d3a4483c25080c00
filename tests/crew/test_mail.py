"""The inbox: delivered once to each recipient, who alone may read and accept."""

from __future__ import annotations

from typing import Any

import pytest

from tests.contracts.world import fingerprint
from tests.crew.kit import MINUTE, join
from tests.kit import Lh

HOSTILE = [
    "don't; echo INJECTED; can't",
    "$(rm -rf ~)",
    "`id`",
    "'; DROP TABLE messages; --",
    "\x1b[31mred\x07",
    "\u202eevil",
    "<script>alert(1)</script>",
    "{{7*7}}",
    "a\r\nb",
    "%s%n",
    "💥" * 100,
    "null",
]


def note(**changes: Any) -> dict[str, Any]:
    return {
        "to": "cobalt-harbor",
        "bead_id": "bd-1",
        "subject": "Parser",
        "body": "Done.",
        **changes,
    }


@pytest.fixture
def amber(lh: Lh) -> dict[str, Any]:
    return join(lh, "amber-otter", "graph")


@pytest.fixture
def cobalt(lh: Lh) -> dict[str, Any]:
    return join(lh, "cobalt-harbor", "ui")


def test_the_first_thing_that_is_wrong_is_named(lh: Lh) -> None:
    ghost = {"agent": "ghost-otter", "agent_token": "lha_" + "0" * 48}
    nobody = note(to="no-body", category="NOPE", bead_id=" ", subject=" ")
    assert lh.refused("agents.send", **ghost, **nobody)["code"] == "UNKNOWN_SENDER"
    amber = join(lh, "amber-otter")
    refused = lh.refused("agents.send", **amber, **nobody)
    assert refused["code"] == "UNKNOWN_RECIPIENT"
    assert refused["message"] == "to: there is no agent 'no-body'"
    join(lh, "cobalt-harbor")
    before = fingerprint(lh)
    for changes, code in (
        ({"bead_id": " ", "category": "NOPE"}, "MISSING_BEAD_ID"),
        ({"category": "NOPE", "subject": " "}, "INVALID_CATEGORY"),
        ({"subject": " "}, "INVALID_MESSAGE"),
        ({"body": "\n\t"}, "INVALID_MESSAGE"),
        ({"body": "x" * 1_000_000}, "INVALID_INPUT"),
    ):
        error = lh.refused("agents.send", **amber, **note(**changes))
        assert (error["code"], bool(error["recovery"])) == (code, True)
    assert fingerprint(lh) == before


def test_a_message_is_unread_then_seen_then_accepted(
    lh: Lh, amber: dict[str, Any], cobalt: dict[str, Any]
) -> None:
    (sent,) = lh("agents.send", **amber, **note(category="HANDOFF"))["messages"]
    assert (sent["state"], sent["requires_ack"], sent["thread_id"]) == ("unread", True, "bead:bd-1")
    which = {"message": sent["message_id"]}
    lh.clock.advance(2 * MINUTE)
    seen = lh("agents.read", **cobalt, **which)["message"]
    assert (seen["state"], seen["read_at"]) == ("read", "2027-01-15T08:02:00.000Z")
    lh.clock.advance(MINUTE)
    accepted = lh("agents.ack", **cobalt, **which)["message"]
    assert (accepted["state"], accepted["acked_at"]) == ("acked", "2027-01-15T08:03:00.000Z")
    assert accepted["read_at"] == seen["read_at"]
    states = {
        state: lh("agents.inbox", agent="cobalt-harbor", state=[state])["count"]
        for state in ("unread", "read", "acked")
    }
    assert states == {"unread": 0, "read": 0, "acked": 1}


def test_the_first_times_are_kept_and_repeats_change_nothing(
    lh: Lh, amber: dict[str, Any], cobalt: dict[str, Any]
) -> None:
    (sent,) = lh("agents.send", **amber, **note())["messages"]
    which = {"message": sent["message_id"]}
    first = lh("agents.ack", **cobalt, **which)["message"]
    assert first["read_at"] == first["acked_at"] is not None
    seq = lh("status")["seq"]
    lh.clock.advance(MINUTE)
    assert lh("agents.ack", **cobalt, **which)["message"] == first
    assert lh("agents.read", **cobalt, **which)["message"] == first
    assert lh("status")["seq"] == seq


def test_only_the_recipient_marks_a_message(
    lh: Lh, amber: dict[str, Any], cobalt: dict[str, Any]
) -> None:
    (sent,) = lh("agents.send", **amber, **note(category="HANDOFF"))["messages"]
    which = {"message": sent["message_id"]}
    for cmd, code in (("agents.ack", "ACK_FORBIDDEN"), ("agents.read", "READ_FORBIDDEN")):
        error = lh.refused(cmd, **amber, **which)
        assert (error["code"], "cobalt-harbor" in error["message"]) == (code, True)
        forged = {"agent": "cobalt-harbor", "agent_token": amber["agent_token"], **which}
        assert lh.refused(cmd, **forged)["code"] == "AGENT_TOKEN_REQUIRED"
        missing = lh.refused(cmd, **cobalt, message="msg_999")
        assert missing["code"] == "MESSAGE_NOT_FOUND"
        assert lh.refused(cmd, **cobalt, message="msg_1; ls")["code"] == "INVALID_INPUT"
        assert "message: expected" in lh.refused(cmd, **cobalt)["message"]
    assert lh("agents.inbox", agent="cobalt-harbor")["messages"][0]["state"] == "unread"


def test_a_role_gets_one_each_and_the_sender_none(lh: Lh, amber: dict[str, Any]) -> None:
    ui = [join(lh, name, "ui") for name in ("cobalt-harbor", "misty-heron")]
    sent = lh("agents.send", **amber, **note(to="role:ui", category="HANDOFF"))["messages"]
    assert [one["to_agent"] for one in sent] == ["cobalt-harbor", "misty-heron"]
    assert len({one["message_id"] for one in sent}) == 2
    lh("agents.ack", **ui[0], message=sent[0]["message_id"])
    assert lh("agents.inbox", agent="misty-heron")["messages"][0]["state"] == "unread"
    within = lh("agents.send", **ui[0], **note(to="role:ui"))["messages"]
    assert [one["to_agent"] for one in within] == ["misty-heron"]
    none = lh.refused("agents.send", **amber, **note(to="role:nobody"))
    alone = lh.refused("agents.send", **amber, **note(to="role:graph"))
    assert none["code"] == alone["code"] == "UNKNOWN_RECIPIENT"
    assert "no agents found with role" in none["message"]
    assert "all recipients" in alone["message"]


def test_a_broadcast_reaches_everyone_else_and_no_crowd(
    lh: Lh, amber: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    from longhouse.crew import messages

    assert "only you" in lh.refused("agents.send", **amber, **note(to="broadcast"))["message"]
    for number in range(3):
        join(lh, f"agent-{number}")
    assert lh("agents.send", **amber, **note(to="broadcast"))["count"] == 3
    monkeypatch.setattr(messages, "MOST_RECIPIENTS", 2)
    error = lh.refused("agents.send", **amber, **note(to="broadcast"))
    assert error["code"] == "INVALID_MESSAGE"


def test_a_person_is_a_correspondent_like_any_other(lh: Lh, amber: dict[str, Any]) -> None:
    alex = join(lh, "alex-chen", "lead", kind="person")
    asked = lh(
        "agents.blocked",
        **amber,
        to="alex-chen",
        bead_id="bd-1",
        subject="Key",
        blocker="No access.",
        requested_action="Grant it.",
    )["message"]
    assert lh("agents.ack", **alex, message=asked["message_id"])["message"]["state"] == "acked"
    lh("agents.send", **alex, **note(to="amber-otter", body="Granted."))
    (answer,) = lh("agents.inbox", agent="amber-otter")["messages"]
    assert (answer["from_agent"], answer["body"]) == ("alex-chen", "Granted.")
    rows = lh("agents.conversation", bead_id="bd-1")["thread"]
    assert [(row["label"], row["actor"]) for row in rows] == [
        ("Needs input", "amber-otter"),
        ("Accepted", "alex-chen"),
        ("Update", "alex-chen"),
    ]


def test_the_inbox_is_searched_and_paged_newest_first(
    lh: Lh, amber: dict[str, Any], cobalt: dict[str, Any]
) -> None:
    for number in range(6):
        lh(
            "agents.send",
            **amber,
            **note(
                subject=f"100% of {number}_x",
                bead_id=f"bd-{number % 2}",
                thread="t-1" if number < 2 else None,
            ),
        )
    mine = {"agent": "cobalt-harbor"}
    whole = [one["subject"] for one in lh("agents.inbox", **mine)["messages"]]
    assert whole == [f"100% of {number}_x" for number in range(5, -1, -1)]
    page = lh("agents.inbox", **mine, limit=4)
    rest = lh("agents.inbox", **mine, limit=4, cursor=page["next_cursor"])
    assert [m["subject"] for m in page["messages"] + rest["messages"]] == whole
    assert lh("agents.inbox", **mine, bead_id="bd-1")["count"] == 3
    assert lh("agents.inbox", **mine, thread="t-1")["count"] == 2
    for text, count in (
        ("OF 3", 1),
        ("100%", 6),
        ("%", 6),
        ("_", 6),
        ("3_x", 1),
        ("3%x", 0),
        ("done.", 6),
        ("!", 0),
        ("\\", 0),
    ):
        for state in ([], ["unread"]):
            found = lh("agents.inbox", **mine, text=text, state=state)
            assert found["count"] == count, (text, state)
    assert lh.refused("agents.inbox", agent="ghost-otter")["code"] == "AGENT_NOT_FOUND"
    assert lh.refused("agents.inbox", **mine, state=["lost"])["code"] == "INVALID_INPUT"
    assert lh.lines("agents.inbox", **mine, limit=1)[0] == "inbox agent=cobalt-harbor count=1"


def test_a_search_looks_past_what_holds_the_text_only_in_a_secret(
    lh: Lh, amber: dict[str, Any]
) -> None:
    hidden = "ghp_" + "sesame" * 6
    for body in ("Open, sesame", *(hidden for _ in range(5))):
        lh("agents.send", **amber, **note(to="amber-otter", body=body))
    found = lh("agents.inbox", agent="amber-otter", text="sesame", limit=1)
    assert [message["body"] for message in found["messages"]] == ["Open, sesame"]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_text_is_only_text(lh: Lh, amber: dict[str, Any], text: str) -> None:
    sent = lh("agents.send", **amber, **note(to="amber-otter", subject=text, body=f"x {text} y"))
    assert lh("agents.inbox", agent="amber-otter")["messages"] == sent["messages"]
    assert sent["messages"][0]["body"] == f"x {text} y"
    assert all("\n" not in line for line in lh.lines("agents.inbox", agent="amber-otter"))
    assert lh("open", id=sent["messages"][0]["message_id"])["message"]["subject"] == text.strip()


def test_status_tells_an_agent_of_its_mail(lh: Lh, amber: dict[str, Any]) -> None:
    assert "inbox" not in lh("status", agent_id="amber-otter")
    lh("agents.send", **amber, **note(to="amber-otter"))
    envelope = lh.envelope("status", agent_id="amber-otter")
    assert envelope["result"]["inbox"] == {"unread": 1, "due": 0}
    (answer,) = [a for a in lh.run_actions(envelope) if a.envelope["intent"] == "agents.inbox"]
    assert answer.envelope["result"]["count"] == 1
    assert "inbox" not in lh("status", agent_id="cobalt-harbor")
