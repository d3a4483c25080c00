"""The SDK behind `/mcp`: its session manager around our server. Importing this costs a second."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import ASGIApp, Receive, Scope, Send

from longhouse.dispatch import Caller, Dispatcher
from longhouse.surfaces.http.access import owner_of
from longhouse.surfaces.mcp.server import build_server

__all__ = ["Manager"]


class Manager:
    """Runs as long as it is entered; entering gives the ASGI application."""

    def __init__(self, dispatcher: Dispatcher, find_caller: Callable[[Any], Caller]) -> None:
        self._manager = StreamableHTTPSessionManager(build_server(dispatcher, find_caller))
        self._running = self._manager.run()

    async def __aenter__(self) -> ASGIApp:
        await self._running.__aenter__()
        return self._serve

    async def __aexit__(self, *exception: Any) -> None:
        await self._running.__aexit__(*exception)

    async def _serve(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The SDK lets a session be used only by the user that opened it.
        access = AccessToken(token="", client_id=owner_of(scope), scopes=[])
        scope["user"] = AuthenticatedUser(access)
        await self._manager.handle_request(scope, receive, send)
