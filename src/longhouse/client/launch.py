"""Starts the server of a store in the background and waits until it answers; stops it again.

Whoever starts a server may find that another was quicker: the store's lock lets one live, and all
callers are given that one.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from longhouse.client.answers import error_of
from longhouse.client.locate import Running, find, is_alive, recorded
from longhouse.client.wire import Wire
from longhouse.config import Settings, environment_with
from longhouse.kernel.errors import LonghouseError

__all__ = ["LOG_NAME", "ServerFailed", "Started", "is_server", "start", "stop"]

LOG_NAME = "server.log"
LAST_WORDS = "server.out"
WAIT_S = 30.0
STOP_S = 15.0


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
    words = settings.dir / LAST_WORDS
    out = os.open(words, os.O_WRONLY | os.O_TRUNC | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        child = subprocess.Popen(
            [sys.executable, "-m", "longhouse", "serve", "--log-to-file", "--json", *arguments],
            env=environment_with(environment or {}),
            stdin=subprocess.DEVNULL, stdout=out, stderr=out,
            cwd=settings.project_root, start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(out)
    found = _wait_healthy(settings, child, wait_s=wait_s)
    if found is None:
        raise _why(settings.dir)
    return Started(*found, fresh=found[0].pid == child.pid)


def _wait_healthy(
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


def _why(folder: Path) -> LonghouseError:
    """The error that the server ended with, or a pointer to its log."""
    text = (folder / LAST_WORDS).read_text(encoding="utf-8", errors="replace").strip()
    last = text.splitlines()[-1] if text else ""
    with suppress(ValueError, KeyError, TypeError):
        return error_of(json.loads(last)["error"])
    return ServerFailed(
        f"the server did not come up: {last or 'it said nothing'}",
        recovery=f"read {folder / LOG_NAME}, then repeat",
    )
