"""What a killed guard leaves behind, found and ended.

The runner is a subreaper as its guards are, so the tree of a guard that was killed becomes its own.
A child of the runner that it did not start and that is not of its session can only come from there:
programs that the runner itself starts later, such as git, stay in its session.
"""

from __future__ import annotations

import os
import subprocess
import threading
from contextlib import suppress
from typing import Any

from longhouse.supervisor import guard

__all__ = ["adopt", "collect_guard", "end_strays", "start_guard"]

_lock = threading.Lock()
_ours: set[int] = set()
_adopting = threading.Event()


def adopt() -> None:
    """From now on this process inherits, and answers for, what its guards leave behind.

    What it has started before, such as the server that it found missing, stays as it is.
    """
    with _lock, suppress(OSError):
        _ours.update(
            pid for pid, (_, parent, _) in guard.processes().items() if parent == os.getpid()
        )
    guard.become_subreaper()
    _adopting.set()


def start_guard(*args: Any, **more: Any) -> subprocess.Popen[bytes]:
    """Start one as `subprocess.Popen` does; nobody takes it for a stray."""
    with _lock:
        made = subprocess.Popen(*args, **more)
        _ours.add(made.pid)
    return made


def collect_guard(ended: subprocess.Popen[bytes]) -> None:
    """Wait for a guard that has said its last; its pid may be another's from then on."""
    with _lock:
        ended.wait()
        _ours.discard(ended.pid)


def end_strays(grace_s: float) -> tuple[int, list[int]]:
    """After a guard was killed: how many of its tree had to be, and which are there even then."""
    return guard.end_tree(_strays, grace_s) if _adopting.is_set() else (0, [])


def _strays() -> set[int]:
    me, mine = os.getpid(), os.getsid(0)
    with _lock:
        try:
            among = guard.processes()
        except OSError:
            return set()
        adopted = {
            pid
            for pid, (_, parent, session) in among.items()
            if parent == me and session != mine and pid not in _ours
        }
        for pid in adopted:
            if among[pid][0] == "Z":
                with suppress(ChildProcessError):
                    os.waitpid(pid, os.WNOHANG)
    living = {pid for pid in adopted if among[pid][0] != "Z"}
    return living | guard.below(living, among)
