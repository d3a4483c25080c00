"""Starts a store's server in the background and waits until it answers; stops it.

If several processes start a server at the same time, the store's lock lets one of them live, and
all callers get that one.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from longhouse.client.locate import Running, find, is_alive, server_of, serves
from longhouse.client.replies import error_of
from longhouse.config import Settings, environment_with, own_argv
from longhouse.kernel.errors import (
    Conflict,
    Forbidden,
    InvalidInput,
    LonghouseError,
    StoreError,
    StoreUnusable,
)
from longhouse.kernel.private_files import open_private, read_private, write_private

__all__ = [
    "LOG_NAME",
    "RunningServer",
    "ServerFailed",
    "alive",
    "is_wanted",
    "rest",
    "start",
    "stop",
]

LOG_NAME = "server.log"
REST_NAME = "server.rests"
"""Left by `longhouse down`: the server was stopped on purpose. The next start removes it."""
LAST_WORDS = "server.out"
WAIT_S = 30.0
STOP_S = 15.0
YIELD_S = 2.0


class ServerFailed(LonghouseError):
    """The server did not start."""

    code = "SERVER_FAILED"
    status = 503
    exit_code = 7


class RunningServer(NamedTuple):
    """A server that answers; `fresh` if this call started it."""

    running: Running
    fresh: bool


def start(
    settings: Settings,
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    wait_s: float = WAIT_S,
) -> RunningServer:
    """The store's server: the running one, or a new one detached from this process."""
    if served := server_of(settings):
        served[1].close()
        return RunningServer(served[0], fresh=False)
    settings.make_dir()
    (settings.dir / REST_NAME).unlink(missing_ok=True)
    ends = time.monotonic() + wait_s
    while True:
        pid = _spawn(
            own_argv("serve", "--log-to-file", "--json", *arguments),
            environment_with(environment or {}),
            settings.dir,
        )
        if found := _wait_healthy(settings.dir, pid, ends):
            break
        error = _why(settings.dir)
        if error.code != "SERVER_RUNNING" or time.monotonic() > ends:
            raise error
        # A server that is starting or stopping holds the store: wait until it is done.
        if found := _wait_healthy(settings.dir, None, time.monotonic() + YIELD_S):
            break
    if found.pid != pid and is_alive(pid):
        # Another one won. Ours would notice only later, and might outlive a `down` in between.
        os.kill(pid, signal.SIGTERM)
        is_alive(pid)
    return RunningServer(found, fresh=found.pid == pid)


def alive(folder: Path) -> Running | None:
    """The server of this store, if one answers."""
    found = find(folder)
    if found is None:
        return None
    found[1].close()
    return found[0]


def rest(folder: Path) -> None:
    """Record that the store's server was stopped on purpose."""
    if folder.is_dir():
        write_private(folder / REST_NAME, b"")


def is_wanted(folder: Path) -> bool:
    """Whether a missing server should be started: it was not stopped on purpose."""
    return not (folder / REST_NAME).exists()


def _spawn(argv: list[str], environment: dict[str, str], folder: Path) -> int:
    """Start a process in its own session, with no input and its output in the store's folder."""
    try:
        out = open_private(folder / LAST_WORDS, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    except OSError as refused:
        raise StoreUnusable.folder(folder, refused) from refused
    try:
        return os.posix_spawn(
            argv[0],
            argv,
            environment,
            setsid=True,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                (os.POSIX_SPAWN_DUP2, out, 1),
                (os.POSIX_SPAWN_DUP2, out, 2),
            ],
        )
    finally:
        os.close(out)


def _wait_healthy(folder: Path, pid: int | None, ends: float) -> Running | None:
    """Wait until this store's server answers; None if our child exited or time ran out."""
    while True:
        # Check the child first: it may have exited because another server won.
        ended = pid is not None and not is_alive(pid)
        if found := alive(folder):
            return found
        if ended or time.monotonic() > ends:
            return None
        time.sleep(0.03)


def stop(running: Running, *, force: bool = False, wait_s: float = STOP_S) -> bool:
    """Ask the server to stop, or kill it with `force`, and wait. True once it is gone.

    If the process is not proved to be the server, it is left alone: the server is gone.
    """
    if not serves(running):
        return True
    os.kill(running.pid, signal.SIGKILL if force else signal.SIGTERM)
    ends = time.monotonic() + wait_s
    while is_alive(running.pid):
        if time.monotonic() > ends:
            return False
        time.sleep(0.02)
    return True


_BY_EXIT = {kind.exit_code: kind for kind in (InvalidInput, Conflict, Forbidden, StoreError)}


def _why(folder: Path) -> LonghouseError:
    """The error that the server exited with, or a pointer to its log."""
    text = read_private(folder / LAST_WORDS).decode("utf-8", "replace").strip()
    last = text.splitlines()[-1] if text else ""
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        body = json.loads(last)["error"]
        return error_of(body, near=_BY_EXIT.get(body["exit_code"], ServerFailed))
    if not last and shutil.disk_usage(folder).free == 0:
        return StoreUnusable.full(folder)  # not even its last words could be written
    return ServerFailed(
        f"the server did not start: {last or 'no error message'}",
        recovery=f"read {folder / LOG_NAME}, then try again",
    )
