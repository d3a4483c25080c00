"""Identities: unique names, tokens that prove them, and retirement."""

from __future__ import annotations

import pytest

from longhouse.crew.errors import NameGenerationExhausted
from longhouse.crew.names import ADJECTIVES, ATTEMPTS, NOUNS, generate
from longhouse.dispatch import Caller
from longhouse.kernel.registry import Role
from tests.contracts.world import fingerprint
from tests.crew.kit import MINUTE, join
from tests.kit import CountedIds, Lh


@pytest.mark.proves("OPS-004")
def test_a_new_identity_is_idle_and_shown_as_it_was_asked(lh: Lh) -> None:
    named = {"role": "ui", "display_name": "Amber", "rig": "linux-laptop"}
    made = lh("agents.register", name="amber-otter", **named)
    agent = made["agent"]
    assert (agent["status"], agent["display_name"], agent["role"]) == ("idle", "Amber", "ui")
    ids = [agent[f"{which}agent_id"] for which in ("", "session_", "logical_")]
    assert ids == ["amber-otter"] * 3
    assert agent["liveness"] == "active"
    assert made["agent_token"].startswith("lha_")
    assert "agent_token" not in lh("agents.show", agent="amber-otter")["agent"]


@pytest.mark.proves("OPS-009", "OPS-010")
def test_a_name_in_use_is_refused_to_everyone_else(lh: Lh) -> None:
    mine = join(lh, "amber-otter", role="ui")
    before = fingerprint(lh)
    envelope = lh.envelope("agents.register", name="amber-otter")
    assert envelope["error"]["code"] == "DUPLICATE_AGENT_ID"
    lh.clock.advance(90 * MINUTE)
    forced = {"name": "amber-otter", "force_update": True}
    assert lh.refused("agents.register", name=" amber-otter ")["code"] == "DUPLICATE_AGENT_ID"
    assert lh.refused("agents.register", **forced)["code"] == "AGENT_TOKEN_REQUIRED"
    assert fingerprint(lh) == before
    lh.run_actions(envelope)
    lh("agents.retire", **mine)
    assert lh.refused("agents.register", name="amber-otter")["code"] == "DUPLICATE_AGENT_ID"


def test_its_own_session_may_change_how_it_is_shown(lh: Lh) -> None:
    mine = join(lh, "amber-otter", role="ui", display_name="Amber")
    created = lh("agents.show", agent="amber-otter")["agent"]["created_at"]
    lh.clock.advance(MINUTE)
    changed = lh(
        "agents.register",
        name="amber-otter",
        role="graph",
        display_name="Otter",
        status="stuck",
        force_update=True,
        agent_token=mine["agent_token"],
    )["agent"]
    assert (changed["role"], changed["display_name"], changed["status"]) == (
        "graph",
        "Otter",
        "stuck",
    )
    assert (changed["agent_id"], changed["created_at"]) == ("amber-otter", created)
    assert lh("agents.heartbeat", **mine)["agent"]["role"] == "graph"


@pytest.mark.parametrize(
    "name", ["Bad_Name", "ab", "a" * 49, "-a-b", "a--b", "a b", "émile", "../x", "a" * 200]
)
def test_an_invalid_name_is_refused_with_what_is_allowed(lh: Lh, name: str) -> None:
    error = lh.refused("agents.register", name=name)
    assert error["code"] == "INVALID_AGENT_ID"
    assert "amber-otter" in error["recovery"]


def test_a_blank_role_is_refused(lh: Lh) -> None:
    assert lh.refused("agents.register", name="amber-otter", role=" ")["code"] == "INVALID_ROLE"


@pytest.mark.proves("OPS-011")
def test_a_generated_name_is_an_adjective_and_a_noun(lh: Lh) -> None:
    names = [lh("agents.register")["agent"]["agent_id"] for _ in range(5)]
    assert len(set(names)) == 5
    for name in names:
        adjective, noun = name.split("-")
        assert adjective in ADJECTIVES
        assert noun in NOUNS


def test_the_lists_are_large_and_hold_each_word_once() -> None:
    assert len(set(ADJECTIVES)) == len(ADJECTIVES)
    assert len(set(NOUNS)) == len(NOUNS)
    assert len(ADJECTIVES) * len(NOUNS) > 39_000


@pytest.mark.proves("OPS-011")
def test_names_that_are_taken_are_drawn_again_and_counted() -> None:
    first, _ = generate(CountedIds(), lambda _: False)
    drawn: list[str] = []

    def taken(name: str) -> bool:
        drawn.append(name)
        return len(drawn) < 3

    name, collisions = generate(CountedIds(), taken)
    assert (collisions, len(drawn)) == (2, 3)
    assert name != first
    adjective, noun = name.split("-")
    assert (adjective in ADJECTIVES, noun in NOUNS) == (True, True)
    with pytest.raises(NameGenerationExhausted) as refused:
        generate(CountedIds(), lambda _: True)
    assert refused.value.code == "NAME_GENERATION_EXHAUSTED"
    assert str(ATTEMPTS) in refused.value.message


def test_the_list_is_by_name_and_by_role(lh: Lh) -> None:
    for name, role in (("agent-b", "ui"), ("agent-a", "graph"), ("agent-c", "ui")):
        join(lh, name, role)
    assert [a["agent_id"] for a in lh("agents.list")["agents"]] == ["agent-a", "agent-b", "agent-c"]
    assert [a["agent_id"] for a in lh("agents.list", role="ui")["agents"]] == ["agent-b", "agent-c"]
    page = lh("agents.list", limit=2)
    rest = lh("agents.list", limit=2, cursor=page["next_cursor"])
    assert [a["agent_id"] for a in rest["agents"]] == ["agent-c"]
    assert lh.lines("agents.list", role="graph")[:2] == [
        "agents count=1",
        "agent-a active role=graph",
    ]


def test_the_list_can_begin_with_who_was_seen_last(lh: Lh) -> None:
    joined = {}
    for name in ("agent-a", "agent-b", "agent-c"):
        joined[name] = join(lh, name)
        lh.clock.advance(MINUTE)
    lh("agents.heartbeat", **joined["agent-a"])
    found = lh("agents.list", order="seen", limit=2)
    assert [agent["agent_id"] for agent in found["agents"]] == ["agent-a", "agent-c"]
    assert found["has_more"]
    assert found.get("next_cursor") is None
    refused = lh.refused("agents.list", order="seen", cursor="agent-a")
    assert refused["code"] == "INVALID_INPUT"


@pytest.mark.proves("OPS-016", "OPS-017")
def test_a_heartbeat_moves_last_seen_and_nothing_else(lh: Lh) -> None:
    mine = join(lh, "amber-otter")
    before, rows = lh("agents.show", agent="amber-otter")["agent"], fingerprint(lh)
    (row,) = rows["agents"]
    lh.clock.advance(MINUTE)
    first = lh("agents.heartbeat", **mine)["agent"]
    again = lh("agents.heartbeat", **mine)["agent"]
    assert first == again
    assert first["last_seen_at"] == "2027-01-15T08:01:00.000Z" > before["last_seen_at"]
    assert {**first, "last_seen_at": ""} == {**before, "last_seen_at": ""}
    seen = f"('last_seen_at_ms', {lh.clock.now_ms()})"
    moved = row.replace(f"('last_seen_at_ms', {lh.clock.now_ms() - MINUTE})", seen)
    assert fingerprint(lh) == {**rows, "agents": [moved]}
    lh("agents.reserve", **mine, scope="src", bead_id="bd-1")
    rows = fingerprint(lh)
    lh.clock.advance(MINUTE)
    lh("agents.heartbeat", **mine)
    beaten = fingerprint(lh)
    changed = {name for name, now in beaten.items() if now != rows[name]}
    assert changed == {"agents", "reservations"}, "which last as long as their owner is there"
    lh("agents.heartbeat", **mine)
    assert fingerprint(lh) == beaten


def test_a_ghost_has_no_heartbeat(lh: Lh) -> None:
    token = "lha_" + "0" * 48
    error = lh.refused("agents.heartbeat", agent="ghost-otter", agent_token=token)
    assert error["code"] == "AGENT_NOT_FOUND"
    assert "ghost-otter" in error["message"]


def test_a_clock_that_goes_backwards_takes_no_sign_of_life_back(lh: Lh) -> None:
    mine = join(lh, "amber-otter")
    lh.clock.advance(-10 * MINUTE)
    seen = lh("agents.heartbeat", **mine)["agent"]
    assert seen["last_seen_at"] == "2027-01-15T08:00:00.000Z"
    assert seen["liveness"] == "active"


def test_retiring_releases_everything_and_ends_the_identity(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    for number in range(30):
        lh("agents.reserve", **a, scope=f"src/{number}", bead_id="bd-1")
    gone = lh("agents.retire", **a)
    assert gone["released"] == 30
    assert (gone["agent"]["liveness"], "retired_at" in gone["agent"]) == ("evicted", True)
    assert lh("agents.reserve", **b, scope="src/*", bead_id="bd-2")["reservation"]
    for cmd in ("agents.heartbeat", "agents.retire"):
        assert lh.refused(cmd, **a)["code"] == "AGENT_NOT_FOUND"
    assert [one["agent_id"] for one in lh("agents.list")["agents"]] == ["cobalt-harbor"]
    assert lh("agents.list", include_retired=True)["count"] == 2
    say = {"to": "amber-otter", "bead_id": "bd-1", "subject": "s", "body": "b"}
    assert lh.refused("agents.send", **b, **say)["code"] == "UNKNOWN_RECIPIENT"


def test_the_log_names_who_proved_to_act_not_who_says_so(lh: Lh) -> None:
    mine = join(lh, "amber-otter")
    lh("agents.reserve", **mine, scope="src", bead_id="bd-1", agent_id="cobalt-harbor")
    (row,) = lh("agents.conversation", bead_id="bd-1")["thread"]
    assert row["actor"] == "amber-otter"


def test_a_viewer_may_look_and_not_act(lh: Lh) -> None:
    mine = join(lh, "amber-otter")
    look = lh.house.call("agents.list", {}, Caller(Role.VIEWER))
    act = lh.house.call("agents.heartbeat", mine, Caller(Role.VIEWER))
    assert (look.success, act.code) == (True, "FORBIDDEN")


def test_a_token_that_slips_into_a_text_is_hidden(lh: Lh) -> None:
    a = join(lh, "amber-otter")
    lh(
        "agents.send",
        **a,
        to="amber-otter",
        bead_id="bd-1",
        subject="mine",
        body=f"my token is {a['agent_token']}, keep it",
    )
    assert a["agent_token"] not in str(lh("agents.inbox", agent="amber-otter"))
