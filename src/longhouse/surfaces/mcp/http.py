"""MCP over streamable HTTP, as one ASGI endpoint of the server.

Who calls was decided before a request gets here. A session belongs to the token that opened it.
When the server stops, open streams end at once instead of holding it up.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.types import Message, Receive, Scope, Send

from longhouse.dispatch import Caller, Dispatcher
from longhouse.surfaces.http.access import caller_of, owner_of
from longhouse.surfaces.mcp.server import build_server
from longhouse.surfaces.sessions import SESSION_HEADER, Sessions

__all__ = ["McpEndpoint"]


class McpEndpoint:
    """The ASGI application at `/mcp`."""

    def __init__(self, dispatcher: Dispatcher, sessions: Sessions) -> None:
        self._sessions = sessions
        self._manager = StreamableHTTPSessionManager(build_server(dispatcher, self._caller))
        self._streams: set[anyio.CancelScope] = set()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        async with self._manager.run():
            yield

    def end_streams(self) -> None:
        """End the streams that clients only listen on; calls in flight get their answer."""
        for scope in tuple(self._streams):
            scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        # The SDK lets a session be used only by the user that opened it.
        access = AccessToken(token="", client_id=owner_of(scope), scopes=[])
        scope["user"] = AuthenticatedUser(access)
        if scope["method"] != "GET":
            await self._manager.handle_request(scope, receive, send)
            return
        body_open = False

        async def watched(message: Message) -> None:
            nonlocal body_open
            body_open = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        with anyio.CancelScope() as stream:
            self._streams.add(stream)
            try:
                await self._manager.handle_request(scope, receive, watched)
            finally:
                self._streams.discard(stream)
        if stream.cancelled_caught and body_open:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _caller(self, request: Any) -> Caller:
        caller = caller_of(request.scope)
        key = request.headers.get("mcp-session-id") or request.headers.get(SESSION_HEADER)
        session = self._sessions.find(owner_of(request.scope), key)
        return Caller(caller.role, name=caller.name, session=session)
