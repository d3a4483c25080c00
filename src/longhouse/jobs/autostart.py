"""Starting a runner automatically: the pure decision, and the code that acts on it.

The only program started is `longhouse runner`, when jobs wait and no runner holds a lease, or when
background processes wait and no runner reports on them; at most once every 30 seconds. A lease
counts only if it can run what waits, and for jobs a runner is started only if this machine has an
agent for one of them: so one that is installed later is noticed at the next check. A committed
write triggers it once its answer is ready. The leading server also checks every few seconds, since
no write announces a killed runner, an elapsed back-off or an expired claim; it waits longer each
time a start did not help.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Protocol

from longhouse.config import own_argv
from longhouse.jobs import presence, runners
from longhouse.jobs.facts import JobFacts, Starter
from longhouse.jobs.room import room, sql
from longhouse.jobs.routing import Need
from longhouse.jobs.runners import runner_argv
from longhouse.jobs.types.jobs import RunnerBootstrap
from longhouse.jobs.types.runners import RunnerStart, StartRunner
from longhouse.jobs.waiting import Prospects, waiting_needs
from longhouse.kernel.errors import Forbidden
from longhouse.kernel.registry import Role
from longhouse.store.projects import bound_projects, require_bound
from longhouse.store.tx import Tx

if TYPE_CHECKING:
    from pathlib import Path

    from longhouse.facts import HouseFacts
    from longhouse.kernel.contributions import CommittedWrite

__all__ = [
    "BACKOFF_MS",
    "TRIGGERS",
    "Autostart",
    "RunnerProcesses",
    "WorkWaits",
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
"""Provided by the processes room: whether its tasks lack a runner."""
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
"""The writes that may create work for a runner."""


class StartedProcess(Protocol):
    """The part of `subprocess.Popen` that is used here."""

    def poll(self) -> int | None: ...


class RunnerProcesses:
    """The real starter: runs `longhouse runner …` in its own session, and nothing else."""

    def __init__(
        self,
        storage_dir: str,
        *,
        spawn: Callable[[list[str]], StartedProcess] | None = None,
        most: int = MAX_RUNNERS,
        policy: str | None = None,
        agents: Callable[[], Mapping[str, Sequence[str]]] = dict,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`most` limits the runners that run at once, across all workspaces.

        They get the `policy` of the server, even if it has it from a flag. `agents` looks for the
        programs that run jobs; its answer is kept for some seconds.
        """
        self._policy = ["--policy", policy] if policy else []
        self._most = most
        self._look = agents
        self._clock = clock
        self._seen: tuple[float, Mapping[str, Sequence[str]]] | None = None
        self._refused: dict[str, str] = {}
        self._storage_dir = storage_dir
        self._spawn = spawn or _spawn
        self._children: dict[str, StartedProcess] = {}

    def running(self, workspace: str) -> bool:
        child = self._children.get(workspace)
        return child is not None and child.poll() is None

    def agents(self) -> Mapping[str, Sequence[str]]:
        now = self._clock()
        if self._seen is None or now - self._seen[0] >= LOOK_S:
            self._seen = (now, self._look())
        return self._seen[1]

    def trouble(self, workspace: str) -> str | None:
        if workspace in self._refused:
            return self._refused[workspace]
        child = self._children.get(workspace)
        code = child.poll() if child else None
        return f"it exited with code {code}" if code else None

    def start(self, workspace: str, root: Path | None = None) -> None:
        try:
            self._start(workspace, root)
        except OSError as error:
            self._refused[workspace] = error.strerror or str(error)
            raise
        self._refused.pop(workspace, None)

    def _start(self, workspace: str, root: Path | None) -> None:
        running = [ws for ws, one in self._children.items() if one.poll() is None]
        if len(running) >= self._most:
            raise OSError(f"{self._most} runners are already running")
        self._children = {ws: self._children[ws] for ws in running}
        argv = own_argv(*runner_argv(self._storage_dir, workspace))
        argv += ["--root", str(root)] if root else []
        argv += ["--idle-exit-s", str(IDLE_EXIT_S), "--log-to-file", "--attach", *self._policy]
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
    """Starts a runner for a workspace that lacks one; remembers when it last tried."""

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
        """React to a committed write; True if a runner was started."""
        self._in_vain.pop(commit.workspace, None)
        return self._start(
            commit.workspace,
            commit.now_ms,
            lambda: commit.read(wanted),
            forced=commit.cmd == FORCED,
        )

    def look(self, tx: Tx) -> bool:
        """Start a runner if work waits without one, whatever the cause."""
        workspace = tx.workspace
        started = self._start(workspace, tx.now_ms, lambda: wanted(tx))
        if started:
            self._in_vain[workspace] = self._in_vain.get(workspace, -1) + 1
        return started

    def _start(
        self,
        workspace: str,
        now_ms: int,
        ask: Callable[[], WorkWaits],
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
            return False  # already ruled out without reading the store
        waits = ask()
        if waits.root is None:
            return False  # its work is done in no project that is here
        if not should_start(queued=forced or waits.queued, online=waits.online, **known):
            return False
        self._last[workspace] = now_ms
        try:
            self._starter.start(workspace, *waits.elsewhere)
        except OSError:
            return False  # the radar still shows the command that starts one
        return True

    def _rest_ms(self, workspace: str) -> int:
        doubled = min(self._in_vain.get(workspace, 0), 10)
        return min(BACKOFF_MS << doubled, LONGEST_BACKOFF_MS)


@room.every(LOOK_S, when=lambda facts: facts.of(Autostart).possible)
def start_where_work_waits(tx: Tx) -> None:
    """Start a runner if work waits and none is online."""
    tx.facts.of(Autostart).look(tx)


@room.after(*TRIGGERS)
def start_missing_runner(commit: CommittedWrite) -> None:
    """Do the same immediately after a write that may have created work."""
    commit.facts.of(Autostart).after(commit)


@room.command(
    "jobs.runner.start",
    also="runner.start jobs.runner.launch jobs.runner.run",
    op="runner.start",
    writes=True,
    additive=True,
    role=Role.AGENT,
    example=StartRunner(),
)
def start_runner(tx: Tx, req: StartRunner) -> RunnerStart:
    """Start a runner for this workspace unless one is online."""
    if not presence.may_start(tx):
        raise Forbidden(
            "automatic start of runners is disabled here: runner_autostart is off",
            recovery="ask a manager, or the server's operator, to run `longhouse runner`",
        ).asking("role:manager")
    there = presence.runners_present(tx)
    served = _is_served(Prospects(tx), waiting_needs(tx))
    if wanted(tx).root is None:
        require_bound(tx, [])
    can = tx.facts.of(JobFacts).starter is not None
    if not can:
        tx.warn(
            "RUNNER_START_FAILED",
            "this process cannot start runners",
            "run the command in runner_bootstrap",
        )
    return RunnerStart(
        attempted=can and not served,
        jobs=presence.counts(tx),
        runner=there,
        runner_bootstrap=bootstrap(tx),
    )


class WorkWaits(NamedTuple):
    """Whether a workspace needs a runner, and where it would work; `root` is None if not here."""

    queued: bool
    online: bool
    root: Path | None
    is_own: bool = True

    @property
    def elsewhere(self) -> tuple[Path, ...]:
        return () if self.is_own or self.root is None else (self.root,)


def wanted(tx: Tx) -> WorkWaits:
    """Whether work waits that a runner started here could do, whether one online can, and where."""
    own = tx.facts.own
    root = own.root_of(bound_projects(tx)) if own else None
    is_own = own is not None and root == own.root
    if tx.facts.registry.provided[PROCESSES_WAIT](tx):
        return WorkWaits(True, False, root, is_own)
    prospects = Prospects(tx)
    if not tx.value(sql.work_waits, now=tx.now_ms):
        return WorkWaits(False, _is_served(prospects, []), root, is_own)
    needs = waiting_needs(tx)
    lacking = [need for need in needs if not prospects.is_served(need)]
    queued = any(map(prospects.can_be_served, lacking))
    return WorkWaits(queued, _is_served(prospects, needs), root, is_own)


def _is_served(prospects: Prospects, needs: list[Need]) -> bool:
    """Whether the runners online can run all these jobs; if there are none, whether any job."""
    if needs:
        return all(map(prospects.is_served, needs))
    return any(runner.offer.takes_jobs for runner in prospects.present)


def bootstrap(tx: Tx) -> RunnerBootstrap:
    """The command line that starts a runner."""
    return RunnerBootstrap(cmd=runners.start_line(tx))
