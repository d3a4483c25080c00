"""Calls that wait for their workspace to change, in one event loop.

However many wait, a commit wakes the loop once. Each call that it concerns then gets into line for
a turn of its owner, and goes on when that comes; further commits until then add nothing.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from longhouse.dispatch.calls import Caller
from longhouse.store.wakeups import Wakeups

__all__ = ["Waits"]


class _Wait(NamedTuple):
    caller: Caller
    after: int


class Waits:
    """The waiting calls; only the loop's own thread may use this."""

    def __init__(self, wakeups: Wakeups) -> None:
        self._wakeups = wakeups
        self._loop = asyncio.get_running_loop()
        self._waiting: dict[str, dict[asyncio.Future[None], _Wait]] = {}
        self._stop: Callable[[], None] | None = None

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    async def until_moved(
        self, workspace: str, after: int, timeout_s: float, caller: Caller
    ) -> None:
        """Return on a turn of the caller: when the workspace is past `after`, or the time is up."""
        moved = self._loop.create_future()
        self._waiting.setdefault(workspace, {})[moved] = _Wait(caller, after)
        if self._stop is None:
            self._stop = self._wakeups.listen(self._hear)
        timer = self._loop.call_later(timeout_s, caller.turns.line_up, moved)
        try:
            if self._wakeups.wait(workspace, after, 0):
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
        if not self._waiting and self._stop is not None:
            self._stop()
            self._stop = None

    def _hear(self, workspace: str, seq: int) -> None:
        """In the thread that committed."""
        if workspace in self._waiting:
            self._loop.call_soon_threadsafe(self._stir, workspace, seq)

    def _stir(self, workspace: str, seq: int) -> None:
        for moved, wait in self._waiting.get(workspace, {}).items():
            if seq > wait.after:
                wait.caller.turns.line_up(moved)
