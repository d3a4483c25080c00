"""`GET /events`: the log as server-sent events, resumable by seq.

`id` is the seq, `event` the stream, `data` the row. A follower starts after `Last-Event-ID` or
`?after=`, else at the end of the log. It gets every row once and in order, or is told where to go
on: `event: resume` with the last id it was sent, then the end of the stream.
"""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from longhouse.dispatch import Dispatcher
from longhouse.dispatch.events import sse
from longhouse.kernel.errors import InvalidInput, LonghouseError
from longhouse.surfaces.http.access import caller_of
from longhouse.surfaces.http.calls import asked_workspace
from longhouse.surfaces.http.feed import Feed, Feeds, Filter
from longhouse.surfaces.http.metrics import Metrics
from longhouse.surfaces.http.responses import MethodNotAllowed, ServerFull, respond

__all__ = ["Events"]

HEARTBEAT_S = 15.0
STALL_S = 20.0
"""How long a follower may take no bytes at all before it is sent away."""
GRACE_S = 5.0
MAX_FOLLOWERS = 2000
RETRY_MS = 1000

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_KNOWN = ("workspace", "stream", "subject", "after")


class Events:
    """Opens streams and feeds each follower from the log."""

    def __init__(self, dispatcher: Dispatcher, feeds: Feeds, metrics: Metrics) -> None:
        self._dispatcher = dispatcher
        self._feeds = feeds
        self._metrics = metrics

    async def answer(self, request: Request) -> Response:
        try:
            if request.method != "GET":
                raise MethodNotAllowed  # a HEAD would follow for ever without being told anything
            if self._feeds.followers >= MAX_FOLLOWERS:
                raise ServerFull
            workspace = self._dispatcher.choose_workspace(
                asked_workspace(request), caller_of(request.scope)
            )
            wanted, after = _wanted(request), _after(request)
        except LonghouseError as error:
            return respond(self._dispatcher.fail("events", error))
        return _Stream(self, workspace, wanted, after)

    async def serve(self, stream: _Stream, receive: Receive, send: Send) -> Response | None:
        """Follow until the client leaves or is sent away; a Response when it cannot start."""
        try:
            async with self._feeds.follow(stream.workspace) as feed:
                start = feed.head if stream.after is None else stream.after
                if start > feed.head:
                    raise InvalidInput(
                        f"after: {start} is past the end of this log, which is at {feed.head}",
                        recovery=f"read again what you know, then follow with after={feed.head}",
                    )
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_until_gone, receive, tasks.cancel_scope)
                    await self._follow(stream, start, feed, send)
                    tasks.cancel_scope.cancel()
        except LonghouseError as error:
            return respond(self._dispatcher.fail("events", error))
        return None

    async def _follow(self, stream: _Stream, at: int, feed: Feed, send: Send) -> None:
        hello = {"workspace": stream.workspace, "after": at, "head": feed.head}
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        first = b"retry: %d\n" % RETRY_MS + _event("hello", at, hello)
        try:
            await _pass(send, first)
            while not self._feeds.closing:
                if not await feed.moved(at, HEARTBEAT_S):
                    await _pass(send, b": still here\nid: %d\n\n" % at)
                    continue
                page = await feed.page(at, stream.wanted)
                if page.wire:
                    await _pass(send, page.wire)
                    self._metrics.delivered += page.events
                at = max(at, page.upto)
        except (TimeoutError, LonghouseError):  # it takes nothing, or the store gives nothing
            self._metrics.resumes += 1
        try:
            async with asyncio.timeout(GRACE_S):
                await send(_body(_event("resume", at, {"after": at}), more=False))
        except TimeoutError:
            pass  # it still takes nothing: the connection is closed under it


class _Stream(Response):
    """A response that runs as long as its follower stays."""

    def __init__(self, events: Events, workspace: str, wanted: Filter, after: int | None) -> None:
        super().__init__()
        self.workspace = workspace
        self.wanted = wanted
        self.after = after
        self._events = events

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = await self._events.serve(self, receive, send)
        if refusal is not None:
            await refusal(scope, receive, send)


async def _pass(send: Send, wire: bytes) -> None:
    """Send, or TimeoutError when the other side has taken nothing for too long.

    The server hands a chunk over only when the one before has left its buffer, so a chunk that
    timed out was not sent at all, and what waits in memory is never more than one.
    """
    async with asyncio.timeout(STALL_S):
        await send(_body(wire, more=True))


async def _until_gone(receive: Receive, scope: anyio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


def _body(wire: bytes, *, more: bool) -> dict[str, Any]:
    return {"type": "http.response.body", "body": wire, "more_body": more}


def _event(name: str, seq: int, data: dict[str, Any]) -> bytes:
    return sse(name, seq, msgspec.json.encode(data))


def _wanted(request: Request) -> Filter:
    query = request.query_params
    for name in query:
        if name not in _KNOWN:
            raise InvalidInput(
                f"{name[:80]}: unknown parameter", recovery=f"known: {', '.join(_KNOWN)}"
            )
    return Filter(frozenset(query.getlist("stream")), query.get("subject"))


def _after(request: Request) -> int | None:
    """Where to start; what the client saw last wins over what it once asked for."""
    last = request.headers.get("last-event-id")
    name, text = ("Last-Event-ID", last) if last else ("after", request.query_params.get("after"))
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 16):
        raise InvalidInput(f"{name}: expected a seq, not {text[:40]!r}", recovery="use after=0")
    return int(text)
