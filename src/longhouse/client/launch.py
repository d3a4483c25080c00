"""Starts the server of a store in the background and waits until it answers; stops it again.

Whoever starts a server may find that another was quicker: the store's lock lets one live, and all
callers are given that one.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from longhouse.client.locate import Running, find, is_alive, recorded
from longhouse.client.wire import Wire
from longhouse.config import Settings, environment_with
from longhouse.kernel.errors import LonghouseError

__all__ = ["LOG_NAME", "ServerFailed", "Started", "start", "stop", "wait_healthy"]

LOG_NAME = "server.log"
WAIT_S = 30.0
STOP_S = 15.0
LOG_BYTES = 4 * 1024 * 1024


class ServerFailed(LonghouseError):
    """The server did not come up."""

    code = "SERVER_FAILED"
    status = 503
    exit_code = 7


class Started(NamedTuple):
    """A server that answers; `fresh` when this call started it."""

    running: Running
    wire: Wire
    fresh: bool


def start(
    settings: Settings, arguments: Sequence[str], *, environment: Mapping[str, str] | None = None,
    wait_s: float = WAIT_S,
) -> Started:  # fmt: skip
    """The store's server: the one that runs, or a new one, detached from this process."""
    if found := find(settings.dir, token=settings.token):
        return Started(*found, fresh=False)
    settings.dir.mkdir(parents=True, exist_ok=True, mode=0o700)
    log = settings.dir / LOG_NAME
    descriptor = _open_log(log)
    try:
        child = subprocess.Popen(
            command_of(arguments), env=environment_with(environment or {}),
            stdin=subprocess.DEVNULL, stdout=descriptor, stderr=descriptor,
            cwd=settings.project_root, start_new_session=True, close_fds=True,
        )  # fmt: skip
    finally:
        os.close(descriptor)
    found = wait_healthy(settings, child, wait_s=wait_s)
    if found is None:
        raise ServerFailed(
            f"the server did not come up: {last_line(log)}", recovery=f"read {log}, mend, repeat"
        )
    return Started(*found, fresh=found[0].pid == child.pid)


def command_of(arguments: Sequence[str]) -> list[str]:
    return [sys.executable, "-m", "longhouse", "serve", *arguments]


def wait_healthy(
    settings: Settings, child: subprocess.Popen[bytes], *, wait_s: float = WAIT_S
) -> tuple[Running, Wire] | None:
    """Wait until a server of this store answers; None when it ended or took too long."""
    ends = time.monotonic() + wait_s
    while True:
        if found := find(settings.dir, token=settings.token):
            return found
        ended = child.poll() is not None
        if ended or time.monotonic() > ends:
            # One more look: the child may have left because another server was quicker.
            return find(settings.dir, token=settings.token)
        time.sleep(0.03)


def stop(folder: Path, running: Running, *, force: bool = False, wait_s: float = STOP_S) -> bool:
    """Ask the server to leave, and wait for it; with `force` end it. True when it is gone."""
    os.kill(running.pid, signal.SIGKILL if force else signal.SIGTERM)
    ends = time.monotonic() + wait_s
    while is_alive(running.pid) and recorded(folder) == running:
        if time.monotonic() > ends:
            return False
        time.sleep(0.02)
    return True


def is_server(pid: int) -> bool:
    """Whether that process is a Longhouse server: a pid is given to another one, some day."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return False
    return b"serve" in words and any(b"longhouse" in word for word in words)


def last_line(log: Path) -> str:
    try:
        lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    except OSError:
        return "it said nothing"
    return lines[-1].strip() if lines else "it said nothing"


def _open_log(log: Path) -> int:
    """Append to the log, for the owner's eyes; a long one makes room for a new one first."""
    if log.exists() and log.stat().st_size > LOG_BYTES:
        log.replace(log.with_suffix(".log.1"))
    return os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
