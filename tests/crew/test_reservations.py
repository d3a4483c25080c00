"""Reservations: who gets a scope, who is refused, and what is recorded."""

from __future__ import annotations

from typing import Any

import pytest

from longhouse.store.tx import Call
from tests.crew.kit import MINUTE, item, join, use
from tests.kit import CountedIds, Lh


def reserve(who: dict[str, Any], scope: str = "src", **more: Any) -> dict[str, Any]:
    return {**who, "scope": scope, "bead_id": "bd-1", **more}


def complaints(lh: Lh) -> list[str]:
    """What `verify` says of this room."""
    call = Call(now_ms=lh.clock.now_ms(), ids=CountedIds(), facts=lh.house.facts)
    checks = [check for check in lh.house.registry.checks if check.room == "crew"]
    assert len(checks) == 2
    return lh.house.db.read(
        "acme", lambda tx: [text for check in checks for text in check.complaints(tx)], call
    )


def log_of(lh: Lh) -> list[dict[str, Any]]:
    from longhouse.store.tx import sql

    call = Call(now_ms=lh.clock.now_ms(), ids=CountedIds(), facts=lh.house.facts)
    return lh.house.db.read("acme", lambda tx: tx.all(sql.log_after, after=0, limit=500), call)


@pytest.mark.proves("OPS-022", "OPS-045", "OPS-041")
@pytest.mark.parametrize("takeover", [False, True])
@pytest.mark.parametrize("minutes", [1, 14])
def test_an_active_owners_scope_is_refused_and_the_incursion_recorded(
    lh: Lh, takeover: bool, minutes: int
) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **reserve(a, "src/*", ttl_minutes=120))
    lh.clock.advance(minutes * MINUTE)
    wanted = {**b, "scope": "src/lib/parser.ts", "bead_id": "bd-2", "takeover_stale": takeover}
    error = lh.refused("agents.reserve", **wanted)
    assert error["code"] == "RESERVATION_CONFLICT"
    assert "amber-otter (active)" in error["message"]
    assert "amber-otter" in error["recovery"]
    (row,) = lh("agents.conversation", bead_id="bd-2")["thread"]
    assert (row["type"], row["kind"], row["label"]) == (
        "protocol",
        "INCURSION",
        "Reservation conflict",
    )
    assert (row["event"]["scope"], row["event"]["bead_id"]) == ("src/lib/parser.ts", "bd-2")
    assert row["event"]["payload"] == {
        "incursion_kind": "partial",
        "owner_agent": "amber-otter",
        "incoming_agent": "cobalt-harbor",
        "owner_liveness": "active",
        "resolution_hint": "ask amber-otter to release it, or wait",
    }
    assert [r["agent_id"] for r in lh("agents.status")["reservations"]] == ["amber-otter"]


@pytest.mark.proves("OPS-023", "OPS-024", "OPS-025", "OPS-026", "OPS-045")
@pytest.mark.parametrize(
    "silent,state", [(15, "stale"), (16, "stale"), (29, "stale"), (30, "evicted"), (90, "evicted")]
)
def test_a_silent_owners_scope_needs_the_flag(lh: Lh, silent: int, state: str) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **reserve(a))
    lh.clock.advance(silent * MINUTE)
    wanted = {**b, "scope": "src", "bead_id": "bd-2"}
    error = lh.refused("agents.reserve", **wanted)
    assert error["code"] == "RESERVATION_STALE_FOUND"
    assert f"amber-otter ({state})" in error["message"]
    assert "takeover_stale=true" in error["recovery"]
    taken = lh("agents.reserve", **wanted, takeover_stale=True)
    assert taken["reservation"]["agent_id"] == "cobalt-harbor"
    (prior,) = taken["taken_over"]
    assert (prior["agent_id"], prior["state"]) == ("amber-otter", "expired")
    assert prior["taken_over_by"] == "cobalt-harbor"
    assert taken["incursions"][0]["payload"]["owner_liveness"] == state
    assert taken["incursions"][0]["payload"]["incursion_kind"] == "exact"
    assert lh.refused("agents.release", **a, scope="src")["code"] == "RELEASE_FORBIDDEN"
    assert lh("agents.status")["summary"]["expired"] == 1
    assert complaints(lh) == []


@pytest.mark.proves("OPS-022")
def test_a_takeover_is_decided_once(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **reserve(a))
    lh.clock.advance(16 * MINUTE)
    lh("agents.reserve", **reserve(b, takeover_stale=True))
    lh("agents.heartbeat", **a)
    held = lh("agents.status")["reservations"]
    assert [one["agent_id"] for one in held] == ["cobalt-harbor"]
    error = lh.refused("agents.reserve", **reserve(a, takeover_stale=True))
    assert error["code"] == "RESERVATION_CONFLICT"


def test_a_reservation_whose_time_ran_out_needs_the_flag_too(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **reserve(a, ttl_minutes=5))
    lh.clock.advance(6 * MINUTE)
    status = lh("agents.status")
    assert (status["reservations"], status["summary"]["expired"]) == ([], 1)
    error = lh.refused("agents.reserve", **reserve(b))
    assert error["code"] == "RESERVATION_STALE_FOUND"
    assert "(expired)" in error["message"]
    assert lh("agents.reserve", **reserve(b, takeover_stale=True))["taken_over"]
    lh.clock.advance(MINUTE)
    assert lh.refused("agents.release", **a, scope="src")["code"] == "RELEASE_FORBIDDEN"


def test_the_minute_before_and_the_minute_it_runs_out(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **reserve(a, ttl_minutes=5))
    lh.clock.advance(5 * MINUTE - 1)
    assert lh.refused("agents.reserve", **reserve(b))["code"] == "RESERVATION_CONFLICT"
    lh.clock.advance(1)
    assert lh.refused("agents.reserve", **reserve(b))["code"] == "RESERVATION_STALE_FOUND"


def test_a_reservation_and_a_handoff_show_in_the_status_of_the_item(lh: Lh) -> None:
    a, _ = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **reserve(a))
    lh(
        "agents.send",
        **a,
        to="cobalt-harbor",
        bead_id="bd-1",
        category="HANDOFF",
        subject="s",
        body="b",
    )
    status = lh("agents.status", bead_id="bd-1")
    assert len(status["reservations"]) == len(status["unacked_required_messages"]) == 1
    assert lh("agents.release", **a, scope="src")["reservation"]["state"] == "released"
    status = lh("agents.status", bead_id="bd-1")
    assert status["reservations"] == []
    assert status["summary"] == {
        "active": 0,
        "released": 1,
        "expired": 0,
        "unacked_required_messages": 1,
    }
    assert lh("agents.status", agent="cobalt-harbor")["summary"]["released"] == 0
    assert lh.refused("agents.status", agent="ghost-otter")["code"] == "AGENT_NOT_FOUND"


def test_the_summary_counts_more_than_the_page_shows(lh: Lh) -> None:
    a = join(lh, "amber-otter")
    for number in range(5):
        lh("agents.reserve", **reserve(a, f"src/{number}"))
    status = lh("agents.status", limit=2)
    assert (status["count"], status["summary"]["active"], status["has_more"]) == (2, 5, True)
    rest = lh("agents.status", limit=10, cursor=status["next_cursor"])
    assert rest["count"] == 3


def test_who_reserves_again_renews(lh: Lh) -> None:
    a = join(lh, "amber-otter")
    first = lh("agents.reserve", **reserve(a, ttl_minutes=5))["reservation"]
    lh.clock.advance(MINUTE)
    again = lh("agents.reserve", **reserve(a, ttl_minutes=5))["reservation"]
    assert again["expires_at"] > first["expires_at"]
    assert lh("agents.status")["summary"]["active"] == 1
    inner = lh("agents.reserve", **reserve(a, "src/inner"))
    assert inner.get("incursions") is None
    assert lh("agents.status")["summary"]["active"] == 2
    assert complaints(lh) == []


def test_who_asks_again_in_vain_is_told_by_the_same_event(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **reserve(a, "src/*"))
    wanted = {**b, "scope": "src/lib", "bead_id": "bd-2"}
    first = lh.refused("agents.reserve", **wanted)
    (hint,) = first["hints"]
    assert (hint["kind"], hint["owner"]) == ("incursion", "amber-otter")
    seq = lh("status")["seq"]
    for _ in range(3):
        lh.clock.advance(MINUTE)
        lh("agents.heartbeat", **a)
        assert lh.refused("agents.reserve", **wanted)["hints"] == [hint]
    assert lh("status")["seq"] == seq
    (told,) = lh("agents.conversation", bead_id="bd-2")["thread"]
    assert told["ref"] == hint["ref"]
    assert lh("agents.show", agent="cobalt-harbor")["agent"]["last_seen_at"].endswith(
        "08:03:00.000Z"
    )


def test_another_wish_another_owner_or_a_changed_owner_is_told_anew(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **reserve(a, "src/*"))
    wanted = {**b, "scope": "src/lib", "bead_id": "bd-2"}

    def refs(**changes: Any) -> list[str]:
        hints = lh.refused("agents.reserve", **{**wanted, **changes})["hints"]
        return [hint["ref"] for hint in hints]

    seen = [refs(), refs(scope="src/lib/*"), refs(bead_id="bd-3")]
    lh("agents.reserve", **reserve(a, "src/*"))
    seen.append(refs())
    lh.clock.advance(15 * MINUTE)
    seen.append(refs())
    assert refs() == seen[-1]
    lh.clock.advance(15 * MINUTE)
    seen.append(refs())
    assert len({ref for found in seen for ref in found}) == len(seen)
    rows = lh("agents.conversation", bead_id="bd-2")["thread"]
    states = [row["event"]["payload"]["owner_liveness"] for row in rows if row["event"]]
    assert states == ["active", "active", "active", "stale", "evicted"]
    assert lh("agents.reserve", **wanted, takeover_stale=True)["incursions"]
    assert complaints(lh) == []


def test_a_refusal_that_ends_a_silence_is_logged_as_the_return_it_is(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh.clock.advance(20 * MINUTE)
    lh("agents.reserve", **reserve(a))
    lh.refused("agents.reserve", **{**reserve(b), "agent_id": "someone-else"})
    rows = log_of(lh)
    assert [(row["kind"], row["actor"]) for row in rows[-2:]] == [
        ("returned", "cobalt-harbor"),
        ("INCURSION", "cobalt-harbor"),
    ]


def test_shared_goes_beside_shared_and_not_beside_exclusive(lh: Lh) -> None:
    a, b, c = (join(lh, name) for name in ("amber-otter", "cobalt-harbor", "misty-heron"))
    lh("agents.reserve", **reserve(a, mode="shared"))
    assert lh("agents.reserve", **reserve(b, "src/lib", mode="shared"))["reservation"]
    assert lh.refused("agents.reserve", **reserve(c))["code"] == "RESERVATION_CONFLICT"
    lh("agents.reserve", **reserve(c, "docs"))
    error = lh.refused("agents.reserve", **reserve(a, "docs/x", mode="shared"))
    assert error["code"] == "RESERVATION_CONFLICT"


def test_an_active_owner_is_named_before_a_silent_one(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **reserve(a, "src/a"))
    lh.clock.advance(20 * MINUTE)
    c = join(lh, "misty-heron")
    lh("agents.reserve", **reserve(c, "src/c"))
    for takeover in (False, True):
        error = lh.refused("agents.reserve", **reserve(b, "src/*", takeover_stale=takeover))
        assert error["code"] == "RESERVATION_CONFLICT"
        assert "misty-heron" in error["message"]
    assert lh("agents.status")["summary"]["active"] == 2


@pytest.mark.proves("OPS-027", "OPS-031")
@pytest.mark.parametrize(
    "held,wanted",
    [
        ("/", "src/a"),
        ("src/a", "/"),
        ("src/**", "src/a/b"),
        ("src\\lib", "src/lib/x"),
        ("a/" * 20 + "deep", "a/b/../a"),
        ("src/lib", "/other/tree/src/lib/x"),
    ],
)
def test_every_overlap_counts_however_it_is_written(lh: Lh, held: str, wanted: str) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **reserve(a, held))
    error = lh.refused("agents.reserve", **reserve(b, wanted, root="/other/tree"))
    assert error["code"] == "RESERVATION_CONFLICT"


@pytest.mark.parametrize("scope", ["src/library", "srcs", "src-lib/*", "Src/lib", "src/lib.py"])
def test_neighbours_are_not_in_the_way(lh: Lh, scope: str) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **reserve(a, "src/lib"))
    assert lh("agents.reserve", **reserve(b, scope))["reservation"]["scope"] == scope


@pytest.mark.parametrize(
    "args,code",
    [
        ({"scope": "../x"}, "SCOPE_OUTSIDE_PROJECT"),
        ({"scope": "/etc"}, "SCOPE_OUTSIDE_PROJECT"),
        ({"scope": "a\nb"}, "INVALID_INPUT"),
        ({"ttl_minutes": 4}, "INVALID_INPUT"),
        ({"ttl_minutes": 1441}, "INVALID_INPUT"),
        ({"bead_id": "  "}, "MISSING_BEAD_ID"),
        ({"agent": "ghost-otter"}, "AGENT_NOT_FOUND"),
        ({"agent_token": "lha_wrong"}, "AGENT_TOKEN_REQUIRED"),
    ],
)
def test_a_wrong_reservation_is_refused(lh: Lh, args: dict[str, Any], code: str) -> None:
    a = join(lh, "amber-otter")
    error = lh.refused("agents.reserve", **{**reserve(a), **args})
    assert error["code"] == code
    assert lh("agents.status")["summary"]["active"] == 0


@pytest.mark.parametrize("pattern", ["*.py", "src/lib*", "src/*.ts", "src/*/a.py", "src/log?n.py"])
def test_a_pattern_that_is_not_understood_is_refused(lh: Lh, pattern: str) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **reserve(a, "src/login.py"))
    error = lh.refused("agents.reserve", **reserve(b, pattern))
    assert error["code"] == "SCOPE_NOT_UNDERSTOOD"
    assert "src/*, src/**" in error["recovery"]
    assert [one["agent_id"] for one in lh("agents.status")["reservations"]] == ["amber-otter"]


def test_what_frameworks_put_into_file_names_is_no_pattern(lh: Lh) -> None:
    a = join(lh, "amber-otter")
    made = lh("agents.reserve", **reserve(a, "app/[id]/{slug}.tsx"))
    assert made["reservation"]["scope"] == "app/[id]/{slug}.tsx"


def test_every_act_of_the_owner_renews_what_it_holds(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **{**reserve(a, "src/login.py"), "ttl_minutes": 5})
    for act in ("agents.heartbeat", "agents.heartbeat", "agents.heartbeat"):
        lh.clock.advance(4 * MINUTE)
        lh(act, **a)
    lh.clock.advance(4 * MINUTE)
    error = lh.refused("agents.reserve", **reserve(b, "src/login.py"))
    assert error["code"] == "RESERVATION_CONFLICT"
    lh("tasks.plan.create", title="Anything", agent_id="amber-otter")  # also acts as it
    lh.clock.advance(4 * MINUTE)
    error = lh.refused("agents.reserve", **reserve(b, "src/login.py"))
    assert error["code"] == "RESERVATION_CONFLICT"
    lh.clock.advance(1 * MINUTE)
    error = lh.refused("agents.reserve", **reserve(b, "src/login.py"))
    assert error["code"] == "RESERVATION_STALE_FOUND"


def test_what_was_renewed_within_the_last_second_is_not_written_again(lh: Lh) -> None:
    a = join(lh, "amber-otter")
    first = lh("agents.reserve", **reserve(a, "src/*"))["reservation"]["expires_at"]

    def acts_after(ms: int) -> str:
        lh.clock.advance(ms)
        lh("agents.heartbeat", **a)
        (held,) = lh("agents.status", agent="amber-otter")["reservations"]
        return str(held["expires_at"])

    assert acts_after(1000) == first
    assert acts_after(1) > first


def test_renewing_says_for_how_long_and_of_which_scope(lh: Lh) -> None:
    a = join(lh, "amber-otter")
    lh("agents.reserve", **{**reserve(a, "src/*"), "ttl_minutes": 5})
    lh("agents.reserve", **{**reserve(a, "docs"), "ttl_minutes": 5})
    lh.clock.advance(2 * MINUTE)
    one = lh("agents.renew", **a, scope="docs", ttl_minutes=60)
    assert [held["scope"] for held in one["reservations"]] == ["docs"]
    both = lh("agents.renew", **a)
    until = {held["scope"]: held["expires_at"] for held in both["reservations"]}
    assert until["docs"] > until["src/*"]
    error = lh.refused("agents.renew", **a, scope="elsewhere")
    assert error["code"] == "RESERVATION_NOT_FOUND"


def test_an_item_that_its_tracker_does_not_have_is_refused(lh: Lh) -> None:
    a = join(lh, "amber-otter")
    use(lh, item("TR-1"))
    assert lh("agents.reserve", **{**a, "scope": "src", "bead_id": "TR-1"})
    error = lh.refused("agents.reserve", **{**a, "scope": "src", "bead_id": "TR-2"})
    assert error["code"] == "UNKNOWN_ID"


def test_release_is_for_the_owner_and_of_what_is_held(lh: Lh) -> None:
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    assert lh.refused("agents.release", **a, scope="src")["code"] == "RESERVATION_NOT_FOUND"
    lh("agents.reserve", **reserve(a))
    error = lh.refused("agents.release", **b, scope="src")
    assert (error["code"], "amber-otter" in error["message"]) == ("RELEASE_FORBIDDEN", True)
    assert lh.refused("agents.release", **a, scope="src/*")["code"] == "RESERVATION_NOT_FOUND"
    assert lh("agents.release", **a, scope="src")


def test_a_wide_scope_takes_over_only_so_many(lh: Lh, monkeypatch: pytest.MonkeyPatch) -> None:
    from longhouse.crew import reservations

    monkeypatch.setattr(reservations, "MOST_TAKEN", 3)
    monkeypatch.setattr(reservations, "MOST_RECORDED", 2)
    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    for number in range(5):
        lh("agents.reserve", **reserve(a, f"src/{number}"))
    lh.clock.advance(16 * MINUTE)
    error = lh.refused("agents.reserve", **{**reserve(b, "/"), "bead_id": "bd-2"})
    assert error["code"] == "RESERVATION_STALE_FOUND"
    assert lh("agents.conversation", bead_id="bd-2")["count"] == 2
    error = lh.refused("agents.reserve", **reserve(b, "/", takeover_stale=True))
    assert error["code"] == "SCOPE_TOO_WIDE"
    assert lh("agents.status")["summary"]["active"] == 5


def test_what_ran_out_long_ago_is_archived_while_nobody_looks(lh: Lh) -> None:
    from longhouse.crew.upkeep import archive

    a, b = join(lh, "amber-otter"), join(lh, "cobalt-harbor")
    lh("agents.reserve", **reserve(a, ttl_minutes=5))

    def run() -> None:
        call = Call(now_ms=lh.clock.now_ms(), ids=CountedIds(), facts=lh.house.facts)
        lh.house.db.write("acme", archive, call)

    lh.clock.advance(24 * 60 * MINUTE)
    run()
    assert lh.refused("agents.reserve", **reserve(b))["code"] == "RESERVATION_STALE_FOUND"
    lh.clock.advance(5 * MINUTE)
    run()
    assert lh("agents.reserve", **reserve(b))["reservation"]
    assert complaints(lh) == []


def test_what_the_log_does_not_say_is_found(lh: Lh) -> None:
    from longhouse.crew.room import sql

    a = join(lh, "amber-otter")
    lh("agents.reserve", **reserve(a))
    lh("agents.send", **a, to="amber-otter", bead_id="bd-1", subject="s", body="b")
    call = Call(now_ms=lh.clock.now_ms(), ids=CountedIds(), facts=lh.house.facts)

    def harm(tx: Any) -> None:
        tx.run(sql.reservations_release_all, agent_id="amber-otter", now=tx.now_ms)
        tx.run(sql.message_read, seq=3, agent_id="amber-otter", now=tx.now_ms)

    lh.house.db.write("acme", harm, call)
    assert complaints(lh) == [
        "res_2 is released, but active in the log",
        "0 reservations are counted as released, but there are 1",
        "bd-1 has wrong counts: 1 unread, 0 due",
    ]


def test_without_a_bead_it_is_the_task_in_focus_else_the_one_assigned(lh: Lh) -> None:
    lh("tasks.plan.create", title="Plan")
    for title in ("One", "Two"):
        lh("tasks.bootstrap", plan="PLAN-001", task_title=title, steps=["a"])
    token = lh("agents.register", name="ada", role="dev")["agent_token"]
    ada = {"agent": "ada", "agent_token": token}
    refused = lh.refused("agents.reserve", scope="src/a.py", **ada)
    assert (refused["code"], "a bead is a task" in refused["recovery"]) == ("MISSING_BEAD_ID", True)
    lh("tasks.edit", task="TASK-002", assignee="ada")
    lh("tasks.complete", task="TASK-002", status="ACTIVE")
    taken = lh("agents.reserve", scope="src/a.py", **ada)["reservation"]
    assert taken["bead_id"] == "TASK-002"
    lh("tasks.focus.set", task="TASK-001", agent_id="ada")
    taken = lh("agents.reserve", scope="src/b.py", **ada)["reservation"]
    assert taken["bead_id"] == "TASK-001"
    said = {"to": "broadcast", "subject": "s", "body": "b"}
    lh("agents.register", name="bob", role="dev")
    assert lh("agents.send", **said, **ada)["messages"][0]["bead_id"] == "TASK-001"
