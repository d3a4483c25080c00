"""Whose turn it is in the event loop.

The loop serves everybody, and whoever has many requests ready would be served as often. So what is
done for a request is done in steps, one in each round of the loop, and each step is taken by the
owner whose last one is longest ago: however much others ask for, an owner's next step comes after
at most one step of each of them. In between the loop looks at its sockets.

Only one thread at a time can run Python, and others' calls also need it on other threads. So while
several owners are served, one that has many requests leaves the loop alone between them, for longer
than it kept it, or a thread of the store, busy.

A step lasts until its next `await`. Nothing is held while a request waits for a thread, a commit or
an event: it takes a turn again afterwards. Only the loop's own thread may use this, except `owe`.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from longhouse.dispatch.calls import OwnTurns

__all__ = ["Turns"]

LATELY_S = 1.0
"""How long after its last turn an owner still counts as one of those who share the loop."""
REST = 2.0
"""How long an owner in a row leaves the loop alone, in times of what it used."""
LEAST_REST_S = 0.001
"""Timers are no finer: what is used for less than that is added up."""
MOST_REST_S = 0.1
ALONE = 16
"""How many steps of an owner are in one round if nobody else had a turn lately."""
FEW = 2
"""How many requests an owner may have under way and still be served without rests."""
MOST_OWNERS = 4_096
"""How many owners to remember."""


class _Request(NamedTuple):
    turn: asyncio.Future[None]
    begun: bool


class _Owner:
    """An owner's requests that wait for a turn, and what it had before."""

    __slots__ = ("name", "rests_until", "served", "served_at", "used_s", "waiting")

    def __init__(self, name: str) -> None:
        self.name = name
        self.waiting: deque[_Request] = deque()
        self.served = 0
        """The number of its last turn."""
        self.served_at = self.rests_until = self.used_s = 0.0


class _Turns(OwnTurns):
    """The turns of one owner among others."""

    __slots__ = ("_all", "_name")

    def __init__(self, turns: Turns, name: str) -> None:
        self._all = turns
        self._name = name

    async def take(self, *, begun: bool = False) -> None:
        await self._all.take(self._name, begun=begun)

    def charge(self, used_s: float) -> None:
        self._all.charge(self._name, used_s)

    def line_up(self, moved: asyncio.Future[None]) -> None:
        self._all.line_up(self._name, moved)

    @contextmanager
    def away(self) -> Iterator[None]:
        self._all.leave(self._name)
        try:
            yield
        finally:
            self._all.enter(self._name)


class Turns:
    """The turns in one event loop; nobody rests because of `guests`, but they rest for others."""

    def __init__(
        self, guests: Collection[str] = (), clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._guests = guests
        self._clock = clock
        self._owners: dict[str, _Owner] = {}
        """The last one has had the last turn."""
        self._waiting: dict[str, _Owner] = {}
        self._serving: _Owner | None = None
        """Whose step is in this round of the loop."""
        self._in_line: set[asyncio.Future[None]] = set()
        self._under_way: Counter[str] = Counter()
        self._debts: deque[tuple[str, float]] = deque(maxlen=MOST_OWNERS)
        self._timer: asyncio.TimerHandle | None = None
        self._count = self._steps = 0

    def of(self, name: str) -> OwnTurns:
        """The turns of one owner."""
        return _Turns(self, name)

    def enter(self, name: str) -> None:
        """Count a request of this owner as under way."""
        self._under_way[name] += 1

    def leave(self, name: str) -> None:
        """Stop counting a request that has ended, or only waits for something to happen."""
        self._under_way[name] -= 1
        if not self._under_way[name]:
            del self._under_way[name]

    async def take(self, name: str, *, begun: bool = False) -> None:
        """Return when it is this owner's turn: at once, if nobody else's step is in this round.

        A request that was `begun` before goes on without a rest.
        """
        owner = self._owners.get(name) or _Owner(name)
        if self._serving is None and (begun or not owner.waiting):
            now = self._clock()
            self._settle()
            if begun or owner.rests_until <= now or self._is_alone(owner, now):
                self._serve(owner, now)
                return
        elif (
            self._serving is owner
            and self._steps < ALONE
            and not self._waiting
            and self._is_alone(owner, self._clock())
        ):
            self._steps += 1
            return
        turn = asyncio.get_running_loop().create_future()
        self.line_up(name, turn, begun=begun)
        await turn

    def line_up(self, name: str, turn: asyncio.Future[None], *, begun: bool = False) -> None:
        """Resolve a future when it is this owner's turn; if it is in line it stays there."""
        if turn in self._in_line or turn.done():
            return
        self._in_line.add(turn)
        owner = self._owners.get(name) or _Owner(name)
        self._waiting[name] = self._owners[name] = owner
        if begun:
            owner.waiting.appendleft(_Request(turn, begun))
        else:
            owner.waiting.append(_Request(turn, begun))
        if self._serving is None and self._timer is None:
            self._timer = asyncio.get_running_loop().call_later(0, self._next)

    def owe(self, name: str, used_s: float) -> None:
        """Charge an owner at the next turn, for what a thread did for it; for every thread."""
        self._debts.append((name, used_s))

    def _settle(self) -> None:
        while self._debts:
            self.charge(*self._debts.popleft())

    def charge(self, name: str, used_s: float) -> None:
        """Make an owner with many requests rest for what was done for it outside its own steps."""
        owner, now = self._owners.get(name), self._clock()
        if owner is not None and self._has_many(owner) and not self._is_alone(owner, now):
            since = max(now, owner.rests_until)
            owner.rests_until = min(since + REST * used_s, now + MOST_REST_S)

    def _serve(self, owner: _Owner, now: float) -> None:
        """Let an owner's step begin, and look at what it used in the next round."""
        self._owners.pop(owner.name, None)
        self._owners[owner.name] = self._serving = owner
        self._count += 1
        self._steps = 1
        owner.served, owner.served_at = self._count, now
        if len(self._owners) > MOST_OWNERS:
            self._forget()
        asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        """In each round: let one request go on, if one waits that need not rest."""
        now = self._clock()
        self._settle()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if self._serving is not None:
            self._charge(self._serving, now)
            self._serving = None
        while owner := self._pick(now):
            alone = len(self._waiting) == 1 and self._is_alone(owner, now)
            if steps := self._let_go(owner, ALONE if alone else 1):
                self._serve(owner, now)  # afterwards, so that the steps come before the next look
                self._steps = steps
                return
        if self._waiting:
            left_s = min(owner.rests_until for owner in self._waiting.values()) - now
            self._timer = asyncio.get_running_loop().call_later(max(0.0, left_s), self._next)

    def _let_go(self, owner: _Owner, most: int) -> int:
        """Let so many requests of an owner go on; returns how many, without those given up."""
        steps = 0
        while owner.waiting and steps < most:
            turn = owner.waiting.popleft().turn
            self._in_line.discard(turn)
            if not turn.done():
                turn.set_result(None)
                steps += 1
        if not owner.waiting:
            del self._waiting[owner.name]
        return steps

    def _pick(self, now: float) -> _Owner | None:
        """The owner whose last turn is longest ago, of those who need not rest."""
        ready = [
            owner
            for owner in self._waiting.values()
            if owner.waiting[0].begun or owner.rests_until <= now or self._is_alone(owner, now)
        ]
        return min(ready, key=lambda owner: owner.served) if ready else None

    def _charge(self, owner: _Owner, now: float) -> None:
        """Make an owner rest who has used much and asks for more."""
        if not self._has_many(owner) or self._is_alone(owner, now):
            owner.used_s = 0.0
            return
        owner.used_s += now - owner.served_at
        rest_s = REST * owner.used_s
        if rest_s >= LEAST_REST_S:
            owner.rests_until = now + min(rest_s, MOST_REST_S)
            owner.used_s = 0.0

    def _has_many(self, owner: _Owner) -> bool:
        """Whether more of an owner's requests wait for a turn, or several are under way."""
        return bool(owner.waiting) or self._under_way[owner.name] > FEW

    def _is_alone(self, owner: _Owner, now: float) -> bool:
        """Whether nobody else had a turn lately."""
        for other in reversed(self._owners.values()):
            if other is not owner and other.name not in self._guests:
                return other.served_at < now - LATELY_S
        return True

    def _forget(self) -> None:
        """Forget the owner whose last turn is longest ago."""
        for name, owner in self._owners.items():
            if not owner.waiting:
                del self._owners[name]
                return
