"""The processes of a soak: a server, a runner, its host and clients, and who kills them when.

Everything is started here and killed by its pid; which one is next follows from the seed. At the
end all clients finish what they began, the queue is worked off, and everything is stopped.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from longhouse.kernel.errors import LonghouseError
from tests.chaos.soak.client import DESK, LEASE_MS, SHOP
from tests.chaos.soak.journal import Call, Journal
from tests.runner.processes import RunnerProcess, bind, environment, until
from tests.runner.test_worktrees import checkout
from tests.runner.tool_tasks.kit import TaskDesk
from tests.surfaces.serving import ROOT

__all__ = ["World"]

DRAIN_S = 300
FLAGS = {"heartbeat_ms": 700, "max_parallel": 3, "max_failures": 20, "kill_grace_s": 0}
VICTIMS = {"server": 3, "runner": 4, "host": 1, "client": 4, "frozen runner": 2, "frozen host": 1}
"""What is hit, and how often."""


class World:
    """One store and everything that runs on it."""

    def __init__(self, base: Path, db: str | None, seed: int, clients: int, acts: int) -> None:
        self.base = base
        self.rng = random.Random(seed)
        self.hits: Counter[str] = Counter()
        self.hosts_killed: list[int] = []
        """When a host was killed, in ms."""
        self.repo = checkout(base / "repo", "a.txt")
        self._more: dict[str, Any] = {"db": db} if db else {}
        self.desk = TaskDesk(base, **self._more)
        work = {"plan_title": "Soak", "task_title": "Soak", "steps": []}
        self.desk.served("tasks.bootstrap", workspace=DESK, **work)  # what reservations are for
        bind(base, self.repo, db=db)
        self._acts = acts
        self._runners = 0
        self.runner = self._start_runner()
        self.clients = {name: self._start_client(name) for name in _names(clients)}

    def _start_runner(self) -> RunnerProcess:
        self._runners += 1
        name = f"r{self._runners}"
        return self.desk.runner(name, "--attach", root=self.repo, **FLAGS, **self._more)

    def _keep_runner(self) -> None:
        """Start another if it left because the server was away for long; nothing else ends it."""
        if self.runner.process.poll() is not None:
            assert "no server is running" in self.runner.said(), self.runner.said()[-2000:]
            self.runner = self._start_runner()

    def _start_client(self, name: str) -> subprocess.Popen[bytes]:
        argv = [sys.executable, "-m", "tests.chaos.soak.client", str(self.base), name]
        with (self.base / f"{name}.log").open("a") as log:
            return subprocess.Popen(
                [*argv, str(self._acts)],
                cwd=ROOT,
                env=environment(self.base),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
            )

    def busy(self) -> bool:
        """Whether a client still has acts to do; one that gave up fails the soak."""
        self._keep_runner()
        for name, process in self.clients.items():
            assert not process.poll(), (self.base / f"{name}.log").read_text()
        return any(process.poll() is None for process in self.clients.values())

    def disturb(self, least_s: float = 0.2, most_s: float = 2.0) -> None:
        """Hit one of them after a moment."""
        time.sleep(self.rng.uniform(least_s, most_s))
        victim = self.rng.choices(list(VICTIMS), list(VICTIMS.values()))[0]
        self.hits[victim] += 1
        if victim == "server":
            self.desk.restart()
        elif victim == "runner":
            self.runner.kill()
            self.runner = self._start_runner()
        elif victim == "host":
            self._hit_host(lambda pid: os.kill(pid, signal.SIGKILL), killed=True)
        elif victim == "frozen host":
            self._hit_host(self._freeze)
        elif victim == "frozen runner":
            with suppress(ProcessLookupError):  # it has just left
                self._freeze(self.runner.process.pid)
        elif running := [name for name, one in self.clients.items() if one.poll() is None]:
            self._replace_client(self.rng.choice(running))

    def _hit_host(self, hit: Callable[[int], None], *, killed: bool = False) -> None:
        with suppress(LonghouseError, OSError):  # there is none at the moment
            pid = self.desk.host_pid
            hit(pid)
            if killed:
                self.hosts_killed.append(int(time.time() * 1000))

    def _freeze(self, pid: int) -> None:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self.rng.uniform(0.2, 4.0))
        os.kill(pid, signal.SIGCONT)

    def _replace_client(self, name: str) -> None:
        self.clients[name].kill()
        self.clients[name].wait()
        self.clients[name] = self._start_client(name)

    def finish(self) -> None:
        """Let the clients do all their acts."""
        until(lambda: not self.busy(), "the clients go on", timeout_s=DRAIN_S)

    def drain(self) -> None:
        """Let everything that was begun come to its end."""
        (self.base / "stop").touch()
        self.finish()
        self._work_off()
        until(lambda: not self._left(), "left: ", lambda: str(self._left()), timeout_s=DRAIN_S)
        self.runner.stop()
        for folder in self._scratch():
            os.utime(folder, (0, 0))  # left behind long ago
        self.runner = self._start_runner()  # it sweeps what killed ones left
        self.runner.await_line("runner.ready")
        until(self._is_swept, "worktrees are left: ", lambda: str(self.worktrees()), timeout_s=60)

    def _work_off(self) -> None:
        """Complete what clients left in their queue."""
        while self._jobs(DESK):
            who = {"runner_id": "last", "lease_ttl_ms": LEASE_MS, "allow_stale": True}
            job = self.desk.served("jobs.claim", workspace=DESK, **who)["job"]
            if job is None:  # a killed client's lease has not ended yet
                time.sleep(0.1)
                continue
            fence = {"job": job["id"], "runner_id": "last", "claim_revision": job["revision"]}
            self.desk.served("jobs.complete", workspace=DESK, **fence, status="DONE")

    def _jobs(self, workspace: str) -> list[str]:
        return [
            job["id"]
            for status in ("QUEUED", "RUNNING")
            for job in self.desk.served("jobs.list", workspace=workspace, status=status)["jobs"]
        ]

    def _left(self) -> list[str]:
        self._keep_runner()
        tasks = self.desk("tool.task_list", status="active")["tasks"]
        return self._jobs(SHOP) + [f"{one['task_id']} {one['status']}" for one in tasks]

    def _is_swept(self) -> bool:
        return not self.worktrees()

    def worktrees(self) -> list[str]:
        """Worktrees and scratch folders of jobs, on disk and in git's own list."""
        caches = (self.base / "home").glob("**/worktrees/*/JOB-*")
        listed = subprocess.run(
            ["git", "-C", str(self.repo), "worktree", "list"], capture_output=True, text=True
        ).stdout.splitlines()[1:]
        return sorted(map(str, [*caches, *self._scratch()])) + listed

    def _scratch(self) -> list[Path]:
        return [one for one in (self.base / "home").glob("**/scratch/*") if one.is_dir()]

    def stop(self) -> None:
        """End everything; nothing that it started may go on."""
        for client in self.clients.values():
            client.kill()
            client.wait()
        if self.runner.process.poll() is None:
            self.runner.stop()
        self.desk.close()

    def calls(self) -> list[Call]:
        """What all clients were told."""
        return [
            call for name in self.clients for call in Journal(self.base / f"{name}.journal").calls()
        ]

    def strays(self) -> list[str]:
        """Processes of this soak that still run."""
        return [
            f"{pid} {words}"
            for pid, words in _processes()
            if pid != os.getpid() and str(self.base) in words
        ]


def _names(clients: int) -> list[str]:
    return [f"c{n}" for n in range(clients)]


def _processes() -> list[tuple[int, str]]:
    """The pid of every process that is not a zombie, with its folder and command line."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if (folder / "stat").read_text().rpartition(")")[2].split()[0] not in "ZX":
                words = (folder / "cmdline").read_bytes().replace(b"\0", b" ").decode()
                found.append((int(folder.name), f"{(folder / 'cwd').readlink()} {words}"))
    return found
