"""Starting a runner where background processes wait for one, or for somebody to tell of them.

A server that may start runners does so after a spawn, and looks every few seconds as well: no write
tells that a runner was killed. At most once in thirty seconds for each workspace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from longhouse.processes.records import SILENT_MS
from longhouse.processes.room import room, sql
from longhouse.store.tx import Tx

if TYPE_CHECKING:
    from longhouse.facts import HouseFacts
    from longhouse.kernel.contributions import Commit

__all__ = ["REST_MS", "RunnerCall"]

STARTER: Final = "jobs.runner_starter"
"""The service by which a server starts runners; see the jobs room."""
REST_MS: Final = 30_000
LOOK_S: Final = 5


class RunnerCall:
    """Calls for a runner, and remembers when it last did."""

    def __init__(self, starter: Any, *, enabled: bool) -> None:
        self._starter = starter
        self._enabled = enabled
        self._last: dict[str, int] = {}

    @classmethod
    def from_house(cls, house: HouseFacts) -> RunnerCall:
        return cls(house.services.get(STARTER), enabled=house.settings.runner_autostart)

    @property
    def possible(self) -> bool:
        return self._enabled and self._starter is not None

    def look(self, tx: Tx) -> bool:
        """Start a runner if tasks wait or run and no host is heard; True when one was started."""
        if not self.possible or tx.now_ms - self._last.get(tx.workspace, 0) < REST_MS:
            return False
        missed = tx.value(sql.runner_missing, since=tx.now_ms - SILENT_MS)
        if not missed or self._starter.running(tx.workspace):
            return False
        self._last[tx.workspace] = tx.now_ms
        try:
            self._starter.start(tx.workspace)
        except OSError:
            return False  # `longhouse ps` goes on saying that it waits
        return True


@room.every(LOOK_S, when=lambda facts: facts.of(RunnerCall).possible)
def start_where_tasks_wait(tx: Tx) -> None:
    """Start a runner where tasks wait, or go on unseen, and none is there."""
    tx.facts.of(RunnerCall).look(tx)


@room.after("tool.task_spawn", "tool.task_cancel")
def start_missing_runner(commit: Commit) -> None:
    """The same at once, after a task was asked for."""
    call = commit.facts.of(RunnerCall)
    if call.possible:
        commit.read(call.look)
