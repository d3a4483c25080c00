"""`longhouse.connect`: uses the store's server if one is running, else opens the store here."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from longhouse.client import locate
from longhouse.client.aio import AsyncClient, AsyncDoor, AsyncEmbeddedDoor, AsyncRemoteDoor
from longhouse.client.doors import PATIENCE_S, Door, RemoteDoor
from longhouse.client.sync import Client
from longhouse.client.wire import Wire
from longhouse.config import Settings, load
from longhouse.kernel.errors import InvalidInput

__all__ = ["connect", "connect_async"]


def connect(
    url: str | None = None,
    *,
    token: str | None = None,
    dir: str | Path | None = None,
    db: str | None = None,
    workspace: str | None = None,
    agent_id: str | None = None,
    embedded: bool | None = None,
    patience_s: float = PATIENCE_S,
) -> Client:
    """A client of this folder's store, of the store in `dir`, or of the server at `url`.

    Without `url` it uses the store's server if one is running, and otherwise opens the store
    itself; `embedded=True` always opens it here, and `embedded=False` requires a server. Other
    settings come from the environment and the settings files, as for the command line. If the
    server restarts, calls that are safe to repeat are repeated for up to `patience_s` seconds.
    """
    settings = _settings(token=token, dir=dir, db=db, workspace=workspace, agent_id=agent_id)
    door: Door
    if wire := _wire(url, settings, embedded):
        door = RemoteDoor(
            wire,
            workspace=_named(url, workspace, settings),
            agent_id=settings.agent_id,
            find_again=_finder(url, settings),
            patience_s=patience_s,
        )
    else:
        from longhouse.client.embedded import EmbeddedDoor

        door = EmbeddedDoor(settings)
    return Client(door)


def connect_async(
    url: str | None = None,
    *,
    token: str | None = None,
    dir: str | Path | None = None,
    db: str | None = None,
    workspace: str | None = None,
    agent_id: str | None = None,
    embedded: bool | None = None,
    patience_s: float = PATIENCE_S,
) -> AsyncClient:
    """The same for event loops: `async with longhouse.connect_async() as lh: await lh(…)`."""
    settings = _settings(token=token, dir=dir, db=db, workspace=workspace, agent_id=agent_id)
    door: AsyncDoor
    if wire := _wire(url, settings, embedded):
        wire.close()
        door = AsyncRemoteDoor(
            wire,
            workspace=_named(url, workspace, settings),
            agent_id=settings.agent_id,
            find_again=_finder(url, settings),
            patience_s=patience_s,
        )
    else:
        door = AsyncEmbeddedDoor(settings)
    return AsyncClient(door)


def _settings(**given: Any) -> Settings:
    return load({name: str(value) for name, value in given.items() if value is not None})


def _wire(url: str | None, settings: Settings, embedded: bool | None) -> Wire | None:
    if url is not None:
        if embedded:
            raise InvalidInput(
                "url: cannot be combined with embedded=True", recovery="omit one of them"
            )
        return locate.wire_to(url, settings.token)
    if embedded:
        return None
    found = locate.server_of(settings)
    if found is None and embedded is False:
        raise InvalidInput(
            f"no server is running for {settings.dir}", recovery="start one with `longhouse up`"
        )
    return found[1] if found else None


def _named(url: str | None, workspace: str | None, settings: Settings) -> str | None:
    """The workspace to name: a remote server has its own default, unrelated to this folder."""
    return settings.workspace if url is None else workspace


def _finder(url: str | None, settings: Settings) -> Callable[[], Wire | None] | None:
    if url is not None:
        return None

    def find_again() -> Wire | None:
        found = locate.server_of(settings)
        return found[1] if found else None

    return find_again
