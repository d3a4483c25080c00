"""Who holds a folder's `host.lock`: the one process that may serve the folder.

A host that does not answer (it was stopped, or hangs) still holds the lock. Nothing it could do
later would be safe, so its place is taken by killing it: a killed process never runs again, and the
next host takes its tasks back.
"""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from functools import cache
from pathlib import Path

from longhouse.kernel.private_files import read_private
from longhouse.supervisor import guard

__all__ = ["LOCK", "boot_id", "holder_of", "kill_holder", "name_holder"]

LOCK = "host.lock"


@cache
def boot_id() -> str:
    """Changes at every boot: no process of another boot is alive."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()


def name_holder(lock: int) -> None:
    """Write into the lock, which we hold, who we are."""
    found = guard.process(os.getpid())
    who = {"pid": os.getpid(), "start": found[3] if found else 0, "boot": boot_id()}
    os.ftruncate(lock, 0)
    os.pwrite(lock, json.dumps(who).encode(), 0)


def holder_of(folder: Path) -> int | None:
    """The pid of the process that holds the folder's lock; None if there is none.

    A pid counts only with its start time, within one boot, and only if the kernel says that this
    process holds this very lock.
    """
    try:
        who = json.loads(read_private(folder / LOCK))
        pid, start, boot = int(who["pid"]), int(who["start"]), who["boot"]
        held = (folder / LOCK).stat()
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if boot != boot_id() or not guard.lives(pid, start) or not guard.holds(pid, held):
        return None
    return pid


def kill_holder(folder: Path) -> int | None:
    """Kill the process that holds the folder's lock, and no other; returns its pid."""
    pid = holder_of(folder)
    with suppress(ProcessLookupError, PermissionError):
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
            return pid
    return None
