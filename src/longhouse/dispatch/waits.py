"""Calls that wait for their workspace to change, in one event loop.

However many wait, a commit wakes the loop once. Each call that it concerns (`Wait.on`) then gets
into line for a turn of its owner, and goes on when that comes; further commits until then add
nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from longhouse.dispatch.calls import Caller, Prepared
from longhouse.store.engine import Row
from longhouse.store.wakeups import Concern, Wakeups

__all__ = ["Waits"]


class _Wait(NamedTuple):
    caller: Caller
    after: int
    concern: Concern


class Waits:
    """The waiting calls; only the loop's own thread may use this."""

    def __init__(self, wakeups: Wakeups) -> None:
        self._wakeups = wakeups
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, dict[asyncio.Future[None], _Wait]] = {}
        self._stop: tuple[Callable[[], None], ...] = ()

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def until_moved(self, call: Prepared, timeout_s: float) -> None:
        """Return on a turn of the caller: when something it waits for moved, or time is up."""
        moved = self._loop.create_future()
        workspace, after, caller, concern = call.workspace, call.seen, call.caller, call.on
        self._waiting.setdefault(workspace, {})[moved] = _Wait(caller, after, concern)
        if not self._stop:
            wakeups = self._wakeups
            self._stop = wakeups.listen(self._hear), wakeups.listen_for_knocks(self._hear_knock)
        timer = self._loop.call_later(timeout_s, caller.turns.line_up, moved)
        try:
            if self._wakeups.wait(workspace, after, 0, concern, call.knocks):
                caller.turns.line_up(moved)
            await moved
        finally:
            timer.cancel()
            self._leave(workspace, moved)

    def end(self, concerned: Callable[[Caller], bool] = lambda _caller: True) -> None:
        """Let the calls of these callers go on now."""
        for waiting in self._waiting.values():
            for moved, wait in waiting.items():
                if concerned(wait.caller) and not moved.done():
                    moved.set_result(None)

    def _leave(self, workspace: str, moved: asyncio.Future[None]) -> None:
        waiting = self._waiting[workspace]
        del waiting[moved]
        if not waiting:
            del self._waiting[workspace]
        if not self._waiting:
            for stop in self._stop:
                stop()
            self._stop = ()

    def _hear(self, workspace: str, seq: int, rows: Sequence[Row] | None) -> None:
        """In the thread that committed."""
        if workspace in self._waiting:
            self._loop.call_soon_threadsafe(self._stir, workspace, seq, rows)

    def _hear_knock(self, workspace: str | None, keys: Collection[str] | None) -> None:
        """The same for what is not logged."""
        if workspace is None or workspace in self._waiting:
            self._loop.call_soon_threadsafe(self._stir_quietly, workspace, keys)

    def _stir(self, workspace: str, seq: int, rows: Sequence[Row] | None) -> None:
        for moved, wait in self._waiting.get(workspace, {}).items():
            if seq > wait.after and wait.concern.takes(rows):
                wait.caller.turns.line_up(moved)

    def _stir_quietly(self, workspace: str | None, keys: Collection[str] | None) -> None:
        for name in (workspace,) if workspace is not None else tuple(self._waiting):
            for moved, wait in self._waiting.get(name, {}).items():
                if wait.concern.answers(keys):
                    wait.caller.turns.line_up(moved)
