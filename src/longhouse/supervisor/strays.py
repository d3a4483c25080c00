"""What a killed guard leaves behind, found and ended.

The owner is a subreaper as its guards are, so that it inherits the tree of a guard that was killed.
A child that it did not start and that is not in its session can only come from there: programs that
the owner itself starts later, such as git, stay in its session.
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
    """From now on this process inherits, and answers for, what its guards leave behind.

    What it has started before, such as a server, is left alone.
    """
    with _lock, suppress(OSError):
        _ours.update(
            pid for pid, (_, parent, _, _) in guard.processes().items() if parent == os.getpid()
        )
    guard.become_subreaper()
    _adopting.set()


def start_guard(*args: Any, **more: Any) -> subprocess.Popen[bytes]:
    """Start one as `subprocess.Popen` does; it is not taken for a stray."""
    with _lock:
        made = subprocess.Popen(*args, **more)
        _ours.add(made.pid)
    return made


def start_apart(*args: Any, **more: Any) -> int:
    """Run a program that leaves a process of its own behind, which is never a stray of ours.

    While the program runs this process is no subreaper: the kernel hands what is left to init, and
    does not ask us again when that ends. So the program should be quick. Returns its exit code.
    """
    with _lock:
        guard.prctl(guard.PR_SET_CHILD_SUBREAPER, 0)
        try:
            return subprocess.call(*args, **more)
        finally:
            if _adopting.is_set():
                guard.become_subreaper()


def collect_guard(ended: subprocess.Popen[bytes]) -> None:
    """Wait for a guard that has reported; from then on its pid may be another process's."""
    with _lock:
        ended.wait()
        _ours.discard(ended.pid)


def end_strays(grace_s: float, spare: str = "") -> tuple[int, list[int]]:
    """End the tree of a killed guard: how many had to be killed, and which are still there."""
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
