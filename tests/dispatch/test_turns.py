"""Turns in the event loop, by the order in which requests go on; no clock decides anything here."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Iterable

import pytest

from longhouse.dispatch import turns as turning
from longhouse.dispatch.turns import ALONE, FEW, LATELY_S, MOST_OWNERS, MOST_REST_S, REST, Turns


class Clock:
    """A time that stands still unless a step takes some."""

    def __init__(self) -> None:
        self.now = 1_000.0

    def __call__(self) -> float:
        return self.now


class Crowd:
    """Requests that take their turns; `order` has the owners as they were served."""

    def __init__(self, clock: Clock, guests: Iterable[str] = (), step_s: float = 0.0) -> None:
        self.turns = Turns(guests=tuple(guests), clock=clock)
        self.order: list[str] = []
        self.rounds: list[int] = []
        self._clock = clock
        self._step_s = step_s
        self._round = 0
        self._tasks: list[asyncio.Task[None]] = []

    def ask(self, owner: str, times: int = 1, *, begun: bool = False) -> None:
        self._tasks += [
            asyncio.create_task(self._request(owner, begun=begun)) for _ in range(times)
        ]

    async def _request(self, owner: str, *, begun: bool) -> None:
        await self.turns.take(owner, begun=begun)
        self._clock.now += self._step_s
        self.order.append(owner)
        self.rounds.append(self._round)

    async def pass_rounds(self, rounds: int) -> None:
        for _ in range(rounds):
            self._round += 1
            await asyncio.sleep(0)

    async def end(self) -> list[str]:
        await asyncio.wait_for(asyncio.gather(*self._tasks), 20)
        return self.order


@pytest.fixture
def clock() -> Clock:
    return Clock()


async def test_a_request_that_nobody_is_in_the_way_of_goes_on_at_once(clock: Clock) -> None:
    turns = Turns(clock=clock)
    step = turns.take("calm")
    with pytest.raises(StopIteration):  # it returns without giving the loop a round
        step.send(None)
    await asyncio.sleep(0)


async def test_another_owner_goes_on_after_one_request_of_a_flood(clock: Clock) -> None:
    crowd = Crowd(clock)
    crowd.ask("busy", 200)
    await crowd.pass_rounds(5)
    before = len(crowd.order)
    crowd.ask("calm")
    order = await crowd.end()
    assert order.index("calm") <= before + 2 * ALONE  # its task begins in the next round
    assert Counter(order) == {"busy": 200, "calm": 1}


@pytest.mark.parametrize("beside, most", [(False, ALONE), (True, 1)])
async def test_a_flood_has_few_requests_in_each_round_of_the_loop_and_one_beside_others(
    clock: Clock, beside: bool, most: int
) -> None:
    crowd = Crowd(clock)
    if beside:
        crowd.ask("calm")
        await crowd.pass_rounds(3)
    crowd.ask("busy", 50)
    await crowd.pass_rounds(120)
    assert len(await crowd.end()) == 50 + beside
    assert max(Counter(crowd.rounds).values()) == most


async def test_two_floods_and_another_owner_take_turns(clock: Clock) -> None:
    crowd = Crowd(clock)
    crowd.ask("busy", 50)
    crowd.ask("busier", 100)
    await crowd.pass_rounds(10)
    before = len(crowd.order)
    crowd.ask("calm", 3)
    order = await crowd.end()
    first, second, third = (at for at, owner in enumerate(order) if owner == "calm")
    assert first <= before + 2
    assert second - first <= 3
    assert third - second <= 3
    both = order[before : before + 60]
    assert abs(both.count("busy") - both.count("busier")) <= 3


async def test_a_flood_that_is_alone_never_rests(clock: Clock) -> None:
    crowd = Crowd(clock, step_s=0.01)
    crowd.ask("busy", 30)
    await crowd.pass_rounds(80)
    assert len(crowd.order) == 30


async def test_a_flood_beside_others_rests_longer_than_it_works(clock: Clock) -> None:
    crowd = Crowd(clock, step_s=0.01)
    crowd.ask("calm")
    await crowd.pass_rounds(3)
    crowd.ask("busy", 10)
    await crowd.pass_rounds(50)
    assert crowd.order == ["calm", "busy"]
    clock.now += REST * 0.01
    crowd.ask("calm")  # and is served although the other one rests
    await crowd.pass_rounds(50)
    assert crowd.order[:3] == ["calm", "busy", "calm"]
    assert len(crowd.order) <= 4
    clock.now += LATELY_S + 1  # from now on it is alone again
    crowd.ask("busy")
    assert Counter(await crowd.end()) == {"busy": 11, "calm": 2}


@pytest.mark.parametrize(
    "beside, waiting, rests", [(True, 10, True), (True, 0, False), (False, 10, False)]
)
async def test_what_was_computed_elsewhere_counts_for_an_owner_in_a_row_beside_others(
    clock: Clock, beside: bool, waiting: int, rests: bool
) -> None:
    crowd = Crowd(clock)
    if beside:
        crowd.ask("calm")
        await crowd.pass_rounds(3)
    crowd.ask("busy", waiting + 1)
    await crowd.pass_rounds(3)
    crowd.turns.charge("busy", 0.01)
    if not waiting:
        crowd.ask("busy")
    await crowd.pass_rounds(40)
    assert (len(crowd.order) < len(crowd._tasks)) == rests
    clock.now += MOST_REST_S
    crowd.ask("calm")
    await crowd.end()


@pytest.mark.parametrize("under_way, rests", [(FEW, False), (FEW + 1, True)])
async def test_what_a_thread_did_counts_for_an_owner_with_several_requests_under_way(
    clock: Clock, under_way: int, rests: bool
) -> None:
    """None of them waits for a turn: all are with threads, which say what they did."""
    crowd = Crowd(clock)
    crowd.ask("busy")
    crowd.ask("calm")
    await crowd.pass_rounds(5)
    for _ in range(under_way + 1):
        crowd.turns.enter("busy")
    crowd.turns.leave("busy")
    await asyncio.to_thread(crowd.turns.owe, "busy", 0.01)
    crowd.ask("busy")
    await crowd.pass_rounds(40)
    assert (crowd.order == ["busy", "calm"]) == rests
    clock.now += MOST_REST_S
    crowd.ask("calm")
    await crowd.end()


async def test_a_request_that_waits_for_something_is_not_under_way(clock: Clock) -> None:
    turns = Turns(clock=clock)
    turns.enter("busy")
    with turns.of("busy").away():
        assert not turns._under_way
    assert turns._under_way == {"busy": 1}
    turns.leave("busy")
    assert not turns._under_way


async def test_an_owner_that_rests_is_not_served_at_once_either(clock: Clock) -> None:
    """None of its requests is in line when it asks, and the loop is idle."""
    crowd = Crowd(clock)
    crowd.ask("busy")
    crowd.ask("calm")
    await crowd.pass_rounds(5)
    crowd.turns._owners["busy"].rests_until = clock.now + MOST_REST_S
    crowd.ask("busy")
    await crowd.pass_rounds(40)
    assert crowd.order == ["busy", "calm"]
    clock.now += MOST_REST_S
    crowd.ask("calm")
    await crowd.end()


async def test_a_request_is_in_line_once(clock: Clock) -> None:
    turns = Turns(clock=clock)
    await turns.take("calm")
    turn = asyncio.get_running_loop().create_future()
    for _ in range(3):
        turns.line_up("calm", turn)
    assert len(turns._waiting["calm"].waiting) == 1
    await asyncio.wait_for(turn, 20)


async def test_what_was_begun_goes_on_before_what_was_not_and_without_a_rest(clock: Clock) -> None:
    crowd = Crowd(clock, step_s=0.01)
    crowd.ask("calm")
    await crowd.pass_rounds(3)
    crowd.ask("busy", 10)
    await crowd.pass_rounds(50)
    crowd.ask("busy", 2, begun=True)
    await crowd.pass_rounds(50)
    assert crowd.order == ["calm", "busy", "busy", "busy"]
    clock.now += LATELY_S + 1
    crowd.ask("busy")
    await crowd.end()


async def test_nobody_rests_because_of_guests_but_guests_rest_for_others(clock: Clock) -> None:
    crowd = Crowd(clock, guests=("nobody",), step_s=0.01)
    crowd.ask("nobody")
    await crowd.pass_rounds(3)
    crowd.ask("busy", 10)
    await crowd.pass_rounds(50)
    assert crowd.order == ["nobody"] + ["busy"] * 10
    crowd.ask("nobody", 10)
    await crowd.pass_rounds(50)
    assert crowd.order.count("nobody") <= 3
    clock.now += LATELY_S + 1
    crowd.ask("nobody")
    await crowd.end()


async def test_a_request_that_is_given_up_holds_up_no_one(clock: Clock) -> None:
    turns = Turns(clock=clock)
    await turns.take("busy")
    gone = [asyncio.create_task(turns.take("busy")) for _ in range(5)]
    await asyncio.sleep(0)
    for task in gone[:4]:
        task.cancel()
    await asyncio.wait_for(turns.take("calm"), 20)
    await asyncio.wait_for(gone[4], 20)
    assert not turns._waiting


async def test_only_so_many_owners_are_remembered(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(turning, "MOST_OWNERS", 3)
    crowd = Crowd(clock)
    for number in range(20):
        crowd.ask(f"owner {number}")
    assert len(await crowd.end()) == 20
    assert len(crowd.turns._owners) <= 3
    assert MOST_OWNERS > 1_000
