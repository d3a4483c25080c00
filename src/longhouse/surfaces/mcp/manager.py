"""The SDK's session manager behind `/mcp`. Importing this takes about a second."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import ASGIApp, Receive, Scope, Send

from longhouse.dispatch import Dispatcher
from longhouse.surfaces.http.access import owner_of
from longhouse.surfaces.mcp.server import FindCaller, build_server

__all__ = ["running_manager"]


def running_manager(
    dispatcher: Dispatcher, find_caller: FindCaller
) -> AbstractAsyncContextManager[ASGIApp]:
    """The SDK's part of the endpoint, built here, and running while the context is entered."""
    return _running(StreamableHTTPSessionManager(build_server(dispatcher, find_caller)))


@asynccontextmanager
async def _running(manager: StreamableHTTPSessionManager) -> AsyncIterator[ASGIApp]:
    async def serve(scope: Scope, receive: Receive, send: Send) -> None:
        # The SDK allows a session only to the user who opened it.
        access = AccessToken(token="", client_id=owner_of(scope), scopes=[])
        scope["user"] = AuthenticatedUser(access)
        await manager.handle_request(scope, receive, send)

    async with manager.run():
        yield serve
