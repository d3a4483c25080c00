"""Finds a store's server: `<dir>/server.json` says where it is, `/healthz` proves its identity.

The file outlives a crashed server, and its port and pid may then belong to another program; it may
also be forged. So only loopback addresses are accepted; on each connection nothing is sent, least
of all the token, until the other side has proved that it knows the file's key (`greeting.py`); and
no process is signaled unless it is proved to be the server.
"""

from __future__ import annotations

import fcntl
import json
import os
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from longhouse.config import Settings
from longhouse.kernel.errors import Conflict, InvalidInput, Unreachable
from longhouse.kernel.private_files import open_private, read_private

if TYPE_CHECKING:
    from longhouse.client.wire import Wire

__all__ = [
    "LOCK_NAME",
    "NOTE_NAME",
    "Running",
    "bearer",
    "find",
    "is_alive",
    "process_start",
    "recorded",
    "server_of",
    "serves",
    "token_of",
    "wire_to",
]

NOTE_NAME = "server.json"
LOCK_NAME = "server.lock"
"""The lock that a store's server holds as long as it lives."""
_LOOPBACK = re.compile(r"http://(?:127(?:\.\d{1,3}){3}|\[::1\]|localhost):\d{1,5}\Z", re.ASCII)


class Running(NamedTuple):
    """A server as described by its record, `server.json` in the store's folder."""

    folder: Path
    pid: int
    process_start: int
    url: str
    version: str
    started_at_ms: int
    instance: str
    store: str = ""
    key: str = ""
    moved_from: int = 0
    """The port of the last server, if this one could not have it: who knows who listens there."""

    def note(self) -> bytes:
        """The content of `server.json`, which `recorded` reads."""
        said = self._asdict()
        del said["folder"]
        return json.dumps(said).encode()


def recorded(folder: Path) -> Running | None:
    """The content of `server.json`, whether or not the server is alive; None if it is invalid."""
    try:
        found = dict(json.loads(read_private(folder / NOTE_NAME)))
        running = Running(
            folder,
            int(found["pid"]),
            int(found["process_start"]),
            str(found["url"]),
            str(found["version"]),
            int(found["started_at_ms"]),
            str(found["instance"]),
            str(found.get("store", "")),
            str(found.get("key", "")),
            int(found.get("moved_from", 0)),
        )
    except (OSError, ValueError, LookupError, TypeError, ArithmeticError, RecursionError):
        return None
    # 0 and negative numbers mean process groups, and 1 is init: never signal those.
    return running if 1 < running.pid < 1 << 31 and _LOOPBACK.match(running.url) else None


def serves(running: Running) -> bool:
    """Whether that process is the store's server: the one recorded, and the lock is held."""
    same = is_alive(running.pid) and process_start(running.pid) == running.process_start
    return same and _lock_is_held(running.folder)


def _lock_is_held(folder: Path) -> bool:
    """Whether a server holds the store's lock, which is released however it dies."""
    try:
        lock = open_private(folder / LOCK_NAME, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(lock)
    return False


def find(folder: Path, *, token: str | None = None) -> tuple[Running, Wire] | None:
    """The live server of this store and a wire to it, or None."""
    running = recorded(folder)
    if running is None or not running.key or not serves(running):
        return None
    from longhouse.client.wire import Wire, origin_of  # most stores have no server

    try:
        wire = Wire(origin_of(running.url), key=running.key)
        wire.meet()
    except (InvalidInput, Unreachable):
        return None
    wire.headers.update(bearer(token or token_of(folder)))
    return running, wire


def server_of(settings: Settings) -> tuple[Running, Wire] | None:
    """The live server of the store that the settings name, or None.

    Raises Conflict if the folder's server serves a different database, so that writes meant for one
    never reach the other.
    """
    found = find(settings.dir, token=settings.token)
    if found is not None and settings.names_a_store and found[0].store not in ("", settings.store):
        found[1].close()
        raise Conflict(
            f"the server of {settings.dir} serves {found[0].store}, not {settings.store}",
            recovery="stop it with `longhouse down`, or name another folder with --dir",
        )
    return found


def wire_to(url: str, token: str | None) -> Wire:
    """A wire to the server at any URL."""
    from longhouse.client.wire import Wire, origin_of

    return Wire(origin_of(url), headers=bearer(token))


def bearer(token: str | None) -> dict[str, str]:
    """The header that carries a token."""
    if token and not (token.isascii() and token.isprintable()):
        raise InvalidInput("token: contains invalid characters", recovery="set it again")
    return {"Authorization": f"Bearer {token}"} if token else {}


def token_of(folder: Path) -> str | None:
    """The owner's token of this store, from a file that only the owner can read."""
    try:
        return read_private(folder / "token").decode("utf-8", "replace").strip() or None
    except OSError:
        return None


def is_alive(pid: int) -> bool:
    """Whether a process is running; a zombie is not."""
    with suppress(ChildProcessError):
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            return False
    try:
        os.kill(pid, 0)
        return _stat(pid)[0] != "Z"
    except ProcessLookupError:
        return False
    except OSError:  # another user's process, or a system without /proc
        return True


def process_start(pid: int) -> int:
    """When a process started, in clock ticks: together with its pid, this is never reused.

    0 if the system does not tell; then only the lock and the greeting identify the server.
    """
    try:
        return int(_stat(pid)[19])
    except OSError:
        return 0


def _stat(pid: int) -> list[str]:
    """The fields of `/proc/<pid>/stat`, starting with the state."""
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return text.rpartition(")")[2].split()
