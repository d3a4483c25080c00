"""Finds the server of a store: `<dir>/server.json` says where, `/healthz` proves that it is it.

The file outlives a crashed server, and its port may belong to another program by then. So nothing
is sent there, least of all the token, before the answering instance is the recorded one.
"""

from __future__ import annotations

import json
import os
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

from longhouse.client.wire import Wire, origin_of
from longhouse.config import Settings
from longhouse.kernel.errors import Conflict, InvalidInput, Unreachable

__all__ = ["Running", "find", "is_alive", "recorded", "server_of", "token_of", "wire_to"]

HEALTH_S = 3.0


class Running(NamedTuple):
    """A server as its own record describes it."""

    pid: int
    url: str
    version: str
    started_at_ms: int
    instance: str
    store: str = ""


def recorded(folder: Path) -> Running | None:
    """What `server.json` says, whether or not that server still lives."""
    try:
        found = json.loads((folder / "server.json").read_text(encoding="utf-8"))
        return Running(
            int(found["pid"]),
            str(found["url"]),
            str(found["version"]),
            int(found["started_at_ms"]),
            str(found["instance"]),
            str(found.get("store", "")),
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


def find(folder: Path, *, token: str | None = None) -> tuple[Running, Wire] | None:
    """The live server of this store and a wire to it, or None."""
    running = recorded(folder)
    if running is None or not is_alive(running.pid):
        return None
    try:
        wire = wire_to(running.url, None)
    except InvalidInput:
        return None
    try:
        reply = wire.request("GET", "/healthz", timeout_s=HEALTH_S)
        health = json.loads(reply.body)
    except (Unreachable, ValueError):
        wire.close()
        return None
    if not isinstance(health, dict) or health.get("instance") != running.instance:
        wire.close()
        return None
    wire.headers.update(bearer(token or token_of(folder)))
    return running, wire


def server_of(settings: Settings) -> tuple[Running, Wire] | None:
    """The live server of the store that the settings name, or None.

    A folder's server may serve another database than the one that was asked for: what is meant
    for one must not end in the other.
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
    """A wire to a server anywhere."""
    return Wire(origin_of(url), headers=bearer(token))


def bearer(token: str | None) -> dict[str, str]:
    if token and not (token.isascii() and token.isprintable()):
        raise InvalidInput("token: has characters that no token has", recovery="set it again")
    return {"Authorization": f"Bearer {token}"} if token else {}


def token_of(folder: Path) -> str | None:
    """The owner's token of this store, which the server keeps readable for its owner only."""
    try:
        return (folder / "token").read_text(encoding="utf-8").strip() or None
    except OSError:
        return None


def is_alive(pid: int) -> bool:
    """Whether a process runs; one that has ended but was not yet collected does not."""
    with suppress(ChildProcessError):
        if os.waitpid(pid, os.WNOHANG)[0] == pid:
            return False
    try:
        os.kill(pid, 0)
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    except ProcessLookupError:
        return False
    except OSError:  # another user's process, or a system without /proc
        return True
    return stat.rpartition(")")[2].split()[0] != "Z"
