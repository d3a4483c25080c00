"""Cases that are easy to get wrong when coordinating agents, and the test that covers each.

Most are tested with their subject; those that need their own sequence of events are here, minute by
minute. Where an older tool used other terms (takeover modes, a fourth liveness, separate events for
reading and accepting), the case uses ours.
"""

from __future__ import annotations

import ast
from pathlib import Path
from typing import Any

import pytest

from tests.crew.kit import MINUTE, item, join, use
from tests.kit import Lh

ROOT = Path(__file__).parents[2]

CASES: dict[int, tuple[str, str]] = {
    1: (
        "extra and trailing slashes do not change a scope; the normal form is absolute",
        "crew/test_scopes.py::test_one_place_has_one_normal_form",
    ),
    2: (
        "a file against itself is exact",
        "crew/test_scopes.py::test_two_scopes_overlap_as_the_table_says",
    ),
    3: (
        "a folder against a file in it is partial, in both orders",
        "crew/test_scopes.py::test_two_scopes_overlap_as_the_table_says",
    ),
    4: (
        "src/* against a file below is partial, in both orders",
        "crew/test_scopes.py::test_two_scopes_overlap_as_the_table_says",
    ),
    5: (
        "sibling folders and sibling files are disjoint",
        "crew/test_scopes.py::test_two_scopes_overlap_as_the_table_says",
    ),
    6: (
        "14 minutes active, 15 and 29 stale, 30, 59, 60 and 120 evicted",
        "crew/test_liveness.py::test_silence_turns_stale_and_then_evicted",
    ),
    7: (
        "with 5 minutes: 4 active, 5 and 9 stale, 10 evicted",
        "crew/test_liveness.py::test_silence_turns_stale_and_then_evicted",
    ),
    8: (
        "an owner seen a minute or two ago keeps its scope, whatever the flag",
        "crew/test_cases.py::test_who_was_seen_just_now_keeps_its_scope",
    ),
    9: (
        "at 16 minutes a takeover needs the flag, and with it succeeds",
        "crew/test_cases.py::test_who_is_silent_is_taken_over_only_with_the_flag",
    ),
    10: (
        "at 31 minutes the same",
        "crew/test_cases.py::test_who_is_silent_is_taken_over_only_with_the_flag",
    ),
    11: (
        "an expired reservation is taken over with the flag; its former owner cannot release it",
        "crew/test_reservations.py::test_a_reservation_whose_time_ran_out_needs_the_flag_too",
    ),
    12: (
        "an expired reservation is counted as expired and not shown",
        "crew/test_reservations.py::test_a_reservation_whose_time_ran_out_needs_the_flag_too",
    ),
    13: (
        "another agent is refused a minute after a two-hour reservation was made",
        "crew/test_cases.py::test_who_was_seen_just_now_keeps_its_scope",
    ),
    14: (
        "an item shows its reservation and unaccepted messages until they are settled",
        "crew/test_reservations.py::"
        "test_a_reservation_and_a_handoff_show_in_the_status_of_the_item",
    ),
    15: (
        "a new identity is idle; a second one is refused; only its own session may update it",
        "crew/test_identity.py::test_its_own_session_may_change_how_it_is_shown",
    ),
    16: (
        "the list is sorted by name and filtered by role",
        "crew/test_identity.py::test_the_list_is_by_name_and_by_role",
    ),
    17: (
        "a heartbeat leaves the tracker's file unchanged, byte for byte",
        "crew/test_beads.py::test_a_house_on_beads_shows_its_issues_and_leaves_the_file_alone",
    ),
    18: (
        "init registers with the platform in the rig",
        "surfaces/cli/test_agent.py::test_init_registers_the_name_that_is_asked_for_once",
    ),
    19: (
        "the newest sign of life wins over an old one",
        "crew/test_cases.py::test_the_newest_sign_of_life_wins",
    ),
    20: (
        "an unknown sender is reported first, then the recipient, the item, the category",
        "crew/test_mail.py::test_the_first_thing_that_is_wrong_is_named",
    ),
    21: (
        "unread, read at 00:02, accepted at 00:03, and the inbox filters by state",
        "crew/test_mail.py::test_a_message_is_unread_then_seen_then_accepted",
    ),
    22: (
        "the sender cannot accept for the recipient",
        "crew/test_mail.py::test_only_the_recipient_marks_a_message",
    ),
    23: (
        "a role reaches all its agents except the sender; it can be empty for two reasons",
        "crew/test_mail.py::test_a_role_gets_one_each_and_the_sender_none",
    ),
    24: (
        "each recipient of a handoff to a role accepts for itself",
        "crew/test_mail.py::test_a_role_gets_one_each_and_the_sender_none",
    ),
    25: (
        "a missing field is named; a body that is not JSON is a 400",
        "surfaces/http/test_crew.py::test_what_is_missing_or_wrong_is_named",
    ),
    26: (
        "an unknown reference changes nothing; reading after accepting stays accepted",
        "crew/test_cases.py::test_marks_in_any_order_end_where_they_should",
    ),
    27: (
        "active owners are never taken over, silent ones only with the flag",
        "crew/test_cases.py::test_who_may_be_taken_over",
    ),
    28: (
        "a released scope is free; a takeover records the owner's liveness; one incursion each",
        "crew/test_cases.py::test_a_scope_from_hand_to_hand",
    ),
    29: (
        "done beats stuck beats gone; dead beats silent; a day of silence; no epic",
        "crew/test_cases.py::test_a_day_of_silence_and_an_item_of_nothing",
    ),
    30: (
        "a group is in warning with a stale agent, critical with one evicted, offline with all",
        "crew/test_sessions.py::test_the_health_of_a_role",
    ),
    31: (
        "events are numbered, filtered and kept; those of one commit are sent together",
        "surfaces/http/test_crew.py::test_the_stream_numbers_filters_and_loses_nothing",
    ),
    32: (
        "two readings of Beads: created, closed, reopened; a new time alone is not a change",
        "crew/test_tracked.py::test_each_thing_that_changed_is_one_event",
    ),
    33: (
        "priority 0 is kept; non-issues and hidden issues are skipped; parent-child is the parent",
        "crew/test_beads.py::test_what_is_no_issue_is_skipped_and_what_is_hidden_is_not_shown",
    ),
    34: (
        "each failure of bd has its own error class, each change its argv",
        "surfaces/cli/test_beads.py::test_a_change_is_one_argv_and_then_told",
    ),
    35: (
        "names that are taken are counted, and the number of attempts is bounded",
        "crew/test_identity.py::test_names_that_are_taken_are_drawn_again_and_counted",
    ),
}


def test_every_case_is_held_by_a_test_that_is_there() -> None:
    assert list(CASES) == list(range(1, 36))
    for number, (_, where) in CASES.items():
        path, _, name = where.partition("::")
        module = ast.parse((ROOT / "tests" / path).read_text(encoding="utf-8"))
        tests = {node.name for node in module.body if isinstance(node, ast.FunctionDef)}
        assert name in tests, number


def want(who: dict[str, Any], scope: str = "src/lib", **more: Any) -> dict[str, Any]:
    return {**who, "scope": scope, "bead_id": "bd-1", **more}


@pytest.mark.parametrize("minutes", [1, 2])
@pytest.mark.parametrize("takeover", [False, True])
def test_who_was_seen_just_now_keeps_its_scope(lh: Lh, minutes: int, takeover: bool) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **want(a, ttl_minutes=120))
    lh.clock.advance(minutes * MINUTE)
    error = lh.refused("agents.reserve", **want(b, takeover_stale=takeover))
    assert (error["code"], "amber-otter" in error["message"]) == ("RESERVATION_CONFLICT", True)


@pytest.mark.parametrize("minutes", [16, 31])
def test_who_is_silent_is_taken_over_only_with_the_flag(lh: Lh, minutes: int) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **want(a))
    lh.clock.advance(minutes * MINUTE)
    assert lh.refused("agents.reserve", **want(b))["code"] == "RESERVATION_STALE_FOUND"
    taken = lh("agents.reserve", **want(b, takeover_stale=True))
    assert taken["reservation"]["agent_id"] == "cobalt-harbor"


def test_the_newest_sign_of_life_wins(lh: Lh) -> None:
    a = join(lh, "amber-otter")
    lh.clock.advance(-120 * MINUTE)
    lh("agents.heartbeat", **a)
    lh.clock.advance(120 * MINUTE)
    assert lh("agents.show", agent="amber-otter")["agent"]["liveness"] == "active"


def test_marks_in_any_order_end_where_they_should(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    note = {"to": "cobalt-harbor", "bead_id": "bd-1", "subject": "s", "body": "b"}
    first, second = (lh("agents.send", **a, **note)["messages"][0] for _ in range(2))
    before = lh("status")["seq"]
    assert lh.refused("agents.ack", **b, message="msg_999")["code"] == "MESSAGE_NOT_FOUND"
    assert lh("status")["seq"] == before
    for cmd in ("agents.read", "agents.ack"):
        lh(cmd, **b, message=first["message_id"])
    for cmd in ("agents.ack", "agents.read"):
        lh(cmd, **b, message=second["message_id"])
    inbox = lh("agents.inbox", agent="cobalt-harbor")["messages"]
    assert [(one["state"], one["read_at"] is None) for one in inbox] == [("acked", False)] * 2


@pytest.mark.proves("OPS-022", "OPS-023", "OPS-024", "OPS-025", "OPS-031")
@pytest.mark.parametrize(
    "silent,flag,code",
    [
        (0, False, "RESERVATION_CONFLICT"),
        (0, True, "RESERVATION_CONFLICT"),
        (15, False, "RESERVATION_STALE_FOUND"),
        (15, True, None),
        (30, False, "RESERVATION_STALE_FOUND"),
        (30, True, None),
        (90, False, "RESERVATION_STALE_FOUND"),
        (90, True, None),
    ],
)
@pytest.mark.parametrize("scope", ["src/lib", "src/*", "src/lib/parser.ts", r".\src//x/..\lib/"])
def test_who_may_be_taken_over(
    lh: Lh, silent: int, flag: bool, code: str | None, scope: str
) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **want(a))
    lh.clock.advance(silent * MINUTE)
    envelope = lh.envelope("agents.reserve", **want(b, scope, takeover_stale=flag))
    assert (envelope["error"] or {}).get("code") == code
    owners = [one["agent_id"] for one in lh("agents.status")["reservations"]]
    assert owners == ["amber-otter" if code else "cobalt-harbor"]


def test_a_scope_from_hand_to_hand(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    held = lh("agents.reserve", **want(a, "src/lib/*"))["reservation"]
    assert (held["state"], held["agent_id"]) == ("active", "amber-otter")
    freed = lh("agents.release", **a, scope="src/lib/*")["reservation"]
    assert freed["state"] == "released"
    assert lh("agents.status")["reservations"] == []
    lh("agents.reserve", **want(a, "src/lib/*"))
    lh.refused("agents.reserve", **want(b, "src/lib/parser.ts", takeover_stale=True))
    (incursion,) = lh("agents.sessions")["incursions"]
    assert incursion["payload"]["incursion_kind"] == "partial"
    assert [r["agent_id"] for r in lh("agents.status")["reservations"]] == ["amber-otter"]
    lh.clock.advance(16 * MINUTE)
    taken = lh("agents.reserve", **want(b, "src/lib/parser.ts", takeover_stale=True))
    assert [r["agent_id"] for r in lh("agents.status")["reservations"]] == ["cobalt-harbor"]
    row = next(
        one
        for one in lh("agents.conversation", bead_id="bd-1")["thread"]
        if one["seq"] == taken["reservation"]["seq"]
    )
    (mode,) = row["data"]["taken_over"]
    assert (mode["agent"], mode["liveness"]) == ("amber-otter", "stale")


def test_a_day_of_silence_and_an_item_of_nothing(lh: Lh) -> None:
    a = join(lh, "amber-otter")
    mine = {"assignee": "amber-otter"}
    use(
        lh,
        item("TR-1", in_progress=True),
        item("TR-2", done=True, **mine),
        item("TR-3", blocked=True),
        item("TR-4", in_progress=True, **mine),
    )
    lh(
        "agents.register",
        name="amber-otter",
        force_update=True,
        status="stuck",
        agent_token=a["agent_token"],
    )
    lh.clock.advance(25 * 60 * MINUTE)
    cards = {one["id"]: one for one in lh("agents.sessions")["sessions"]}
    assert {id_: one["session_state"] for id_, one in cards.items()} == {
        "TR-1": "stale",
        "TR-2": "completed",
        "TR-3": "needs_input",
        "TR-4": "stuck",
    }
    assert cards["TR-1"]["epic"] == {"id": "uncategorized", "title": "Uncategorized"}
