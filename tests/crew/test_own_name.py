"""A connection that has proved to be an identity needs neither its name nor its token."""

from __future__ import annotations

from tests.desk.test_own_place import client, registered
from tests.kit import Lh


def test_who_registered_on_a_connection_is_not_asked_who_it_is(lh: Lh) -> None:
    lh("tasks.macro.start", task_title="Pay", steps=["one"])
    one, two = client(lh, "one"), client(lh, "two")
    registered(one, "ada")
    registered(two, "bob")
    held = one("agents.reserve", scope="src/pay/*", bead_id="TASK-001")["reservation"]
    assert held["agent_id"] == "ada"
    one("agents.renew")
    two("agents.send", to="ada", subject="Which?", body="Which card?", bead_id="TASK-001")
    (letter,) = one("agents.inbox")["messages"]
    assert letter["from_agent"] == "bob"
    assert one("agents.read", message=letter["message_id"])["message"]["state"] == "read"
    assert one("agents.heartbeat")["agent"]["agent_id"] == "ada"
    one("agents.release", scope="src/pay/*")
    handed = {"subject": "Yours", "summary": "Done", "next_action": "Read it"}
    one("agents.handoff", to="bob", bead_id="TASK-001", **handed)
    assert two("agents.inbox")["count"] == 1


def test_a_name_without_a_token_is_believed_only_on_the_connection_that_proved_it(lh: Lh) -> None:
    one, two = client(lh, "one"), client(lh, "two")
    ada = registered(one, "ada")
    assert one("agents.heartbeat", agent="ada")["agent"]["agent_id"] == "ada"
    refused = two.refused("agents.heartbeat", agent="ada")
    assert refused["code"] == "AGENT_TOKEN_REQUIRED"
    two("agents.heartbeat", **ada)
    assert two("agents.inbox")["agent_id"] == "ada"
    assert one.refused("agents.heartbeat", agent="ada")["code"] == "AGENT_TOKEN_REQUIRED"
    two("agents.retire", **ada)
    assert two.refused("agents.heartbeat")["code"] == "INVALID_INPUT"


def test_who_is_no_one_is_told_to_register(lh: Lh) -> None:
    nobody = client(lh, "one")
    for cmd, args in (("agents.inbox", {}), ("agents.reserve", {"scope": "src/*"})):
        error = nobody.refused(cmd, **args)
        assert (error["code"], error["hints"]) == (
            "INVALID_INPUT",
            [{"kind": "missing_required", "field": "agent"}],
        )
        assert "agents.register" in error["recovery"]


def test_the_mail_that_status_offers_can_be_read_by_whoever_is_offered_it(lh: Lh) -> None:
    lh("tasks.macro.start", task_title="Pay", steps=["one"])
    one, two = client(lh, "one"), client(lh, "two")
    ada = registered(one, "ada")
    registered(two, "bob")
    two("agents.send", to="ada", subject="Which?", body="Which card?", bead_id="TASK-001")
    for caller, proof in ((one, {}), (lh, ada)):
        answer = caller("status", view="full", **proof)
        assert answer["inbox"]["unread"] == 1
    bound = one._lh.house.call("status", {}, one.caller).envelope["actions"]
    loose = lh.portal("status", **ada).envelope["actions"]
    assert [a["args"]["args"].get("agent") for a in (bound[0], loose[0])] == [None, "ada"]
    for actions, caller in ((bound, one), (loose, lh)):
        given = {k: v for k, v in actions[0]["args"]["args"].items() if k != "workspace"}
        assert caller("agents.inbox", **given)["count"] == 1
