"""Tracks the runners of a store on this machine: each keeps a note file and holds its lock.

The note says which runner it is. A process counts as that runner only if the kernel confirms that
it holds the note's lock, so a forged or stale note never causes a signal.
"""

from __future__ import annotations

import fcntl
import hashlib
import os
import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

import msgspec

from longhouse.client.locate import is_alive
from longhouse.executors import Options
from longhouse.kernel.private_files import open_private, read_private, write_private
from longhouse.supervisor.guard import holds

__all__ = ["Noted", "announced", "end", "log_path", "retire", "runners_here", "settings_digest"]

FOLDER = "runners"


class Noted(NamedTuple):
    """One runner as described by its note; `background` if it logs to a file."""

    runner_id: str
    workspace: str
    pid: int
    background: bool
    settings: str


def log_path(home: Path, runner_id: str) -> Path:
    return home / FOLDER / f"{_name(runner_id)}.log"


def settings_digest(options: Options, policy: str) -> str:
    """A digest of the settings that matter; the runner's name is not one of them."""
    alike = options._replace(runner_id="", idle_exit_s=0)
    return hashlib.sha256(msgspec.json.encode([alike, policy])).hexdigest()[:16]


@contextmanager
def announced(home: Path, noted: Noted) -> Iterator[None]:
    """Keep this runner's note while the context is open."""
    folder = home / FOLDER
    # A runner for a remote server may be the first to need the store's folder.
    folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    folder.mkdir(mode=0o700, exist_ok=True)
    path = folder / f"{_name(noted.runner_id)}.json"
    write_private(path, msgspec.json.encode(noted._asdict()))
    lock = open_private(path, os.O_RDWR)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        path.unlink(missing_ok=True)
        os.close(lock)


def runners_here(home: Path) -> list[Noted]:
    """This store's runners on this machine; notes of dead runners are removed."""
    found = []
    for path in sorted((home / FOLDER).glob("*.json")):
        try:
            noted = Noted(**msgspec.json.decode(read_private(path)))
            lives = noted.pid > 1 and holds(noted.pid, path.stat())
        except (OSError, msgspec.DecodeError, TypeError):
            continue
        if lives:
            found.append(noted)
        else:
            path.unlink(missing_ok=True)
    return found


def end(noted: Noted, wait_s: float) -> bool:
    """Ask a runner to leave and wait up to `wait_s`; True if it has left."""
    with suppress(ProcessLookupError):
        os.kill(noted.pid, signal.SIGTERM)
    ends = time.monotonic() + wait_s
    while is_alive(noted.pid):
        if time.monotonic() > ends:
            return False
        time.sleep(0.05)
    return True


def retire(noted: Noted) -> None:
    """Ask a runner to finish its current jobs and then leave."""
    with suppress(ProcessLookupError):
        os.kill(noted.pid, signal.SIGUSR1)


def _name(runner_id: str) -> str:
    return re.sub(r"[^\w.-]+", "-", runner_id)
