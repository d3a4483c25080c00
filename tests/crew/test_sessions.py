"""Sessions: who works on what, and the whole conversation of a work item."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.crew.sessions import groups, session_state
from longhouse.crew.types.entities import Agent
from longhouse.crew.types.sessions import Epic
from tests.contracts.world import fingerprint
from tests.crew.kit import MINUTE, item, join, use
from tests.kit import Lh


def agent(name: str = "amber-otter", **changes: Any) -> Agent:
    values: dict[str, Any] = {
        "kind": "agent",
        "display_name": name,
        "role": "ui",
        "status": "working",
        "liveness": "active",
        "created_at": "",
        "last_seen_at": "",
        **changes,
    }
    return Agent(agent_id=name, session_agent_id=name, logical_agent_id=name, **values)


@pytest.mark.parametrize(
    "of_item,of_owner,due,quiet,expected",
    [
        ({"done": True}, {"status": "stuck"}, True, True, "completed"),
        ({}, {"status": "stuck", "liveness": "evicted"}, True, True, "stuck"),
        ({}, {"status": "dead", "liveness": "stale"}, False, True, "dead"),
        ({"blocked": True}, {"liveness": "evicted"}, False, False, "needs_input"),
        ({"in_progress": True}, {}, True, False, "needs_input"),
        ({"in_progress": True}, {"liveness": "evicted"}, False, False, "evicted"),
        ({"in_progress": True}, {"liveness": "stale"}, False, False, "stale"),
        ({"in_progress": True}, {}, False, True, "stale"),
        ({"in_progress": True}, {}, False, False, "active"),
        ({}, {}, False, False, "deciding"),
        ({}, None, False, False, "deciding"),
        ({"in_progress": True}, None, False, True, "stale"),
    ],
)
def test_the_state_of_a_session(
    of_item: dict[str, Any], of_owner: dict[str, Any] | None, due: bool, quiet: bool, expected: str
) -> None:
    owner = agent(**of_owner) if of_owner is not None else None
    assert session_state(item("TR-1", **of_item), owner, due=due, quiet=quiet) == expected


@pytest.mark.parametrize(
    "states,health",
    [
        (["active"], "active"),
        (["active", "stale"], "warning"),
        (["active", "stale", "evicted"], "critical"),
        (["evicted", "evicted"], "offline"),
    ],
)
def test_the_health_of_a_role(states: list[Any], health: str) -> None:
    crew = [agent(f"agent-{number}", liveness=state) for number, state in enumerate(states)]
    (group,) = groups(crew)
    assert (group.role, group.health, len(group.agents)) == ("ui", health, len(states))
    assert groups([]) == []


def test_a_card_tells_who_and_how_far_and_what_waits(lh: Lh) -> None:
    a = join(lh, "amber-otter")
    join(lh, "cobalt-harbor")
    epic = Epic(id="TR-0", title="Parser", status="open")
    use(
        lh,
        item("TR-1", assignee="amber-otter", in_progress=True, status="ACTIVE", epic=epic),
        item("TR-2", assignee="ghost-otter", in_progress=True),
        item("TR-3", done=True),
    )
    lh.clock.advance(MINUTE)
    lh("agents.send", **a, to="cobalt-harbor", bead_id="TR-1", subject="Almost", body="One left.")
    feed = lh("agents.sessions")
    first, second, third = feed["sessions"]
    assert first == {
        "id": "TR-1",
        "title": "Item TR-1",
        "status": "ACTIVE",
        "session_state": "active",
        "epic": {"id": "TR-0", "title": "Parser", "status": "open"},
        "owner": "amber-otter",
        "last_actor": "amber-otter",
        "last_activity_at": "2027-01-15T08:01:00.000Z",
        "communication": {"unread_count": 1, "pending_required": False, "latest_snippet": "Almost"},
    }
    assert second["epic"] == {"id": "uncategorized", "title": "Uncategorized"}
    assert second["session_state"] == "active"
    assert third["session_state"] == "completed"
    assert [one["agent_id"] for one in feed["agents"]] == ["amber-otter"]
    assert feed["groups"] == [{"role": "agent", "agents": ["amber-otter"], "health": "active"}]


def test_what_waits_to_be_accepted_needs_input_until_it_is(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    use(lh, item("TR-1", assignee="amber-otter", in_progress=True))

    def state() -> tuple[str, int]:
        (card,) = lh("agents.sessions")["sessions"]
        return card["session_state"], card["communication"]["unread_count"]

    sent = lh(
        "agents.blocked",
        **a,
        to="cobalt-harbor",
        bead_id="TR-1",
        subject="Key",
        blocker="No access.",
        requested_action="Grant it.",
    )["message"]
    assert state() == ("needs_input", 1)
    lh("agents.read", **b, message=sent["message_id"])
    assert state() == ("needs_input", 0)
    lh("agents.ack", **b, message=sent["message_id"])
    assert state() == ("active", 0)
    lh.clock.advance(14 * MINUTE)
    lh("agents.heartbeat", **a)
    lh.clock.advance(MINUTE)
    assert state() == ("stale", 0)
    lh("agents.reserve", **a, scope="src", bead_id="TR-1")
    assert state() == ("active", 0)
    lh.clock.advance(30 * MINUTE)
    assert state() == ("evicted", 0)


def test_incursions_of_the_last_day_are_on_the_page(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **a, scope="src/lib/*", bead_id="bd-1")
    lh.refused("agents.reserve", **b, scope="src/lib/parser.ts", bead_id="bd-2")
    (event,) = lh("agents.sessions")["incursions"]
    assert (event["event_type"], event["payload"]["incursion_kind"]) == ("INCURSION", "partial")
    lh.clock.advance(25 * 60 * MINUTE)
    assert lh("agents.sessions")["incursions"] == []


def test_pages_meet_every_item_once_whatever_the_budget(lh: Lh) -> None:
    join(lh, "amber-otter")
    use(lh, *(item(f"TR-{number:03}", assignee="amber-otter") for number in range(40)))
    for args in ({"limit": 7}, {"limit": 50, "max_chars": 3000}):
        seen: list[str] = []
        cursor = None
        for _ in range(40):
            page = lh("agents.sessions", **args, cursor=cursor)
            seen += [one["id"] for one in page["sessions"]]
            cursor = page.get("next_cursor")
            if not page["has_more"]:
                break
        assert seen == [f"TR-{number:03}" for number in range(40)]


def test_the_conversation_is_everything_in_order(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **a, scope="src/*", bead_id="bd-1")
    lh.refused("agents.reserve", **b, scope="src/a", bead_id="bd-1")
    sent = lh(
        "agents.handoff",
        **a,
        to="cobalt-harbor",
        bead_id="bd-1",
        subject="Parser",
        summary="Reads v2.",
        next_action="Test v1.",
    )["message"]
    lh(
        "agents.send",
        **a,
        to="cobalt-harbor",
        bead_id="bd-1",
        category="HANDOFF",
        subject="Also",
        body="free text",
    )
    lh("agents.read", **b, message=sent["message_id"])
    lh("agents.ack", **b, message=sent["message_id"])
    lh("agents.release", **a, scope="src/*")
    lh("agents.send", **a, to="cobalt-harbor", bead_id="bd-2", subject="elsewhere", body="x")
    whole = lh("agents.conversation", bead_id="bd-1")["thread"]
    assert [(row["type"], row["label"], row["actor"]) for row in whole] == [
        ("activity", "Reserved", "amber-otter"),
        ("protocol", "Reservation conflict", "cobalt-harbor"),
        ("protocol", "Passed to", "amber-otter"),
        ("message", "Passed to", "amber-otter"),
        ("activity", "Seen", "cobalt-harbor"),
        ("activity", "Accepted", "cobalt-harbor"),
        ("activity", "Released", "amber-otter"),
    ]
    assert whole[2]["message"]["state"] == "acked"
    page = lh("agents.conversation", bead_id="bd-1", limit=3)
    before = lh("agents.conversation", bead_id="bd-1", limit=10, cursor=page["next_cursor"])
    assert before["thread"] + page["thread"] == whole
    assert lh.lines("agents.conversation", bead_id="bd-1")[0] == "conversation bd-1 count=7"
    assert lh("agents.conversation", bead_id="bd-9")["thread"] == []


@pytest.mark.proves("OPS-001", "OPS-002")
def test_no_command_of_the_crew_changes_a_work_item_or_anything_but_its_own(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    items = (item("TR-1", assignee="amber-otter", in_progress=True),)
    use(lh, *items)
    before = fingerprint(lh)
    lh("agents.reserve", **a, scope="src/*", bead_id="TR-1")
    lh.refused("agents.reserve", **b, scope="src/a", bead_id="TR-1")
    sent = lh(
        "agents.handoff",
        **a,
        to="cobalt-harbor",
        bead_id="TR-1",
        subject="s",
        summary="x",
        next_action="y",
    )["message"]
    lh("agents.ack", **b, message=sent["message_id"])
    lh("agents.release", **a, scope="src/*")
    lh("agents.adopt", agent="amber-otter")
    lh("agents.retire", **b)
    after = fingerprint(lh)
    changed = {name for name, rows in after.items() if rows != before[name]}
    own = {"reservations", "incursions", "messages", "item_talk"}
    assert changed <= own | {"agents", "counters", "log", "workspaces", "search_fresh"}
    (card,) = lh("agents.sessions")["sessions"]
    assert (card["status"], card["owner"]) == (items[0].status, items[0].assignee)
