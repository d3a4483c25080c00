"""A SQLite store whose machine's clock is wrong, steps, sleeps and restarts, in several processes.

What is held stays held for two thirds of its time and no longer than twice it; after a restart with
a clock that was ahead, nothing lasts longer than the longest that can be asked for.
"""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import settings as limits
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from longhouse.config import load
from longhouse.house import House
from longhouse.kernel import clock as clocks
from longhouse.store.queries import Query
from longhouse.store.tx import Call
from tests.kernel.test_clock import FakeMachine
from tests.kit import CountedIds

S = 1_000_000_000
MINUTE = 60 * S
LEASE_MS = 300_000
STALE_MS = 15 * 60_000
RESERVED_MS = 1_800_000
LOG = Query("log_times", *["SELECT ts_ms FROM log WHERE ws = :ws ORDER BY seq"] * 2)
CALL = Call(ids=CountedIds())


def house_in(folder: Path) -> House:
    flags = {"dir": str(folder / "store"), "workspace": "acme"}
    return House(load(flags, environ={}, cwd=folder), ids=CountedIds())


def say(house: House, cmd: str, **args: Any) -> dict[str, Any]:
    return house.call(cmd, args).envelope


class Jumps(RuleBasedStateMachine):
    """Two processes on one file; `held` says when what they hold began, by the true uptime."""

    def __init__(self) -> None:
        super().__init__()
        self.machine = FakeMachine()
        self.patch = pytest.MonkeyPatch()
        self.patch.setattr(clocks, "machine", self.machine)
        self.folder = TemporaryDirectory()
        self.houses = [house_in(Path(self.folder.name)) for _ in range(2)]
        self.wrote_ms = 0

    def teardown(self) -> None:
        for house in self.houses:
            house.close()
        self.patch.undo()
        self.folder.cleanup()

    @initialize()
    def begin(self) -> None:
        first = self.houses[0]
        say(first, "jobs.create", title="Look", prompt="p")
        self.token = {
            name: say(first, "agents.register", name=name)["result"]["agent_token"]
            for name in ("amber-otter", "misty-heron")
        }
        self.owner = {"claim": 0, "scope": 0}
        self._claim(0)
        self._reserve(0)

    @rule(seconds=st.integers(0, 400))
    def time_passes(self, seconds: int) -> None:
        self.machine.passes(seconds * S)

    @rule(seconds=st.sampled_from([-7200, -3600, -5, 0, 5, 3600, 7200]))
    def the_wall_clock_steps(self, seconds: int) -> None:
        self.machine.error = seconds * S

    @rule(which=st.integers(0, 1))
    def a_process_starts_again(self, which: int) -> None:
        self.houses[which].close()
        self.houses[which] = house_in(Path(self.folder.name))

    @rule(which=st.integers(0, 1))
    def someone_tries_to_claim(self, which: int) -> None:
        self._try("claim", LEASE_MS, which, self._claim)

    @rule(which=st.integers(0, 1))
    def someone_tries_to_reserve(self, which: int) -> None:
        self._try("scope", RESERVED_MS, which, self._reserve)

    @rule(which=st.integers(0, 1))
    def a_runner_shows_itself_and_is_seen(self, which: int) -> None:
        say(self.houses[which], "jobs.runner.heartbeat", runner_id="r", status="idle")
        seen = say(self.houses[1 - which], "jobs.radar")["result"]["runner_leases"]
        assert "r" in {one["runner_id"] for one in seen["runners"]}

    @invariant()
    def the_log_never_goes_back(self) -> None:
        rows = self.houses[0].db.read("acme", lambda tx: tx.all(LOG), CALL)
        times = [row["ts_ms"] for row in rows]
        assert times == sorted(times)

    @invariant()
    def writes_never_go_back(self) -> None:
        for house in self.houses:
            now_ms = house.db.write("acme", lambda tx: tx.now_ms, CALL)
            assert now_ms >= self.wrote_ms
            self.wrote_ms = now_ms

    def _try(self, what: str, length_ms: int, which: int, take: Any) -> None:
        """Another asks for it: refused while it is surely held, granted when it surely is not."""
        other = 1 - self.owner[what]
        held_ms = (self.machine.up - self.since[what]) // 1_000_000
        taken = take(other, self.houses[which])
        # What a silent agent holds may be taken over before its time is up.
        if held_ms < min(length_ms, STALE_MS) * 2 // 3:
            assert not taken, f"taken after {held_ms} ms of {length_ms}"
        elif held_ms > length_ms * 2:
            assert taken, f"still held after {held_ms} ms of {length_ms}"

    @property
    def since(self) -> dict[str, int]:
        return self.__dict__.setdefault("_since", {})

    def _claim(self, who: int, house: House | None = None) -> bool:
        args = {"job": "JOB-001", "runner_id": f"r{who}", "lease_ttl_ms": LEASE_MS}
        got = say(house or self.houses[0], "jobs.claim", **args, allow_stale=True)
        return self._took("claim", who, got)

    def _reserve(self, who: int, house: House | None = None) -> bool:
        name = ("amber-otter", "misty-heron")[who]
        got = say(
            house or self.houses[0],
            "agents.reserve",
            agent=name,
            agent_token=self.token[name],
            scope="src/a.py",
            bead_id=f"x-{who}",
            ttl_minutes=RESERVED_MS // 60_000,
            takeover_stale=True,
        )
        return self._took("scope", who, got)

    def _took(self, what: str, who: int, got: dict[str, Any]) -> bool:
        if got["success"]:
            self.owner[what], self.since[what] = who, self.machine.up
        return bool(got["success"])


def test_jumps_of_the_clock_neither_end_nor_prolong_what_is_held() -> None:
    run_state_machine_as_test(
        Jumps, settings=limits(max_examples=25, stateful_step_count=20, deadline=None)
    )


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    made = FakeMachine()
    monkeypatch.setattr(clocks, "machine", made)
    return made


STORED = {
    "claim": "SELECT MAX(claim_expires_at_ms) AS ms FROM jobs",
    "runner": "SELECT MAX(lease_expires_at_ms) AS ms FROM runner_leases",
    "reservation": "SELECT MAX(expires_at_ms) AS ms FROM reservations WHERE state = 'active'",
    "step": "SELECT MAX(expires_at_ms) AS ms FROM step_leases",
    "subagent": "SELECT MAX(lease_expires_at_ms) AS ms FROM subagents",
    "seen": "SELECT MAX(last_seen_at_ms) AS ms FROM agents",
    "host": "SELECT MAX(seen_ms) AS ms FROM tool_hosts",
    "key": "SELECT MAX(ts_ms) AS ms FROM idempotency",
}
LONGEST_MS = {
    "claim": LEASE_MS,
    "runner": LEASE_MS,
    "reservation": RESERVED_MS,
    "step": 1_800_000,
    "subagent": LEASE_MS,
    "seen": 0,
    "host": 0,
    "key": 0,
}


def ahead_ms(house: House, now_ms: int) -> dict[str, int]:
    """How far ahead of the time each kind of stored time lies."""

    def look(tx: Any) -> dict[str, int]:
        found = {name: tx.value(Query(name, text, text)) for name, text in STORED.items()}
        return {name: ms - now_ms for name, ms in found.items() if ms is not None}

    return house.db.read("acme", look, CALL)


def hold_everything(house: House) -> None:
    """One of everything that ends, or is judged, by the clock."""
    calls: list[tuple[str, dict[str, Any]]] = [
        ("jobs.create", {"title": "Look", "prompt": "p", "idempotency_key": "k"}),
        ("jobs.claim", {"runner_id": "r", "lease_ttl_ms": LEASE_MS}),
        ("jobs.runner.heartbeat", {"runner_id": "r", "status": "idle", "lease_ttl_ms": LEASE_MS}),
    ]
    for cmd, args in calls:
        assert say(house, cmd, **args)["success"], cmd
    token = say(house, "agents.register", name="amber-otter")["result"]["agent_token"]
    me = {"agent": "amber-otter", "agent_token": token, "bead_id": "x-1", "scope": "a.py"}
    assert say(house, "agents.reserve", **me, ttl_minutes=30)["success"]
    house.call("jobs.subagent.start", _example(house, "jobs.subagent.start"))

    def raw(tx: Any) -> None:
        for text in (
            "INSERT INTO tool_hosts (ws, host_id, runner_id, owner, revision, seen_ms) "
            "VALUES (:ws, 'h', 'r', 'operator', 1, :now)",
        ):
            tx.run(Query("raw", text, text), now=tx.now_ms)

    house.db.write("acme", raw, CALL)


def _example(house: House, cmd: str) -> dict[str, Any]:
    import msgspec

    made: dict[str, Any] = msgspec.to_builtins(house.registry.get(cmd).example)
    return made


@pytest.mark.proves("DEL-094")
def test_after_a_restart_with_the_clock_back_nothing_outlasts_the_longest(
    machine: FakeMachine, tmp_path: Path
) -> None:
    machine.error = 3600 * S
    with house_in(tmp_path) as house:
        hold_everything(house)
    machine.boots, machine.up, machine.error = 2, 5 * S, 0
    with house_in(tmp_path) as house:
        found = ahead_ms(house, machine.true // 1_000_000)
        assert found.keys() >= {"claim", "runner", "reservation", "seen", "key", "host"}
        late = {name: ms for name, ms in found.items() if ms > LONGEST_MS[name]}
        assert not late
        again = {"runner_id": "other", "job": "JOB-001", "allow_stale": True}
        machine.passes((LEASE_MS - 1) * 1_000_000)
        assert not say(house, "jobs.claim", **again)["success"]
        machine.passes(1_000_000)
        assert say(house, "jobs.claim", **again)["success"], "exactly when the clamped value says"


def test_a_running_servers_loop_clamps_too_when_its_clock_is_set_back_by_days(
    machine: FakeMachine, tmp_path: Path
) -> None:
    machine.error = 72 * 3600 * S
    with house_in(tmp_path) as house:
        hold_everything(house)
        machine.error = 0
        house.db.write("acme", lambda tx: tx.now_ms, CALL)
        machine.passes(clocks.BELIEVED_NS)
        house.maintenance(lambda name, error: pytest.fail(f"{name}: {error}")).step(0)
        found = ahead_ms(house, machine.true // 1_000_000)
        assert not {name: ms for name, ms in found.items() if ms > LONGEST_MS[name]}


def test_a_store_is_looked_through_once_a_boot(
    machine: FakeMachine, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    looked: list[int] = []
    real = House._look_through

    def look(house: House) -> None:
        looked.append(1)
        real(house)

    monkeypatch.setattr(House, "_look_through", look)
    for boots, times in ((1, 1), (1, 1), (2, 2), (2, 2)):
        machine.boots = boots
        with house_in(tmp_path) as house:
            say(house, "vcs.notes.commit", content="x")
        assert len(looked) == times


def test_a_process_that_was_idle_continues_from_the_last_write_of_another(
    machine: FakeMachine, tmp_path: Path
) -> None:
    with house_in(tmp_path) as busy, house_in(tmp_path) as idle:
        machine.error = 3600 * S
        for _ in range(30):
            machine.passes(2 * S)
            last_ms = busy.db.write("acme", lambda tx: tx.now_ms, CALL)
        machine.error = 0
        assert idle.db.write("acme", lambda tx: tx.now_ms, CALL) >= last_ms
