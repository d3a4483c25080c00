"""Starts the server of a store in the background and waits until it answers; stops it again.

Whoever starts a server may find that another was quicker: the store's lock lets one live, and all
callers are given that one.
"""

from __future__ import annotations

import json
import os
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
"""Left by `longhouse down`: the server was stopped on purpose. The next one takes it away."""
LAST_WORDS = "server.out"
WAIT_S = 30.0
STOP_S = 15.0
YIELD_S = 2.0


class ServerFailed(LonghouseError):
    """The server did not come up."""

    code = "SERVER_FAILED"
    status = 503
    exit_code = 7


class RunningServer(NamedTuple):
    """A server that answers; `fresh` when this call started it."""

    running: Running
    fresh: bool


def start(
    settings: Settings,
    arguments: Sequence[str],
    *,
    environment: Mapping[str, str] | None = None,
    wait_s: float = WAIT_S,
) -> RunningServer:
    """The store's server: the one that runs, or a new one, detached from this process."""
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
        # One on its way in or out holds the store: soon it answers, or lets go.
        if found := _wait_healthy(settings.dir, None, time.monotonic() + YIELD_S):
            break
    if found.pid != pid and is_alive(pid):
        # Another was quicker. Ours would notice only later, and might outlive a `down` in between.
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
    """From now on the store has no server because someone wants it so."""
    if folder.is_dir():
        write_private(folder / REST_NAME, b"")


def is_wanted(folder: Path) -> bool:
    """Whether a server that is missing is missed: nobody has stopped it on purpose."""
    return not (folder / REST_NAME).exists()


def _spawn(argv: list[str], environment: dict[str, str], folder: Path) -> int:
    """A process of its own session that reads nothing and leaves its last words in the folder."""
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
    """Wait until a server of this store answers; None when our child left or it took too long."""
    while True:
        # Looked at first: a child that has left may have found that another server was quicker.
        ended = pid is not None and not is_alive(pid)
        if found := alive(folder):
            return found
        if ended or time.monotonic() > ends:
            return None
        time.sleep(0.03)


def stop(running: Running, *, force: bool = False, wait_s: float = STOP_S) -> bool:
    """Ask the server to leave, and wait for it; with `force` end it. True when it is gone.

    A process that is not proved to be the server is left alone, for then the server is gone.
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
    """The error that the server ended with, or a pointer to its log."""
    text = read_private(folder / LAST_WORDS).decode("utf-8", "replace").strip()
    last = text.splitlines()[-1] if text else ""
    with suppress(ValueError, KeyError, TypeError, AttributeError):
        body = json.loads(last)["error"]
        return error_of(body, near=_BY_EXIT.get(body["exit_code"], ServerFailed))
    return ServerFailed(
        f"the server did not come up: {last or 'it said nothing'}",
        recovery=f"read {folder / LOG_NAME}, then repeat",
    )
