"""How a server makes itself known: a lock that one process holds, and a record of its address.

The lock is released however the process dies, so a stale record never blocks a new server. The
record, `server.json`, is written atomically once the socket listens, and removed at the end. Only
the port is kept for the next server, because open pages and clients' entries refer to it.
"""

from __future__ import annotations

import fcntl
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Self

from longhouse.client.locate import LOCK_NAME, NOTE_NAME, Running, recorded
from longhouse.kernel.errors import Conflict, is_full
from longhouse.kernel.private_files import open_private, read_private, write_private

__all__ = [
    "LOCK_NAME",
    "Presence",
    "ServerRunning",
    "local_token",
]

PORT_NAME = "server.port"
TOKEN_NAME = "token"  # noqa: S105  (a file's name)


class ServerRunning(Conflict):
    """A server already serves this store."""

    code = "SERVER_RUNNING"
    fix = "use that one, or stop it with `longhouse down`"


class Presence:
    """One server's claim on a store's folder, held as long as this object is open."""

    def __init__(self, folder: Path, *, alone: bool) -> None:
        """Claim the folder; with `alone`, a second server is refused."""
        self._folder = folder
        self._lock = open_private(folder / LOCK_NAME, os.O_RDWR | os.O_CREAT)
        self.instance = secrets.token_hex(8)
        self.key = secrets.token_hex(32)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            self._first = True
        except BlockingIOError:
            self._first = False
            if alone:
                os.close(self._lock)
                raise _running(folder) from None

    def last_port(self) -> int | None:
        """The port of the previous server."""
        with suppress(OSError, ValueError):
            return int(read_private(self._folder / PORT_NAME)) if self._first else None
        return None

    def announce(self, running: Running, token: str) -> None:
        """Record the server's address; of several servers only the first is recorded."""
        if not (self._folder / TOKEN_NAME).exists():
            write_private(self._folder / TOKEN_NAME, token.encode() + b"\n")
        if self._first:
            write_private(self._folder / NOTE_NAME, running.note())
            port = running.url.rpartition(":")[2]
            write_private(self._folder / PORT_NAME, port.encode() + b"\n")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._first:
            with suppress(FileNotFoundError):
                (self._folder / NOTE_NAME).unlink()
        os.close(self._lock)


def local_token(folder: Path) -> str:
    """The owner's token in the store's folder, created on first use."""
    path = folder / TOKEN_NAME
    with suppress(FileNotFoundError):
        if token := read_private(path).decode("ascii", "replace").strip():
            return token
    token = f"lh_{secrets.token_hex(32)}"
    try:
        write_private(path, token.encode() + b"\n")
    except OSError as error:
        if not is_full(error):  # on a full disk, `announce` tries again
            raise
    return token


def _running(folder: Path) -> ServerRunning:
    found = recorded(folder)
    if found is None:
        return ServerRunning(f"another process is starting or stopping a server in {folder}")
    return ServerRunning(
        f"this store already has a server: {found.url} (pid {found.pid}, {found.version})"
    )
