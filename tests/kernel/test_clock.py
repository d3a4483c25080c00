"""The clock of a store without one: wrong wall clocks, suspended machines, restarts, strangers."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.kernel import clock as clocks
from longhouse.kernel.clock import BELIEVED_NS, FAR_NS, Reading, SystemClock

S = 1_000_000_000
HOUR = 3600 * S


class FakeMachine:
    """A machine whose true time, wall clock, uptime and boot a test sets."""

    def __init__(self) -> None:
        self.true, self.error, self.up, self.boots = 1_800_000_000 * S, 0, 70 * S, 1

    def wall_ns(self) -> int:
        return self.true + self.error

    def up_ns(self) -> int:
        return self.up

    def boot(self) -> bytes:
        return bytes([self.boots]) * 16

    def passes(self, ns: int) -> None:
        self.true += ns
        self.up += ns

    def off(self, clock: SystemClock) -> int:
        """How many milliseconds the clock is ahead of the true time."""
        return clock.now_ms() - self.true // 1_000_000


@pytest.fixture
def machine(monkeypatch: pytest.MonkeyPatch) -> FakeMachine:
    made = FakeMachine()
    monkeypatch.setattr(clocks, "machine", made)
    return made


def test_a_wall_clock_that_is_wrong_for_a_moment_changes_nothing(machine: FakeMachine) -> None:
    for error in (HOUR, -HOUR):
        clock = SystemClock()
        machine.error = error
        assert machine.off(clock) == 0
        machine.passes(2 * S)
        assert abs(machine.off(clock)) == 1000
        machine.error = 0
        machine.passes(2 * S)
        assert machine.off(clock) == 0


def test_small_steps_of_the_wall_clock_are_followed_within_seconds(machine: FakeMachine) -> None:
    for error in (3 * S, -3 * S):
        clock = SystemClock()
        machine.error = error
        for _ in range(7):
            machine.passes(S)
            clock.now_ms()
        assert machine.off(clock) == error // 1_000_000
        machine.error = 0


def test_a_suspended_machine_wakes_with_the_right_time(machine: FakeMachine) -> None:
    clock = SystemClock()
    machine.passes(9 * HOUR)  # both clocks go on
    assert machine.off(clock) == 0


@pytest.mark.parametrize("error", [400 * FAR_NS, -400 * FAR_NS])
def test_a_clock_that_is_far_away_is_believed_only_when_it_stays_there(
    machine: FakeMachine, error: int
) -> None:
    clock = SystemClock()
    clock.looked()
    machine.error = error
    for _ in range(5):
        clock.now_ms()
        machine.passes(S)
    machine.error = 0
    clock.now_ms()
    assert clock.last.far_ns == 0
    machine.error = error
    clock.now_ms()
    machine.passes(BELIEVED_NS - S)
    assert abs(machine.off(clock)) <= BELIEVED_NS // 1_000_000
    assert not clock.last.anew
    machine.passes(S)
    assert machine.off(clock) == error // 1_000_000
    assert clock.last.anew, "what is stored may now be ahead"


def test_processes_of_one_boot_continue_each_others_clock(machine: FakeMachine) -> None:
    first = SystemClock()
    first.now_ms()
    first.looked()
    machine.error = HOUR
    machine.passes(S)
    second = SystemClock()
    assert machine.off(second) == 3_600_000
    second.resume(first.last)
    assert machine.off(second) == 500
    assert not second.last.anew


def test_the_reading_of_another_boot_or_from_the_future_is_not_continued(
    machine: FakeMachine,
) -> None:
    old = SystemClock().last
    machine.passes(S)
    machine.boots, machine.error = 2, -HOUR
    clock = SystemClock()
    clock.resume(old)
    assert (machine.off(clock), clock.last.anew) == (-3_600_000, True)
    machine.boots, machine.up = 1, old.up_ns - 1
    clock = SystemClock()
    clock.resume(old)
    assert machine.off(clock) == -3_600_000


def test_an_uptime_that_goes_back_starts_the_clock_anew(machine: FakeMachine) -> None:
    clock = SystemClock()
    machine.passes(HOUR)
    clock.now_ms()
    clock.looked()
    machine.up, machine.true = 70 * S, machine.true - HOUR
    assert (machine.off(clock), clock.last.anew) == (0, True)


def test_without_a_boot_id_only_a_reading_that_fits_is_continued(
    machine: FakeMachine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(machine, "boot", lambda: bytes(16))
    kept = SystemClock().last
    for error, off in ((HOUR, 500), (HOUR + 2 * S, 3_602_000)):
        machine.error = error
        machine.up, machine.true = kept.up_ns + S, kept.now_ns + S
        clock = SystemClock()
        clock.resume(kept)
        assert machine.off(clock) == off


@given(
    st.lists(
        st.tuples(
            st.integers(0, 10**13),
            st.integers(-2 * FAR_NS, 2 * FAR_NS),
        ),
        max_size=30,
    )
)
def test_time_never_runs_slower_than_half_or_faster_than_one_and_a_half(moves: list[Any]) -> None:
    true, up = 1_800_000_000 * S, 0
    reading = Reading(bytes(16), up, true)
    for passed, error in moves:
        true, up = true + passed, up + passed
        following = reading.next(true + error, up)
        stepped = following.now_ns == true + error and following.anew
        elapsed = following.now_ns - reading.now_ns
        assert stepped or passed - passed // 2 <= elapsed <= passed + passed // 2
        reading = following._replace(anew=False)
