"""MCP over streamable HTTP, as an ASGI endpoint of the server.

The access gate has identified the caller. Single tool calls are answered directly; anything else
needs the SDK, whose import takes about a second and happens on first use. What the SDK computes, it
computes in the loop, in tasks of its own: so one request of a token at a time is in it, until it
has its answer or turns out to be a call. When the server stops, open streams end at once.
"""

from __future__ import annotations

import asyncio
import gc
import time
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from functools import partial
from typing import Any
from weakref import WeakValueDictionary

import anyio
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from longhouse.client import tool_named
from longhouse.dispatch import Caller, ClientSession, Dispatcher
from longhouse.kernel.errors import LonghouseError
from longhouse.surfaces.http.access import caller_of
from longhouse.surfaces.http.calls import asked_workspace
from longhouse.surfaces.http.limits import waits_of
from longhouse.surfaces.http.responses import respond
from longhouse.surfaces.mcp.direct import answer_call, read_call
from longhouse.surfaces.mcp.opened import OpenedSessions
from longhouse.surfaces.sessions import SESSION_HEADER, OpenSessions

__all__ = ["McpEndpoint"]

SDK_MOST_S = 0.02
"""What the SDK takes for a request at most; the loop may have served others meanwhile."""
_PLACE = "longhouse.place"


class McpEndpoint:
    """The ASGI application at `/mcp`."""

    def __init__(self, dispatcher: Dispatcher, sessions: OpenSessions) -> None:
        self._dispatcher = dispatcher
        self._sessions = sessions
        self._manager: asyncio.Future[ASGIApp] | None = None
        self._wanted = asyncio.Event()
        self._streams: set[anyio.CancelScope] = set()
        self._opened = OpenedSessions()
        self._places: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def running(self) -> AsyncIterator[None]:
        self._manager = asyncio.get_running_loop().create_future()
        keeper = asyncio.create_task(self._keep(self._manager))
        try:
            yield
        finally:
            keeper.cancel()
            with suppress(asyncio.CancelledError):
                await keeper

    async def _keep(self, manager: asyncio.Future[ASGIApp]) -> None:
        """Run the SDK from the first request that needs it until the server stops."""
        await self._wanted.wait()
        try:
            made = await asyncio.to_thread(_made_manager, self._dispatcher, self._caller)
            async with made as serve:
                manager.set_result(serve)
                await asyncio.Event().wait()
        except Exception as error:
            manager.set_exception(error)

    def end_streams(self) -> None:
        """End listening streams; calls in flight still get their answer."""
        for scope in tuple(self._streams):
            scope.cancel()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        apart = partial(self._dispatcher.apart, caller_of(scope))
        try:
            call, receive = await read_call(scope, receive, apart)
        except LonghouseError as error:  # too much of this token's is waiting
            await respond(self._dispatcher.fail("error", error))(scope, receive, send)
            return
        if call is not None:
            caller = self._caller(Request(scope))
            work = self._dispatcher.portal_async(tool_named(call.name), call.arguments, caller)
            await answer_call(call, asyncio.ensure_future(work), receive, send)
            return
        self._wanted.set()
        assert self._manager is not None
        handle = await asyncio.shield(self._manager)
        if scope["method"] != "GET":
            await self._in_turn(handle, scope, receive, send)
            return
        body_open = False

        async def watched(message: Message) -> None:
            nonlocal body_open
            body_open = message["type"] == "http.response.start" or message.get("more_body", False)
            await send(message)

        with anyio.CancelScope() as stream:
            self._streams.add(stream)
            try:
                await handle(scope, receive, watched)
            finally:
                self._streams.discard(stream)
        if stream.cancelled_caught and body_open:
            await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _in_turn(self, handle: ASGIApp, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the SDK handle a request when it has none of the same token."""
        caller = caller_of(scope)
        turns = caller.turns
        place = self._places.setdefault(caller.pays, asyncio.Lock())
        scope[_PLACE] = held = _Place(place)

        async def watched(message: Message) -> None:
            held.give_up()
            if message["type"] == "http.response.start":
                self._opened.note(caller.pays, scope, message)
            await send(message)

        waited = place.locked()
        await place.acquire()
        try:
            if waited:
                await turns.take()
            began = time.thread_time()
            await handle(scope, receive, watched)
            await self._opened.end_oldest(caller.pays, scope, handle)
        finally:
            held.give_up()
        turns.charge(min(time.thread_time() - began, SDK_MOST_S))

    def _caller(self, request: Request) -> Caller:
        """The caller, with the workspace of its connection or of this request."""
        if held := request.scope.get(_PLACE):
            held.give_up()  # what comes now takes turns of its own, and may wait for long
        caller = caller_of(request.scope)
        key = request.headers.get("mcp-session-id") or request.headers.get(SESSION_HEADER)
        session = self._sessions.find(caller.owner, key)
        home = asked_workspace(request)
        if session is not None:
            session.home = home
        elif home:
            session = ClientSession(home, kept=False)
        caller.session = session
        caller.waits = waits_of(request.scope)
        return caller


class _Place:
    """A token's place in the SDK, given up once."""

    __slots__ = ("_lock",)

    def __init__(self, lock: asyncio.Lock) -> None:
        self._lock: asyncio.Lock | None = lock

    def give_up(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()


def _made_manager(
    dispatcher: Dispatcher, find_caller: Callable[[Any], Caller]
) -> AbstractAsyncContextManager[ASGIApp]:
    from longhouse.surfaces.mcp.manager import running_manager

    made = running_manager(dispatcher, find_caller)
    gc.freeze()  # its modules stay: looking through them again takes longer than a call
    return made
