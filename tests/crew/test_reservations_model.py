"""Any order of reserving, releasing, silence and takeovers keeps the rules, on both engines."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from longhouse.crew.scopes import normalise, overlap
from tests.crew.kit import MINUTE
from tests.crew.test_reservations import complaints
from tests.kit import Lh

NAMES = ("amber-otter", "cobalt-harbor", "misty-heron")
SCOPES = ("/", "src", "src/*", "src/lib", "src/lib/a.py", "src/library", "docs/*")
STALE = 15 * MINUTE

names, scopes = st.sampled_from(NAMES), st.sampled_from(SCOPES)


class Held:
    """A reservation in the model."""

    def __init__(
        self, id_: str, owner: str, scope: str, mode: str, *, ttl: int, expires: int
    ) -> None:
        self.id, self.owner, self.scope, self.mode = id_, owner, scope, mode
        self.ttl, self.expires = ttl, expires

    def overlaps(self, scope: str) -> bool:
        one, other = (normalise(text, root="/p") for text in (self.scope, scope))
        return overlap(one, other) != "disjoint"


class Crew(RuleBasedStateMachine):
    """The rules in a few lines of Python, against the room."""

    make: Callable[[], Lh]
    numbers = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.lh = self.make()
        self.workspace = f"model-{next(self.numbers)}"
        self.now = self.lh.clock.now_ms()
        self.held: list[Held] = []
        self.seen: dict[str, int] = {}
        self.tokens: dict[str, str] = {}
        self.ended = {"released": 0, "expired": 0}
        self.told: dict[tuple[str, str, str], tuple[str, str]] = {}
        for name in NAMES:
            self.tokens[name] = self.call("agents.register", name=name)["result"]["agent_token"]
            self.seen[name] = self.now

    def call(self, cmd: str, **args: Any) -> dict[str, Any]:
        return self.lh.envelope(cmd, workspace=self.workspace, **args)

    def act(self, cmd: str, name: str, **args: Any) -> dict[str, Any]:
        return self.call(cmd, agent=name, agent_token=self.tokens[name], **args)

    def liveness(self, name: str) -> str:
        silent = self.now - self.seen[name]
        return "active" if silent < STALE else "stale" if silent < 2 * STALE else "evicted"

    def acted(self, name: str) -> None:
        """Acting is a sign of life and renews the agent's reservations."""
        self.seen[name] = self.now
        for held in self.held:
            if held.owner == name:
                held.expires = self.now + held.ttl

    def active(self, name: str) -> bool:
        return self.liveness(name) == "active"

    @rule(minutes=st.sampled_from([1, 4, 5, 14, 15, 30, 121]))
    def time_goes_by(self, minutes: int) -> None:
        self.lh.clock.advance(minutes * MINUTE)
        self.now = self.lh.clock.now_ms()

    @rule(name=names)
    def heartbeat(self, name: str) -> None:
        assert self.act("agents.heartbeat", name)["success"]
        self.acted(name)

    @rule(
        name=names,
        scope=scopes,
        mode=st.sampled_from(["exclusive", "exclusive", "shared"]),
        ttl=st.sampled_from([5, 120]),
        takeover=st.booleans(),
    )
    def reserve(self, name: str, scope: str, mode: str, ttl: int, takeover: bool) -> None:
        others = [
            held
            for held in self.held
            if held.owner != name and held.overlaps(scope) and "exclusive" in (mode, held.mode)
        ]
        binding = [h for h in others if self.active(h.owner) and h.expires > self.now]
        answer = self.act(
            "agents.reserve",
            name,
            scope=scope,
            bead_id="bd-1",
            mode=mode,
            ttl_minutes=ttl,
            takeover_stale=takeover,
        )
        self.acted(name)
        if binding or (others and not takeover):
            expected = "RESERVATION_CONFLICT" if binding else "RESERVATION_STALE_FOUND"
            assert answer["error"]["code"] == expected
            self.refused(name, scope, others, answer["error"]["hints"])
            return
        assert answer["success"], answer["error"]
        taken = answer["result"].get("taken_over", [])
        assert sorted((t["agent_id"], t["scope"]) for t in taken) == sorted(
            (held.owner, held.scope) for held in others
        )
        assert len(answer["result"].get("incursions", [])) == len(others)
        mine = [h for h in self.held if h.owner == name and h.scope == scope]
        self.held = [held for held in self.held if held not in others and held not in mine]
        made = answer["result"]["reservation"]["reservation_id"]
        ends = self.now + ttl * MINUTE
        self.held.append(Held(made, name, scope, mode, ttl=ttl * MINUTE, expires=ends))
        self.ended["expired"] += len(others)
        self.ended["released"] += len(mine)

    def refused(self, name: str, scope: str, others: list[Held], hints: list[Any]) -> None:
        """Each conflicting reservation is recorded once, until its state changes."""
        refs = {hint["reservation"]: hint["ref"] for hint in hints}
        assert set(refs) == {held.id for held in others}
        for held in others:
            state = "over" if held.expires <= self.now else self.liveness(held.owner)
            before = self.told.get((name, scope, held.id))
            if before and before[0] == state:
                assert refs[held.id] == before[1]
            else:
                assert refs[held.id] not in {ref for _, ref in self.told.values()}
            self.told[name, scope, held.id] = (state, refs[held.id])

    @rule(name=names, scope=scopes)
    def release(self, name: str, scope: str) -> None:
        answer = self.act("agents.release", name, scope=scope)
        same = [held for held in self.held if held.scope == scope]
        mine = [held for held in same if held.owner == name]
        if mine:
            assert answer["result"]["reservation"]["state"] == "released"
            self.held.remove(mine[0])
            self.ended["released"] += 1
            self.acted(name)
        else:
            expected = "RELEASE_FORBIDDEN" if same else "RESERVATION_NOT_FOUND"
            assert answer["error"]["code"] == expected

    @invariant()
    def what_is_held_is_what_the_model_holds(self) -> None:
        status = self.call("agents.status", limit=100)["result"]
        live = [held for held in self.held if held.expires > self.now]
        shown = [(one["agent_id"], one["scope"]) for one in status["reservations"]]
        assert sorted(shown) == sorted((held.owner, held.scope) for held in live)
        assert status["summary"]["active"] == len(live)
        assert status["summary"]["released"] == self.ended["released"]
        ran_out = len(self.held) - len(live)
        assert status["summary"]["expired"] == self.ended["expired"] + ran_out
        for one in status["reservations"]:
            assert one["owner_liveness"] == self.liveness(one["agent_id"])

    @invariant()
    def no_two_exclusive_scopes_overlap(self) -> None:
        for one, other in itertools.combinations(self.held, 2):
            if one.owner != other.owner and one.overlaps(other.scope):
                assert one.mode == other.mode == "shared"


@pytest.mark.proves("OPS-022", "OPS-023", "OPS-024", "OPS-025", "OPS-026", "OPS-032")
def test_every_order_of_events_keeps_the_rules(lh: Lh) -> None:
    machine = type("CrewHere", (Crew,), {"make": staticmethod(lambda: lh)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=25,
            stateful_step_count=25,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
    assert complaints(lh) == []
