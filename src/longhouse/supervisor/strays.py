"""Finds and ends the processes that a killed guard leaves behind.

Like its guards, the owner is a subreaper, so it inherits the tree of a killed guard. A child that
it did not start and that is not in its session can only come from there: programs that the owner
itself starts later, such as git, stay in its session.
"""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import suppress
from functools import partial
from typing import Any

from longhouse.supervisor import guard

__all__ = ["adopt_strays", "collect_guard", "end_strays", "start_apart", "start_guard"]

_lock = threading.Lock()
_ours: set[int] = set()
_adopting = threading.Event()


def adopt_strays() -> None:
    """From now on, this process inherits and ends whatever its guards leave behind.

    Processes it started earlier, such as a server, are left alone.
    """
    with _lock, suppress(OSError):
        _ours.update(
            pid for pid, (_, parent, _, _) in guard.processes().items() if parent == os.getpid()
        )
    guard.become_subreaper()
    _adopting.set()


def start_guard(*args: Any, **more: Any) -> subprocess.Popen[bytes]:
    """Start a guard like `subprocess.Popen`; it does not count as a stray."""
    with _lock:
        made = subprocess.Popen(*args, **more)
        _ours.add(made.pid)
    return made


def start_apart(*args: Any, **more: Any) -> int:
    """Run a program that leaves a process behind on purpose, so that it never becomes our stray.

    While the program runs, this process is not a subreaper: the kernel gives the remaining process
    to init for good. So the program should be quick. Returns its exit code.
    """
    with _lock:
        guard.prctl(guard.PR_SET_CHILD_SUBREAPER, 0)
        try:
            return subprocess.call(*args, **more)
        finally:
            if _adopting.is_set():
                guard.become_subreaper()


def collect_guard(ended: subprocess.Popen[bytes]) -> None:
    """Wait for a guard that has reported; after that, its pid may be reused."""
    with _lock:
        ended.wait()
        _ours.discard(ended.pid)


def end_strays(grace_s: float, spare: str = "") -> tuple[int, list[int]]:
    """End a killed guard's tree; returns how many had to be killed, and which survived."""
    if not _adopting.is_set():
        return 0, []
    return guard.end_tree(partial(_strays, spare), grace_s)


def _strays(spare: str) -> set[int]:
    me, mine = os.getpid(), os.getsid(0)
    with _lock:
        try:
            among = guard.processes()
        except OSError:
            return set()
        adopted = {
            pid
            for pid, (_, parent, session, _) in among.items()
            if parent == me and session != mine and pid not in _ours
        }
        for pid in adopted:
            if among[pid][0] == "Z":
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
    spared = guard.holders(spare, among)
    living = {pid for pid in adopted if among[pid][0] != "Z"} - spared
    return (living | guard.below(living, among)) - spared - guard.below(spared, among)
