"""`longhouse.connect`: through the store's server when one runs, else by opening the store here."""

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
    """A client of the store of this folder, of `dir`, or of the server at `url`.

    Without `url` it goes through the store's server when one runs and opens the store itself when
    none does; `embedded=True` always opens it here, `embedded=False` insists on a server. What is
    not given comes from the environment and files of settings, as for the command line.
    After a restart of the server, reads and calls with an idempotency key are repeated for up to
    `patience_s` seconds.
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
            raise InvalidInput("url: not with embedded=True", recovery="leave one of them out")
        return locate.wire_to(url, settings.token)
    if embedded:
        return None
    found = locate.server_of(settings)
    if found is None and embedded is False:
        raise InvalidInput(
            f"no server runs for {settings.dir}", recovery="start one with `longhouse up`"
        )
    return found[1] if found else None


def _named(url: str | None, workspace: str | None, settings: Settings) -> str | None:
    """A server elsewhere has its own default workspace; this folder's name means nothing there."""
    return settings.workspace if url is None else workspace


def _finder(url: str | None, settings: Settings) -> Callable[[], Wire | None] | None:
    if url is not None:
        return None

    def find_again() -> Wire | None:
        found = locate.server_of(settings)
        return found[1] if found else None

    return find_again
