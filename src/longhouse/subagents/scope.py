"""One node of a dispatch tree: its identity, its limits, and whether it should stop.

Every scope except the root belongs to one dispatch. Usage is charged to all ancestors, so a limit
binds everything below the scope that set it, and a child can never widen its limits. All scopes of
a tree share one condition variable, under whose lock no foreign code runs.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Literal

from longhouse.subagents.clock import Clock, SystemClock, random_id
from longhouse.subagents.errors import (
    DeadlineExceeded,
    DispatchCancelled,
    DispatchSubagentError,
    LimitReached,
)
from longhouse.subagents.limits import DEFAULT_DEPTH, Limits, Usage

if TYPE_CHECKING:
    from longhouse.subagents.tools import Tool

__all__ = ["Scope"]

_Counted = Literal["turns", "tokens", "children"]

_NO_LIMITS = Limits()
_SYSTEM_CLOCK = SystemClock()
_LONGEST_WAIT = 3600.0  # platforms limit the length of a single wait


class Scope:
    """The identity, limits, usage, cancellation and inherited tools of one session."""

    __slots__ = (
        "_above",
        "_changed",
        "_ended",
        "_live",
        "_lock",
        "_reason",
        "_used",
        "clock",
        "deadline",
        "depth",
        "depth_left",
        "dispatch_id",
        "limits",
        "new_id",
        "tools",
    )

    def __init__(
        self,
        limits: Limits = _NO_LIMITS,
        *,
        tools: tuple[Tool[Any, Any], ...] = (),
        clock: Clock = _SYSTEM_CLOCK,
        new_id: Callable[[], str] = random_id,
        parent: Scope | None = None,
        dispatch_id: str | None = None,
    ) -> None:
        self.limits: Final = limits
        self.tools: Final = tools
        self.clock: Final = clock
        self.new_id: Final = new_id
        self.dispatch_id: Final = dispatch_id
        self._used = {"turns": 0, "tokens": 0, "children": 0}
        self._live: dict[Scope, None] = {}
        self._reason: str | None = None
        self._ended = False
        # Nearest first, without the scope itself, which would be a reference cycle.
        self._above: tuple[Scope, ...] = () if parent is None else (parent, *parent._above)
        # The condition's lock; taking it directly is cheaper.
        self._lock: threading.RLock = threading.RLock() if parent is None else parent._lock
        self._changed: threading.Condition = (
            threading.Condition(self._lock) if parent is None else parent._changed
        )
        self.depth: Final = len(self._above)
        if parent is None:
            left = DEFAULT_DEPTH if limits.depth is None else limits.depth
        else:
            left = parent.depth_left_below(limits)
        self.depth_left: Final[int] = left
        deadline = None if parent is None else parent.deadline
        if limits.seconds is not None:
            mine = clock.monotonic() + limits.seconds
            deadline = mine if deadline is None else min(mine, deadline)
        self.deadline: Final[float | None] = deadline

    def open_child(
        self,
        limits: Limits = _NO_LIMITS,
        *,
        tools: tuple[Tool[Any, Any], ...] = (),
        dispatch_id: str | None = None,
    ) -> Scope:
        """Admit one more dispatch below this scope, or raise why not."""
        self.check()
        if self.depth_left < 1:
            raise LimitReached("depth", self.depth)
        child = Scope(
            limits,
            tools=tools,
            clock=self.clock,
            new_id=self.new_id,
            parent=self,
            dispatch_id=dispatch_id or self.new_id(),
        )
        with self._lock:
            self._take("children")
            self._live[child] = None
        return child

    def depth_left_below(self, limits: Limits) -> int:
        """The `depth_left` of a child with these limits."""
        left = self.depth_left - 1
        return left if limits.depth is None else min(limits.depth, left)

    def is_below(self, other: Scope) -> bool:
        return other in self._above

    @property
    def live(self) -> tuple[Scope, ...]:
        """The children that are running; cancel one of them, or this scope to cancel all."""
        with self._lock:
            return tuple(self._live)

    @property
    def usage(self) -> Usage:
        with self._lock:
            return Usage(**self._used)

    def start_turn(self) -> None:
        """Call before every model request: raises if time, tokens or turns are used up."""
        self.check()
        with self._lock:
            self._refuse_if_spent("tokens")
            self._take("turns")

    def spend(self, tokens: int) -> None:
        """Record tokens that a model used; never refused, since they are already spent."""
        if tokens < 0:
            raise ValueError(f"tokens must be 0 or more; got {tokens!r}")
        with self._lock:
            for scope in (self, *self._above):
                scope._used["tokens"] += tokens

    def seconds_left(self) -> float | None:
        """Seconds until the deadline, never negative; None without a deadline."""
        if self.deadline is None:
            return None
        return max(0.0, self.deadline - self.clock.monotonic())

    def cancel(self, reason: str = "no reason given") -> None:
        """Ask this session and everything below it to stop; the first reason counts."""
        with self._lock:
            if self._reason is None:
                self._reason = reason
            self._changed.notify_all()

    def verdict(self) -> DispatchSubagentError | None:
        """Why this session should stop early, or None."""
        for scope in (self, *self._above):
            if scope._reason is not None:
                return DispatchCancelled(scope._reason)
            if scope._ended and scope is not self:
                return DispatchCancelled("the parent session has ended")
        if self.deadline is not None and self.clock.monotonic() >= self.deadline:
            return DeadlineExceeded()
        return None

    def check(self) -> None:
        """Raise if this session should stop: it is cancelled, out of time, or closed."""
        verdict = self.verdict()
        if verdict is not None:
            raise verdict
        if self._ended:
            raise DispatchCancelled("the session has ended")

    @property
    def ended(self) -> bool:
        """Whether this session or an ancestor has ended."""
        if self._ended or not self._above:
            return self._ended
        return any(scope._ended for scope in self._above)

    def end(self) -> None:
        """Leave the tree; everything still running below is asked to stop."""
        with self._lock:
            self._ended = True
            self._live.clear()
            if self._above:
                self._above[0]._live.pop(self, None)
            self._changed.notify_all()

    def wait(self, done: Callable[[], bool]) -> DispatchSubagentError | None:
        """Wait until `done`, or until this session should stop; then return why."""
        with self._changed:
            while not done():
                verdict = self.verdict()
                if verdict is not None:
                    return verdict
                left = self.seconds_left()
                self._changed.wait(_LONGEST_WAIT if left is None else min(left, _LONGEST_WAIT))
        return None

    def wake(self) -> None:
        """Make every `wait` in the tree check its condition again."""
        with self._changed:
            self._changed.notify_all()

    def _refuse_if_spent(self, what: _Counted) -> None:
        for scope in (self, *self._above):
            allowed = getattr(scope.limits, what)
            if allowed is not None and scope._used[what] >= allowed:
                raise LimitReached(what, allowed)

    def _take(self, what: _Counted) -> None:
        self._refuse_if_spent(what)
        for scope in (self, *self._above):
            scope._used[what] += 1
