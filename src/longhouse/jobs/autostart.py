"""Whether the control plane starts a runner by itself: a pure decision, and who carries it out.

Only a committed write can lead to a start, and only of `longhouse runner`: while jobs are queued
and no runner holds a lease, at most once in thirty seconds. The start follows the answer of the
write and cannot change it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from longhouse.config import own_argv
from longhouse.jobs import runners
from longhouse.jobs.facts import JobFacts, Starter
from longhouse.jobs.room import room, sql
from longhouse.jobs.types.jobs import RunnerBootstrap
from longhouse.jobs.types.runners import Counts, RunnerStart, StartRunner
from longhouse.kernel.registry import Role
from longhouse.store.tx import Tx

if TYPE_CHECKING:
    from longhouse.facts import HouseFacts
    from longhouse.kernel.contributions import Commit

__all__ = [
    "BACKOFF_MS",
    "TRIGGERS",
    "Autostart",
    "RunnerProcesses",
    "autostart_enabled",
    "bootstrap",
    "counts",
    "runner_argv",
    "should_start",
    "start_runner",
    "wanted",
]

BACKOFF_MS: Final = 30_000
MAX_RUNNERS: Final = 4
IDLE_EXIT_S: Final = 600
"""Nobody looks after a runner that was started by itself: without work it leaves."""

FORCED: Final = "jobs.runner.start"
TRIGGERS: Final = frozenset(
    {
        "jobs.create",
        "jobs.release",
        "jobs.requeue",
        FORCED,
        "tasks.macro.delegate",
        "tasks.macro.fanout.jobs",
    }
)
"""The writes after which a runner may be missing."""


class Child(Protocol):
    """A started process, as far as anyone asks."""

    def poll(self) -> int | None: ...


class RunnerProcesses:
    """The real starter: `longhouse runner …` in its own session, and nothing else."""

    def __init__(
        self,
        storage_dir: str,
        *,
        spawn: Callable[[list[str]], Child] | None = None,
        most: int = MAX_RUNNERS,
    ) -> None:
        """At most so many runners run at once, whatever the number of workspaces."""
        self._most = most
        self._storage_dir = storage_dir
        self._spawn = spawn or _spawn
        self._children: dict[str, Child] = {}

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


def _spawn(argv: list[str]) -> Child:
    import subprocess

    return subprocess.Popen(
        argv,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def should_start(
    *, enabled: bool, queued: bool, online: bool, started: bool, since_last_ms: int | None
) -> bool:
    """The whole rule; `since_last_ms` is None before the first attempt."""
    resting = since_last_ms is not None and since_last_ms < BACKOFF_MS
    return enabled and queued and not online and not started and not resting


class Autostart:
    """Starts a runner where one is missing; remembers when it last tried."""

    def __init__(self, starter: Starter | None, *, enabled: bool) -> None:
        self._starter = starter
        self._enabled = enabled
        self._last: dict[str, int] = {}

    @classmethod
    def from_house(cls, house: HouseFacts) -> Autostart:
        facts = house.of(JobFacts)
        return cls(facts.starter, enabled=facts.autostart)

    def after(self, commit: Commit) -> bool:
        """React to a committed write; True when a runner was started."""
        if self._starter is None:
            return False
        workspace, forced = commit.workspace, commit.cmd == FORCED
        last = None if forced else self._last.get(workspace)
        known: dict[str, Any] = {
            "enabled": forced or self._enabled,
            "started": self._starter.running(workspace),
            "since_last_ms": None if last is None else commit.now_ms - last,
        }
        if not should_start(queued=True, online=False, **known):
            return False  # what is known here says no: the store need not be asked
        queued, online = commit.read(wanted)
        if not should_start(queued=forced or queued, online=online, **known):
            return False
        self._last[workspace] = commit.now_ms
        try:
            self._starter.start(workspace)
        except OSError:
            return False  # the radar goes on showing how to start one by hand
        return True


@room.after(*TRIGGERS)
def start_missing_runner(commit: Commit) -> None:
    """Start a runner where jobs wait and none is there."""
    commit.facts.of(Autostart).after(commit)


@room.command(
    "jobs.runner.start", op="runner.start", writes=True, role=Role.AGENT, example=StartRunner()
)
def start_runner(tx: Tx, req: StartRunner) -> RunnerStart:
    """Start a runner for this workspace, unless one is there."""
    runners.notice(tx)
    there = runners.counted(tx)
    can = tx.facts.of(JobFacts).starter is not None
    if not can:
        tx.warn("RUNNER_START_FAILED", "this process starts no runners", "run the command given")
    return RunnerStart(
        attempted=can and there.status == "offline",
        jobs=counts(tx),
        runner=there,
        runner_bootstrap=bootstrap(tx),
    )


def counts(tx: Tx, up_to: int = 1_000) -> Counts:
    """How many jobs wait and run, counted no further than `up_to`."""
    queued, running = (
        int(tx.value(sql.count_up_to, status=status, limit=up_to))
        for status in ("QUEUED", "RUNNING")
    )
    return Counts(queued=queued, running=running)


def wanted(tx: Tx) -> tuple[bool, bool]:
    """Whether jobs are queued, and whether a runner holds a lease."""
    queued = tx.value(sql.count_up_to, status="QUEUED", limit=1)
    return bool(queued), runners.counted(tx).status != "offline"


def autostart_enabled(tx: Tx) -> bool:
    facts = tx.facts.of(JobFacts)
    return facts.starter is not None and facts.autostart


def runner_argv(storage_dir: str, workspace: str) -> list[str]:
    """The arguments of `longhouse` that start a runner on this store."""
    return ["runner", "--dir", storage_dir, "--workspace", workspace]


def bootstrap(tx: Tx) -> RunnerBootstrap:
    """The line to paste into a terminal."""
    return RunnerBootstrap(
        cmd=shlex.join(["longhouse", *runner_argv(tx.facts.storage_dir, tx.workspace)])
    )
