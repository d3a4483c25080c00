"""Whether the control plane starts a runner by itself: a pure decision, and who carries it out.

Only `longhouse runner` is ever started: while jobs wait and no runner holds a lease, or background
processes wait and no runner reports on them; at most once in thirty seconds. A committed write
leads to it at once; the start follows the answer and cannot change it. The leading server looks
every few seconds as well, since no write tells that a runner was killed, a back-off is over or a
claim ran out. It rests longer each time that did not help.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from longhouse.config import own_argv
from longhouse.jobs import presence, runners
from longhouse.jobs.facts import JobFacts, Starter
from longhouse.jobs.room import room, sql
from longhouse.jobs.types.jobs import RunnerBootstrap
from longhouse.jobs.types.runners import RunnerStart, StartRunner
from longhouse.kernel.errors import Forbidden
from longhouse.kernel.registry import Role
from longhouse.store.tx import Tx

if TYPE_CHECKING:
    from longhouse.facts import HouseFacts
    from longhouse.kernel.contributions import CommittedWrite

__all__ = [
    "BACKOFF_MS",
    "TRIGGERS",
    "Autostart",
    "RunnerProcesses",
    "bootstrap",
    "runner_argv",
    "should_start",
    "start_runner",
    "wanted",
]

BACKOFF_MS: Final = 30_000
LONGEST_BACKOFF_MS: Final = 600_000
LOOK_S: Final = 5
MAX_RUNNERS: Final = 4
IDLE_EXIT_S: Final = 600
"""A runner that was started automatically exits after this long without work."""

PROCESSES_WAIT: Final = "jobs.processes_wait"
"""What the room of processes provides: whether its tasks miss a runner."""
FORCED: Final = "jobs.runner.start"
TRIGGERS: Final = frozenset(
    {
        "jobs.create",
        "jobs.release",
        "jobs.requeue",
        "jobs.update",
        FORCED,
        "tasks.macro.delegate",
        "tasks.macro.fanout.jobs",
        "tool.task_cancel",
        "tool.task_spawn",
    }
)
"""The writes after which a runner may be missing."""


class StartedProcess(Protocol):
    """A started process, as far as anyone asks."""

    def poll(self) -> int | None: ...


class RunnerProcesses:
    """The real starter: `longhouse runner …` in its own session, and nothing else."""

    def __init__(
        self,
        storage_dir: str,
        *,
        spawn: Callable[[list[str]], StartedProcess] | None = None,
        most: int = MAX_RUNNERS,
    ) -> None:
        """At most so many runners run at once, whatever the number of workspaces."""
        self._most = most
        self._storage_dir = storage_dir
        self._spawn = spawn or _spawn
        self._children: dict[str, StartedProcess] = {}

    def running(self, workspace: str) -> bool:
        child = self._children.get(workspace)
        return child is not None and child.poll() is None

    def start(self, workspace: str) -> None:
        self._children = {ws: one for ws, one in self._children.items() if one.poll() is None}
        if len(self._children) >= self._most:
            raise OSError(f"{self._most} runners run already")
        argv = own_argv(*runner_argv(self._storage_dir, workspace))
        argv += ["--idle-exit-s", str(IDLE_EXIT_S), "--log-to-file", "--attach"]
        self._children[workspace] = self._spawn(argv)


def _spawn(argv: list[str]) -> StartedProcess:
    import subprocess

    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def should_start(
    *,
    enabled: bool,
    queued: bool,
    online: bool,
    started: bool,
    since_last_ms: int | None,
    rest_ms: int = BACKOFF_MS,
) -> bool:
    """The whole rule; `since_last_ms` is None before the first attempt."""
    resting = since_last_ms is not None and since_last_ms < rest_ms
    return enabled and queued and not online and not started and not resting


class Autostart:
    """Starts a runner where one is missing; remembers when it last tried."""

    def __init__(self, starter: Starter | None, *, enabled: bool) -> None:
        self._starter = starter
        self._enabled = enabled
        self._last: dict[str, int] = {}
        self._in_vain: dict[str, int] = {}

    @classmethod
    def from_house(cls, house: HouseFacts) -> Autostart:
        facts = house.of(JobFacts)
        return cls(facts.starter, enabled=facts.autostart)

    @property
    def possible(self) -> bool:
        return self._enabled and self._starter is not None

    def after(self, commit: CommittedWrite) -> bool:
        """React to a committed write; True when a runner was started."""
        self._in_vain.pop(commit.workspace, None)
        return self._start(
            commit.workspace,
            commit.now_ms,
            lambda: commit.read(wanted),
            forced=commit.cmd == FORCED,
        )

    def look(self, tx: Tx) -> bool:
        """See whether work waits without a runner, whatever led to that."""
        workspace = tx.workspace
        started = self._start(workspace, tx.now_ms, lambda: wanted(tx))
        if started:
            self._in_vain[workspace] = self._in_vain.get(workspace, -1) + 1
        return started

    def _start(
        self,
        workspace: str,
        now_ms: int,
        ask: Callable[[], tuple[bool, bool]],
        *,
        forced: bool = False,
    ) -> bool:
        if self._starter is None:
            return False
        last = None if forced else self._last.get(workspace)
        known: dict[str, Any] = {
            "enabled": forced or self._enabled,
            "started": self._starter.running(workspace),
            "since_last_ms": None if last is None else now_ms - last,
            "rest_ms": self._rest_ms(workspace),
        }
        if not should_start(queued=True, online=False, **known):
            return False  # what is known here says no: the store need not be asked
        queued, online = ask()
        if not should_start(queued=forced or queued, online=online, **known):
            return False
        self._last[workspace] = now_ms
        try:
            self._starter.start(workspace)
        except OSError:
            return False  # the radar goes on showing how to start one by hand
        return True

    def _rest_ms(self, workspace: str) -> int:
        doubled = min(self._in_vain.get(workspace, 0), 10)
        return min(BACKOFF_MS << doubled, LONGEST_BACKOFF_MS)


@room.every(LOOK_S, when=lambda facts: facts.of(Autostart).possible)
def start_where_work_waits(tx: Tx) -> None:
    """Start a runner where work waits and none is there."""
    tx.facts.of(Autostart).look(tx)


@room.after(*TRIGGERS)
def start_missing_runner(commit: CommittedWrite) -> None:
    """The same at once, after a write that may have made work."""
    commit.facts.of(Autostart).after(commit)


@room.command(
    "jobs.runner.start",
    also="runner.start jobs.runner.launch jobs.runner.run",
    op="runner.start",
    writes=True,
    role=Role.AGENT,
    example=StartRunner(),
)
def start_runner(tx: Tx, req: StartRunner) -> RunnerStart:
    """Start a runner for this workspace, unless one is there."""
    if not presence.may_start(tx):
        raise Forbidden(
            "runners are started by hand here: runner_autostart is off",
            recovery="ask whoever runs the server for `longhouse runner`, or a manager",
        )
    runners.notice(tx)
    there = presence.counted(tx)
    can = tx.facts.of(JobFacts).starter is not None
    if not can:
        tx.warn("RUNNER_START_FAILED", "this process starts no runners", "run the command given")
    return RunnerStart(
        attempted=can and there.status == "offline",
        jobs=presence.counts(tx),
        runner=there,
        runner_bootstrap=bootstrap(tx),
    )


def wanted(tx: Tx) -> tuple[bool, bool]:
    """Whether work waits that a runner could do now, and whether one is there to do it."""
    if tx.facts.registry.provided[PROCESSES_WAIT](tx):
        return True, False
    return bool(tx.value(sql.work_waits, now=tx.now_ms)), presence.counted(tx).status != "offline"


def runner_argv(storage_dir: str, workspace: str) -> list[str]:
    """The arguments of `longhouse` that start a runner on this store."""
    return ["runner", "--dir", storage_dir, "--workspace", workspace]


def bootstrap(tx: Tx) -> RunnerBootstrap:
    """The line to paste into a terminal."""
    return RunnerBootstrap(
        cmd=shlex.join(["longhouse", *runner_argv(tx.facts.storage_dir, tx.workspace)])
    )
