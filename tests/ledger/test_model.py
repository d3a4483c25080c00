"""Starts, renewals, silence and endings in any order obey the rules, on both engines."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, rule, run_state_machine_as_test

from longhouse.house import House
from tests.kit import Lh, ManualClock
from tests.ledger.test_writing import PARAMS, complaints

IDS = ("d1", "d2")
LEASE_MS = 60_000

ids = st.sampled_from(IDS)


class Ledger(RuleBasedStateMachine):
    """A model of the rules in a few lines of Python, compared with the room."""

    make: Callable[[], Lh]
    numbers = itertools.count()

    def __init__(self) -> None:
        super().__init__()
        self.lh = self.make()
        self.workspace = f"model-{next(self.numbers)}"
        self.lh("vcs.notes.commit", workspace=self.workspace, content="so that it exists")
        self.now = self.lh.clock.now_ms()
        self.leases: dict[str, int] = {}
        self.told: dict[str, str] = {}

    def call(self, cmd: str, **args: Any) -> dict[str, Any]:
        return self.lh.envelope(cmd, workspace=self.workspace, **args)

    def status(self, one: str) -> str:
        return self.told.get(one) or ("running" if self.leases[one] > self.now else "interrupted")

    @rule(seconds=st.sampled_from([1, 59, 60, 500]), noted=st.booleans())
    def time_goes_by(self, seconds: int, noted: bool) -> None:
        self.lh.clock.advance(seconds * 1000)
        self.now = self.lh.clock.now_ms()
        if noted:
            (loop,) = [one for one in self.lh.house.registry.loops if "ledger" in one.name]
            self.lh.house.db.write(self.workspace, loop.run, self.lh.house._call())

    @rule(one=ids)
    def start(self, one: str) -> None:
        result = self.call("jobs.subagent.start", dispatch_id=one, depth=1, params=PARAMS)["result"]
        assert result["changed"] == (one not in self.leases)
        self.leases.setdefault(one, self.now + LEASE_MS)

    @rule(some=st.lists(ids, min_size=1, max_size=4))
    def renew(self, some: list[str]) -> None:
        said = self.call("jobs.subagent.renew", dispatch_ids=some)["result"]
        wanted: dict[str, list[str]] = {"renewed": [], "ended": [], "unknown": []}
        for one in dict.fromkeys(some):
            how = (
                "unknown" if one not in self.leases else "ended" if one in self.told else "renewed"
            )
            wanted[how].append(one)
            if how == "renewed":
                self.leases[one] = self.now + LEASE_MS
        assert {how: said[how] for how in wanted} == wanted

    @rule(one=ids, outcome=st.sampled_from(["interrupted", "completed"]))
    def finish(self, one: str, outcome: str) -> None:
        answer = self.call("jobs.subagent.finish", dispatch_id=one, outcome=outcome)
        if one not in self.leases:
            assert answer["error"]["code"] == "UNKNOWN_ID"
        elif self.told.get(one, outcome) != outcome:
            assert answer["error"]["code"] == "CONFLICT"
        else:
            assert answer["result"]["changed"] == (one not in self.told)
            self.told[one] = outcome

    @invariant()
    def everyone_reads_the_same(self) -> None:
        for one in self.leases:
            found = self.call("open", id=f"dispatch:{one}")["result"]["subagent"]
            assert found["status"] == self.status(one)
            presumed = found["status"] == "interrupted" and one not in self.told
            assert found.get("presumed", False) == presumed
        for status in ("running", "interrupted", "completed"):
            page = self.call("jobs.subagent.list", status=status)["result"]["subagents"]
            listed = {found["dispatch_id"] for found in page}
            assert listed == {one for one in self.leases if self.status(one) == status}
        assert complaints(self.lh, self.workspace) == []


def test_any_order_of_events_keeps_the_rules(
    new_house: Callable[..., House], clock: ManualClock
) -> None:
    lh = Lh(new_house(), clock)
    machine = type("Machine", (Ledger,), {"make": staticmethod(lambda: lh)})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=25,
            stateful_step_count=20,
            deadline=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
        ),
    )
