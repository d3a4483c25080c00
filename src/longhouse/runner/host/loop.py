"""The host's only loop: requests, exits, timers.

Only the loop itself waits; large output is hashed in a thread. Scanning all processes is expensive,
so one scan serves all tasks; it runs as often as its cost allows, and whenever a task ends. A
defect that one visitor or task meets is written down, and ends neither the loop nor another task.
"""

from __future__ import annotations

import os
import selectors
import signal
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from longhouse.runner.host import launching
from longhouse.runner.host.door import HostDoor
from longhouse.runner.host.hashing import Hasher
from longhouse.runner.host.identity import host_id_of
from longhouse.runner.host.journal import read_journal
from longhouse.runner.host.numbers import forget_unknown
from longhouse.runner.host.ports import Ports
from longhouse.runner.host.refusals import HostRefused, checked_name
from longhouse.runner.host.task import HostedTask
from longhouse.runner.host.trees import TaskRoot, Trees
from longhouse.runner.host.trouble import contained, tell_defect
from longhouse.supervisor import ControlGroups, guard

__all__ = ["Host", "own_processes"]

LOOK_S = 0.25
LOOK_SHARE = 20
"""Scanning processes takes at most one LOOK_SHARE-th of the time."""
ENDS_SHARE = 2
"""After a scan, the tasks that end wait this many times its length: many that end together need
one scan, not one each."""
IDLE_S = 10.0
COUNT_S = 0.05
TELL_S = 0.005
"""The minimum interval between notices that a terminal has new output."""
MANY = 32
"""This many new processes on the machine trigger a scan at once."""


def own_processes() -> int:
    """Become the parent of all that tasks leave behind; returns what tells of their exits."""
    guard.become_subreaper()
    for number in (signal.SIGINT, signal.SIGHUP, signal.SIGQUIT):
        if signal.getsignal(number) is signal.SIG_IGN:  # programs would inherit that
            signal.signal(number, lambda *_: None)
    return guard.wake_on(signal.SIGCHLD, signal.SIGTERM)


class Host:
    """All tasks of one folder."""

    def __init__(self, folder: Path, wake: int, *, spare: str = "", idle_s: float = IDLE_S) -> None:
        """`wake` receives the numbers of signals.

        The process that holds the lock `spare` survives the task that started it.
        """
        self._folder = folder
        self._spare = spare
        self._id = host_id_of(folder)
        self._revision = 0
        self._idle_s = idle_s
        self._tasks: dict[str, HostedTask] = {}
        self._trees, self._ports = Trees(), Ports()
        self._look_at = self._ends_at = guard.now()
        self._count, self._count_at = 0, guard.now()
        self._untold: dict[str, float] = {}
        self._told_at: dict[str, float] = {}
        self._idle_since = guard.now()
        self._leaving = False
        self._ready = selectors.DefaultSelector()
        self._wake = wake
        self._ready.register(self._wake, selectors.EVENT_READ, self._signalled)
        self._groups = ControlGroups.find()
        self._hasher = Hasher()
        self._ready.register(self._hasher.ready, selectors.EVENT_READ, self._hashed)
        self._door = HostDoor(self._ready, self._answer)
        self._take_back()

    @property
    def name(self) -> str:
        """What it is and what it found."""
        return f"{self._id}, and took {len(self._tasks)} tasks back"

    def run(self) -> None:
        """Serve until there are no tasks and no visitors, or SIGTERM has ended all tasks."""
        while not self.is_done:
            self.turn(self._pause_s())
        self.close()

    def turn(self, pause_s: float | None) -> None:
        """Wait for at most this long, then do all that is due."""
        ready = self._ready.select(pause_s)
        for key, _ in ready:
            if self._is_current(key):
                with contained("in an event"):
                    key.data()
        self._tell_grown()
        if not ready:
            self._feed_a_display()
        self._see_ends_without_trees()
        looked = self._look_if_due()
        for task in list(self._tasks.values()):
            waits = task.needs_tree and not looked
            if task.wakes_at is not None and task.wakes_at <= guard.now() and not waits:
                self._tick(task)

    def close(self) -> None:
        self._door.close()
        self._ready.close()

    def _is_current(self, key: selectors.SelectorKey) -> bool:
        """Whether nothing that was served in the same turn has closed this file."""
        try:
            return self._ready.get_key(key.fileobj).data is key.data
        except (KeyError, ValueError):
            return False

    # ---- requests

    def _answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        verb = {
            "spawn": self._spawn,
            "spawn_many": self._spawn_many,
            "control": self._control,
            "fence": self._fence,
            "list": self._list,
            "quit": self._quit,
        }
        return self._said(lambda: verb[asked["do"]](asked), str(asked.get("do")))

    def _said(self, answer: Callable[[], dict[str, Any]], what: str = "spawn") -> dict[str, Any]:
        """An answer, or what was wrong with the request."""
        try:
            return answer()
        except HostRefused as refused:
            return {"error": str(refused)} | ({"later": True} if refused.later else {})
        except (KeyError, TypeError, ValueError) as error:
            return {"error": f"a malformed request: {error!r}"}
        except OSError as error:
            return {"error": error.strerror or str(error), "errno": error.errno}
        except Exception as error:
            tell_defect(f"in a request to {what!r}")
            return {"error": f"a defect of the process host: {error!r}; see its host.log"}

    def _fence(self, asked: dict[str, Any]) -> dict[str, Any]:
        """A runner speaks for this host from now on: earlier ones are refused."""
        self._refuse_earlier(asked)
        self._revision = int(asked["revision"])
        return self._list(asked)

    def _refuse_earlier(self, asked: dict[str, Any]) -> None:
        if int(asked.get("revision", self._revision)) < self._revision:
            why = f"another runner speaks for this host, as revision {self._revision}"
            raise HostRefused(why, later=True)

    def _spawn(self, asked: dict[str, Any]) -> dict[str, Any]:
        self._refuse_earlier(asked)
        return self._confirmed(self._begin(asked))

    def _spawn_many(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Start several tasks: while one program is loaded, the next is forked."""
        self._refuse_earlier(asked)
        begun = [self._said(partial(self._begin, one)) for one in asked["tasks"]]
        return {"tasks": [self._said(partial(self._confirmed, one)) for one in begun]}

    def _begin(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Fork a task's program, unless it was started before."""
        name = checked_name(asked)
        if self._leaving:
            raise HostRefused("the host is shutting down")
        if (old := self._tasks.get(name)) and old.is_another_than(asked):
            old.end("cancelled")  # the server that started it was restored, and forgot it
            raise HostRefused(f"an earlier {name}, which no server knows, is ending", later=True)
        if name not in self._tasks:
            if (self._folder / name).exists():
                forget_unknown(self._folder, name, self._id, asked)
                if begun := _begun_before(self._folder / name):
                    return {"task": name, "pid": begun.get("pid"), "again": True}
            launching.mind_files(len(self._tasks) + 1)
            self._tasks[name] = HostedTask.start(
                self._folder, self._id, asked, self._hasher, self._groups
            )
        return {"task": name}

    def _confirmed(self, begun: dict[str, Any]) -> dict[str, Any]:
        """The answer about a task that `_begin` forked, once its program runs."""
        if "error" in begun or "again" in begun:
            return begun
        task = self._tasks[begun["task"]]
        if task.is_begun:
            try:
                task.confirm()
            except BaseException:
                del self._tasks[task.name]
                task.close()
                raise
            try:
                self._attach(task)
            except BaseException:
                task.end("host_lost")  # it cannot be served
                raise
            self._door.push(task.name)
        started = task.record("started")
        assert started is not None
        return {**begun, "pid": started["pid"]}

    def _control(self, asked: dict[str, Any]) -> dict[str, Any]:
        task = self._tasks.get(checked_name(asked))
        self._refuse_earlier(asked)
        if task is None:
            raise HostRefused(f"{asked['task']} is not running here")
        record = task.control(asked)
        self._attend(task)
        self._door.push(task.name)
        return {"op": record}

    def _list(self, _asked: dict[str, Any]) -> dict[str, Any]:
        groups = str(self._groups.base) if self._groups else None
        who = {"host_id": self._id, "pid": os.getpid(), "groups": groups}
        return {**who, "tasks": sorted(self._tasks)}

    def _quit(self, _asked: dict[str, Any]) -> dict[str, Any]:
        if self._tasks:
            raise HostRefused(f"still running here: {', '.join(sorted(self._tasks))}")
        self._leaving = True
        return {}

    # ---- terminals

    def _attach(self, task: HostedTask) -> None:
        if task.terminal:
            moves = partial(self._moves, task)
            self._ready.register(task.terminal.master, selectors.EVENT_READ, moves)
            task.terminal.on_close = self._ready.unregister

    def _moves(self, task: HostedTask) -> None:
        """A terminal has output, or accepts input."""
        try:
            if task.terminal and task.terminal.move():
                self._untold.setdefault(task.name, self._told_at.get(task.name, 0.0) + TELL_S)
            self._attend(task)
        except Exception:
            tell_defect(f"in the terminal of {task.name}")
            with contained(f"in ending {task.name}"):
                task.end("host_lost")
                if task.terminal:
                    task.terminal.leave()  # it would be ready again at once, for ever

    def _tell_grown(self) -> None:
        """Notify watchers of new terminal output: at once, then at most every TELL_S."""
        now = guard.now()
        for name in [name for name, due in self._untold.items() if due <= now]:
            del self._untold[name]
            self._told_at[name] = now
            self._door.push(name)

    def _feed_a_display(self) -> None:
        """Otherwise idle: update one terminal's screen a little further."""
        now = guard.now()
        for task in self._tasks.values():
            if task.terminal and task.feeds_at is not None and task.feeds_at <= now:
                with contained(f"in the screen of {task.name}"):
                    task.terminal.display.feed_some()
                return

    def _attend(self, task: HostedTask) -> None:
        """Wait for the terminal to accept input only while some is queued."""
        if task.terminal and task.terminal.is_open:
            wanted = selectors.EVENT_READ
            wanted |= selectors.EVENT_WRITE if task.terminal.wants_to_write else 0
            key = self._ready.get_key(task.terminal.master)
            if key.events != wanted:
                self._ready.modify(task.terminal.master, wanted, key.data)

    # ---- processes

    def _take_back(self) -> None:
        for path in sorted(self._folder.iterdir()):
            if not path.is_dir():
                continue
            launching.mind_files(len(self._tasks) + 1)
            if task := HostedTask.take_back(self._folder, path.name, self._id, self._hasher):
                self._tasks[task.name] = task

    def _signalled(self) -> None:
        if signal.SIGTERM in os.read(self._wake, 512):
            self._leaving = True
            for task in self._tasks.values():
                with contained(f"in ending {task.name}"):
                    task.end("host_stopped")
        by_pid = {task.root.pid: task for task in self._tasks.values() if task.root}
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            self._trees.reaped(pid)
            if pid in by_pid:
                with contained(f"in the exit of {by_pid[pid].name}"):
                    by_pid[pid].exited(status)

    def _see_ends_without_trees(self) -> None:
        """Most programs leave nothing behind, which is known without a scan."""
        exited = {task.name for task in self._tasks.values() if task.awaits_tree}
        if exited and self._trees.has_no_stray(
            {task.root.pid for task in self._tasks.values() if task.root},
            exited,
        ):
            for name in exited:
                self._tasks[name].left_nothing()

    def _hashed(self) -> None:
        """A log was hashed to its end: its task may have been waiting only for that."""
        os.read(self._hasher.ready, 512)
        for task in self._tasks.values():
            if not task.is_hashed:
                task.wakes_at = guard.now()

    def _look_if_due(self) -> bool:
        """If due, update every task's processes and the ports they listen on."""
        started = guard.now()
        ends = any(
            task.needs_tree and (due := self._due(task)) is not None and due <= started
            for task in self._tasks.values()
        )
        count = self._count
        if started >= self._count_at:
            count, self._count_at = processes_here(), started + COUNT_S
        due = ends or started >= self._look_at or count > self._count + MANY
        if not self._tasks or not due:
            return False
        with contained("in a look at all processes"):
            self._look()
        now, self._count = guard.now(), count
        self._look_at = now + max(LOOK_S, (now - started) * LOOK_SHARE)
        self._ends_at = now + (now - started) * ENDS_SHARE
        return True

    def _due(self, task: HostedTask) -> float | None:
        """When to tick a task; one that ends is only ticked after a scan."""
        if task.wakes_at is None or not task.needs_tree:
            return task.wakes_at
        return max(task.wakes_at, self._ends_at)

    def _look(self) -> None:
        roots: dict[TaskRoot, HostedTask] = {
            task.root: task for task in self._tasks.values() if task.root
        }
        found = self._trees.look(roots, self._spare)
        for root, tree in found.items():
            task = roots[root]
            with contained(f"in the processes of {task.name}"):
                task.seen(tree)
                gone = task.is_foreign and not guard.lives(root.pid, root.started)
                if gone and not task.needs_tree:
                    task.exited(None)
        ports = self._ports.look({roots[root].name: tree for root, tree in found.items()})
        for name, listens in (ports or {}).items():
            with contained(f"in the ports of {name}"):
                if self._tasks[name].listens(listens):
                    self._door.push(name)

    def _tick(self, task: HostedTask) -> None:
        try:
            if task.tick():
                self._written(task)
        except Exception:
            tell_defect(f"in {task.name}")
            task.wakes_at = guard.now() + 1.0

    def _written(self, task: HostedTask) -> None:
        """Forget a task whose end is on disk."""
        del self._tasks[task.name]
        self._untold.pop(task.name, None)
        self._told_at.pop(task.name, None)
        task.close()
        self._door.push(task.name)
        self._idle_since = guard.now()

    # ---- timers

    def _pause_s(self) -> float | None:
        wakes = [at for task in self._tasks.values() for at in (self._due(task), task.feeds_at)]
        times = [at for at in wakes if at is not None]
        times += self._untold.values()
        if self._tasks:
            times += [self._look_at, guard.now() + COUNT_S]
        elif not self._door.is_visited:
            times.append(self._idle_since + self._idle_s)
        return max(0.0, min(times) - guard.now()) if times else None

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to serve."""
        if self._tasks:
            return False
        if self._door.is_visited and not self._leaving:
            self._idle_since = guard.now()
            return False
        return self._leaving or guard.now() >= self._idle_since + self._idle_s


def processes_here() -> int:
    """How many processes and threads the machine has; cheap to read."""
    try:
        words = Path("/proc/loadavg").read_text(encoding="ascii").split()
    except OSError:
        return 0
    return int(words[3].partition("/")[2])


def _begun_before(folder: Path) -> dict[str, Any] | None:
    """What is known of a task that was started before, or was never to be: its first record."""
    records, _ = read_journal(folder / "journal.jsonl")
    return next((one for one in records if one["kind"] in ("started", "ended")), None)
