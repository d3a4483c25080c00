"""One task in the host: started, watched, ended as a whole tree, and recorded.

Nothing here waits: the host calls `tick`, and reports when the program has exited and which
processes its tree has.
"""

from __future__ import annotations

import binascii
import errno
import json
import os
import signal
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

from longhouse.kernel.private_files import read_private
from longhouse.runner.host import launching
from longhouse.runner.host.folders import SPEC, keep_spec
from longhouse.runner.host.hashing import Hasher
from longhouse.runner.host.holder import boot_id
from longhouse.runner.host.journal import JOURNAL, Journal, Record
from longhouse.runner.host.launching import Begun
from longhouse.runner.host.logs import Log
from longhouse.runner.host.numbers import is_another
from longhouse.runner.host.refusals import HostRefused, checked_name, open_folder
from longhouse.runner.host.terminal import Terminal
from longhouse.runner.host.trees import MARK, TaskRoot, command_of, leader_marked
from longhouse.supervisor import ControlGroup, ControlGroups, guard

__all__ = ["HostedTask"]

STREAMS = {"pipes": ("stdout", "stderr"), "pty": ("pty",)}
QUIET_S = 0.25
QUIET_FOR_S = 5.0
TICK_S = 0.25
SOON_S = 0.02
MUCH = 1 << 20
"""A task that has written more than this since the last tick is ticked again soon."""
MOST_LEFTOVERS = 50
MOST_PROCESSES = 1_024
"""How many processes a tree may have at once if its spec does not say."""
THREADS = 16
"""A control group counts threads, so its limit allows this many per process."""
FEW = 64
"""One process may have many threads, so a group's limit assumes at least this many processes."""

CUT_OFF = "the process host was killed just as it started the program; whether it ran is unknown"
LOST = "the server that held this input is gone, and input is stored nowhere else; type it again"


class HostedTask:
    """A task from its start, or from the host's restart, until its end is recorded.

    `spec` holds what a later host needs: `mode`, `cap_bytes`, `timeout_ms`, `idle_timeout_ms`,
    `max_processes`, `grace_ms` and `made`. The command line and environment are not stored.
    """

    def __init__(self, folder: Path, name: str, spec: dict[str, Any], hasher: Hasher) -> None:
        self.name = name
        self.root: TaskRoot | None = None
        self.wakes_at: float | None = None
        """When to call `tick` again."""
        self.over = False
        self._unrecorded: dict[str, dict[str, Any]] = {}
        """The outcomes of operations that the journal had no space for."""
        self._spec = spec
        self._folder = folder / name
        self._journal = Journal(self._folder / JOURNAL)
        self._logs = [
            Log(self._folder, each, spec["cap_bytes"], hasher) for each in STREAMS[spec["mode"]]
        ]
        self.is_hashed = True
        """Whether the digests cover all output that was followed so far."""
        self.terminal: Terminal | None = None
        self.is_foreign = False
        """Whether its program was started by an earlier host."""
        self._group: ControlGroup | None = None
        self._program = ""
        self._begun: Begun | None = None
        """What was started, until it was asked whether the program runs."""
        self._exited = False
        self._status: int | None = None
        self._cause: str | None = None
        self._ending: guard.TreeEnding | None = None
        self._tree: set[int] = set()
        self._is_treeless = False
        self._leftovers: list[dict[str, Any]] = []
        self._left: list[int] = []
        self._sizes: list[int] = []
        self._here_since = self._grew_at = guard.now()
        self._sealed_by: float | None = None
        self._ports: list[int] = []

    @classmethod
    def start(
        cls,
        folder: Path,
        host_id: str,
        asked: dict[str, Any],
        hasher: Hasher,
        groups: ControlGroups | None = None,
    ) -> HostedTask:
        """Begin to start the requested program; `confirm` says whether it runs.

        It runs only once its pid is recorded.
        """
        name = checked_name(asked)
        spec = {
            key: asked.get(key)
            for key in ("mode", "cap_bytes", "timeout_ms", "idle_timeout_ms", "max_processes")
        }
        spec |= {"made": asked.get("made")}
        spec |= {"grace_ms": asked.get("grace_ms", 5_000), "mark": f"{host_id}/{name}"}
        keep_spec(folder / name, json.dumps(spec).encode())
        task = cls(folder, name, spec, hasher)
        if groups:
            task._group = groups.make(name, max(task._most_processes, FEW) * THREADS)
        try:
            task._start(asked)
        except BaseException:
            task.close()
            raise
        return task

    @classmethod
    def take_back(cls, folder: Path, name: str, host_id: str, hasher: Hasher) -> HostedTask | None:
        """A task that an earlier host started and did not see end; None if there is none.

        A copied folder holds records of the original's tasks: those are not ours to end.
        """
        if not (folder / name / JOURNAL).exists():
            return None
        spec = json.loads(read_private(folder / name / SPEC))
        if spec["mark"] != f"{host_id}/{name}":
            return None
        task = cls(folder, name, spec, hasher)
        started = task.record("started") or task._found_start()
        if started is None or task.record("ended"):
            task.close()
            return None
        task.is_foreign = True
        if task._spec["mode"] == "pty":
            task.end("host_lost")  # its terminal died with the host
        if started["boot"] == boot_id():
            if group := started.get("group"):
                task._group = ControlGroup(Path(group))
            task.root = task._root_of(started, ours=False)
        else:
            task.exited(None)
        for one in task._journal.records:
            if one["kind"] == "ports":
                task._ports = one["ports"]
        task.wakes_at = guard.now()
        return task

    def _found_start(self) -> Record | None:
        """The start of a program that the earlier host started but did not live to record."""
        begun = self.record("starting")
        if begun is None or self.record("ended"):
            return None
        if begun["boot"] == boot_id() and (found := leader_marked(self._spec["mark"])):
            pid, start = found
            self._note("started", pid=pid, start=start, boot=boot_id())
        else:
            self._note("ended", cause="host_lost", error=CUT_OFF)
        return self.record("started")

    # ---- called by the host

    def exited(self, status: int | None) -> None:
        """The program has exited with this status from `waitpid`; None if it is unknown."""
        self._exited, self._status = True, status
        self._begin_ending()

    def end(self, cause: str) -> None:
        """Start ending the whole tree; the first cause counts."""
        if not self._exited:
            self._cause = self._cause or cause
        self._begin_ending()

    def seen(self, tree: set[int]) -> None:
        """The processes of its tree that are alive now."""
        self._tree = tree
        full = self._group is not None and self._group.was_full
        if (full or len(tree) > self._most_processes) and not self._ending:
            self._spec["grace_ms"] = 0
            self.end("max_processes")
            self._kill_group()

    def left_nothing(self) -> None:
        """Its program has exited and nothing that it started is alive, or can ever be."""
        self._tree = set()
        self._is_treeless = True

    def listens(self, ports: list[int]) -> bool:
        """Record the ports of its tree; True if they have changed."""
        if ports == self._ports or self._ending:
            return False
        self._ports = ports
        return self._note("ports", ports=ports)

    def tick(self) -> bool:
        """Follow the output, enforce limits, continue ending; True once its end is recorded."""
        if self.over:
            return False
        if self.terminal:
            self.terminal.move()
            if self.terminal.trouble:
                self._logs[0].note_trouble(self.terminal.trouble)
        behind = [log.follow() for log in self._logs]
        self.is_hashed = not any(behind)
        sizes = [log.size for log in self._logs]
        grown = sum(sizes) - sum(self._sizes)
        if grown:
            self._sizes, self._grew_at = sizes, guard.now()
        soon = grown > MUCH or not self.is_hashed
        self.wakes_at = guard.now() + (SOON_S if soon else self._pause_s())
        if self._ending is None:
            self._mind_limits()
        if self._ending is not None and self._has_ended() and self.is_hashed:
            return self._seal()
        return False

    def control(self, asked: dict[str, Any]) -> Record:
        """Apply one operation, once per `op_id`, and record its outcome.

        If the disk is full, OSError: asked again, it is only recorded.
        """
        op_id = str(asked["op_id"])
        if record := self._journal.op(op_id):
            return record
        if op_id not in self._unrecorded:
            if self.terminal:
                self.terminal.move()  # log earlier output first
            offsets = {log.stream: log.size for log in self._logs}
            self._unrecorded[op_id] = {"offsets": offsets, **self._apply(asked)}
        record = self._journal.add("op", op_id=op_id, op=asked["op"], **self._unrecorded[op_id])
        del self._unrecorded[op_id]
        return record

    # ---- read by others

    @property
    def is_begun(self) -> bool:
        """Whether it is not known yet if its program runs."""
        return self._begun is not None

    @property
    def needs_tree(self) -> bool:
        """Whether it needs a process scan to continue."""
        return self._ending is not None and self._sealed_by is None and not self._is_treeless

    @property
    def awaits_tree(self) -> bool:
        """Whether its program, which this host started, has exited, and its tree was not seen."""
        return self._exited and not self.is_foreign and self.needs_tree

    @property
    def feeds_at(self) -> float | None:
        """When to update its terminal's screen next."""
        return self.terminal.display.wakes_at if self.terminal else None

    @property
    def _most_processes(self) -> int:
        return self._spec["max_processes"] or MOST_PROCESSES

    def is_another_than(self, asked: dict[str, Any]) -> bool:
        return is_another(self._spec, asked.get("made"))

    def record(self, kind: str) -> Record | None:
        return next((one for one in self._journal.records if one["kind"] == kind), None)

    def close(self) -> None:
        if self.terminal:
            self.terminal.close()
        self._journal.close()
        for log in self._logs:
            log.close()
        if self._group:
            self._group.remove()

    # ---- starting

    def _root_of(self, started: Record, *, ours: bool) -> TaskRoot:
        mark = self._spec["mark"]
        return TaskRoot(started["pid"], started["start"], mark, ours=ours, group=self._group)

    def _start(self, asked: dict[str, Any]) -> None:
        argv, env = asked["argv"], {**asked["env"], MARK: self._spec["mark"]}
        with ExitStack() as opened:
            cwd = open_folder(asked["root"], asked.get("cwd") or ".")
            opened.callback(os.close, cwd)
            files: list[int] = []
            opened.callback(_close_all, files)
            files += [log.writer() for log in self._logs]
            if self._spec["mode"] == "pty":
                self.terminal = Terminal(self._folder, asked["rows"], asked["cols"], files[0])
                files.clear()  # the terminal owns the log now
                opened.callback(self.terminal.close_slave)
                env.setdefault("TERM", "xterm-256color")
            self._program = argv[0]
            try:
                self._begun = self._launch(argv, env, cwd, files)
            except (OSError, ValueError) as error:
                raise self._unstarted(error) from error
        self.wakes_at = guard.now() + SOON_S

    def _launch(self, argv: list[str], env: dict[str, str], cwd: int, files: list[int]) -> Begun:
        if not launching.is_quick(bound=bool(self.terminal or self._group)):
            return launching.gated(argv, env, cwd, files, self.terminal, self._record_start)
        self._journal.add("starting", boot=boot_id())
        begun = launching.quick(argv, env, cwd, files)
        try:
            self._record_start(begun.pid)
        except BaseException:
            guard.discard(begun.pid)
            raise
        return begun

    def _record_start(self, pid: int) -> None:
        found = guard.process(pid)
        if found is None:
            raise OSError(errno.ENOSYS, "there is no /proc to identify processes")
        facts = {"pid": pid, "start": found[3], "boot": boot_id(), **self._grouped(pid)}
        self.root = self._root_of(self._journal.add("started", **facts), ours=True)

    def confirm(self) -> None:
        """Wait until the program runs; HostRefused if it could not be started."""
        if self._begun is None:
            return
        begun, self._begun = self._begun, None
        try:
            begun.confirm()
        except OSError as error:
            raise self._unstarted(error) from error

    def _unstarted(self, error: OSError | ValueError) -> HostRefused:
        said = error.strerror if isinstance(error, OSError) else str(error)
        why = f"{self._program}: {said}"
        if self._journal.records:
            self._note("ended", cause="unstarted", error=why)
        return HostRefused(why)

    def _grouped(self, pid: int) -> dict[str, str]:
        """Put the program into its control group; returns the journal's `group` field, if any."""
        if self._group is None:
            return {}
        try:
            self._group.add(pid)
        except OSError:
            self._group.remove()
            self._group = None
            return {}
        return {"group": str(self._group.path)}

    # ---- ending

    def _mind_limits(self) -> None:
        started = self.record("started")
        assert started is not None
        now = guard.now()
        if (most := self._spec["timeout_ms"]) and _age_s(started) * 1000 >= most:
            self.end("timeout")
        elif (most := self._spec["idle_timeout_ms"]) and (now - self._grew_at) * 1000 >= most:
            self.end("idle_timeout")

    def _pause_s(self) -> float:
        """Programs often print most of their output at the start: young tasks are ticked often."""
        return min(max(SOON_S, (guard.now() - self._here_since) / 8), TICK_S)

    def _begin_ending(self) -> None:
        if self._ending is None:
            self._ending = guard.TreeEnding(lambda: self._tree, self._spec["grace_ms"] / 1000)
        self.wakes_at = guard.now()

    def _has_ended(self) -> bool:
        """Continue with TERM and KILL; True once nothing writes anymore."""
        assert self._ending is not None
        if self._sealed_by is None:
            if self._exited and not self._leftovers:
                self._note_leftovers()
            if self._cause == "max_processes" and self._tree:
                self._kill_group()
            pause_s = self._ending.step()
            if pause_s is not None:
                self.wakes_at = guard.now() + pause_s
                return False
            if not (self._exited or self.is_foreign or self._ending.left):
                return False  # its exit status has not arrived yet
            self._left = self._ending.left
            quiet = bool(self._leftovers or self._left)
            self._sealed_by = guard.now() + (QUIET_FOR_S if quiet else 0)
        return guard.now() >= min(self._sealed_by, self._grew_at + QUIET_S)

    def _note_leftovers(self) -> None:
        if self._cause is None:
            self._leftovers = [
                {"pid": pid, "command": command_of(pid)} for pid in sorted(self._tree)
            ][:MOST_LEFTOVERS]

    def _kill_group(self) -> None:
        """Kill processes that multiply faster than they can be scanned with a single call."""
        if self._group:
            with suppress(OSError):
                self._group.limit(0)  # stop them from multiplying
        if self.root and self.root.pid in self._tree:  # otherwise the id may have been reused
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.root.pid, signal.SIGKILL)

    def _seal(self) -> bool:
        assert self._ending is not None
        code = None if self._status is None else os.waitstatus_to_exitcode(self._status)
        self.over = self._note(
            "ended",
            code=code if code is not None and code >= 0 else None,
            signal=_signal_name(-code) if code is not None and code < 0 else None,
            cause=self._cause or ("host_lost" if code is None else None),
            leftovers=self._leftovers,
            killed=len(self._ending.killed),
            left=self._left,
            streams={log.stream: log.seal() for log in self._logs},
        )
        if not self.over:
            self.wakes_at = guard.now() + TICK_S  # the disk is full: try again
        return self.over

    def _note(self, kind: str, /, **facts: Any) -> bool:
        try:
            self._journal.add(kind, **facts)
        except OSError:
            return False
        return True

    # ---- operations

    def _apply(self, asked: dict[str, Any]) -> dict[str, Any]:
        if self._ending is not None and asked["op"] != "cancel":
            return {"failed": "the task is ending"}
        if asked["op"] == "cancel":
            self.end("cancelled")
            return {"reason": asked.get("reason")}
        if self.terminal:
            return self._in_terminal(asked)
        if asked["op"] == "signal":
            number = signal.Signals[f"SIG{asked['signal']}"]
            assert self.root is not None
            if self.is_foreign and not guard.lives(self.root.pid, self.root.started):
                return {"failed": "its program has ended"}
            try:
                os.killpg(self.root.pid, number)
            except OSError as error:
                return {"failed": error.strerror}
            return {"signal": asked["signal"]}
        return {"failed": f"a task without a terminal does not accept {asked['op']}"}

    def _in_terminal(self, asked: dict[str, Any]) -> dict[str, Any]:
        assert self.terminal is not None
        if not self.terminal.is_open:
            return {"failed": "the terminal is closed"}
        try:
            if asked["op"] == "signal":
                self.terminal.signal(signal.Signals[f"SIG{asked['signal']}"])
                return {"signal": asked["signal"]}
            if asked["op"] == "resize":
                self.terminal.resize(asked["rows"], asked["cols"])
                return {"rows": asked["rows"], "cols": asked["cols"]}
            if asked.get("lost"):
                return {"failed": LOST}
            data = binascii.a2b_base64(asked.get("chunk_b64") or "")
            other = binascii.a2b_base64(asked.get("application_b64") or "")
            if other and self.terminal.display.has_application_keys:
                data = other
            refused = self.terminal.type(data, eof=bool(asked.get("eof")))
        except OSError as error:
            return {"failed": error.strerror}
        return {"failed": refused} if refused else {"bytes": len(data)}


def _close_all(files: list[int]) -> None:
    for file in files:
        os.close(file)


def _signal_name(number: int) -> str:
    try:
        return signal.Signals(number).name.removeprefix("SIG")
    except ValueError:  # a real-time signal has no name
        return str(number)


def _age_s(started: Record) -> float:
    """Seconds since it started, by a clock that cannot be set."""
    ticks: int = os.sysconf("SC_CLK_TCK")
    age: float = guard.now() - started["start"] / ticks
    return age
