"""Starts the program of a task, in one of two ways.

quick   vfork and exec: nothing of the host is copied, so a start costs a fraction. The program runs
        before its pid is known, so the journal says beforehand that it is about to be started.
gated   fork, and exec once the pid is recorded: for terminals and control groups, which the program
        must have before it runs, and while the host may open more files than its programs.
"""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from longhouse.runner.host.terminal import Terminal
from longhouse.supervisor import guard

__all__ = ["FILES", "Begun", "gated", "is_quick", "mind_files", "quick"]

FILES = resource.getrlimit(resource.RLIMIT_NOFILE)
"""How many files a program may open; the host itself needs some for each of its tasks."""
FILES_EACH = 8
"""More than enough for one task: a start that finds no file left would be refused."""


class Begun(NamedTuple):
    """A process, and the pipe that tells whether the program runs, unless that is known."""

    pid: int
    trouble: int | None = None

    def confirm(self) -> None:
        """Wait until the program runs; OSError if it could not be started."""
        if self.trouble is not None:
            guard.started(self.pid, self.trouble)


def mind_files(tasks: int) -> None:
    """Let the host itself open more files than its programs may, while it has this many tasks."""
    soft = FILES[1] if tasks * FILES_EACH > FILES[0] else FILES[0]
    if resource.getrlimit(resource.RLIMIT_NOFILE)[0] != soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, FILES[1]))


def is_quick(*, bound: bool) -> bool:
    """Whether a start can be quick; `bound` says that the program gets a terminal or a group."""
    return not bound and resource.getrlimit(resource.RLIMIT_NOFILE) == FILES


def quick(argv: Sequence[str], env: Mapping[str, str], cwd: int, files: Sequence[int]) -> Begun:
    """Start a program that leads a session, writes to two files, and reads nothing."""
    started = subprocess.Popen(
        argv,
        env=env,
        cwd=f"/proc/self/fd/{cwd}",
        stdin=subprocess.DEVNULL,
        stdout=files[0],
        stderr=files[1],
        start_new_session=True,
    )
    started.returncode = 0  # the host's loop waits for it: `subprocess` must not
    return Begun(started.pid)


def gated(
    argv: list[str],
    env: dict[str, str],
    cwd: int,
    files: Sequence[int],
    terminal: Terminal | None,
    record: Callable[[int], None],
) -> Begun:
    """Fork a child that becomes the program once `record` has recorded its pid."""
    gate, opens = os.pipe()

    def in_child() -> None:
        os.setsid()
        os.close(opens)
        if not os.read(gate, 1):
            os._exit(127)  # the host died before it recorded us
        os.fchdir(cwd)
        resource.setrlimit(resource.RLIMIT_NOFILE, FILES)
        if terminal:
            given = [terminal.take_control()] * 3
        else:
            given = [os.open("/dev/null", os.O_RDONLY), *files]
        for target, source in enumerate(given):
            os.dup2(source, target)

    def on_fork(pid: int) -> None:
        record(pid)
        os.write(opens, b"!")

    try:
        return Begun(*guard.begin(argv, env, in_child=in_child, on_fork=on_fork))
    finally:
        os.close(gate)
        os.close(opens)
