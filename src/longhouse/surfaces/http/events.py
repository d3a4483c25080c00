"""`GET /events`: the log as server-sent events, resumable by seq.

`id` is the seq, `event` the stream, `data` the row. A follower starts after `Last-Event-ID` or
`?after=`, else at the end of the log. It gets every row once and in order. A stream that must end
early says where to resume: `event: resume` with the last id sent.

With `?until=`, the log is read up to that seq and the stream ends with `event: end`. A row whose
kind is in `?newest=` is then sent only if no later row up to that seq has the same stream, subject
and kind.
"""

from __future__ import annotations

import asyncio
from typing import Any

import anyio
import msgspec
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from longhouse.dispatch import Dispatcher, Filter, refuse_namesake, sse
from longhouse.kernel.errors import InvalidInput, LonghouseError
from longhouse.kernel.inputs import check_json
from longhouse.store.tx import Call
from longhouse.surfaces.http.access import caller_of
from longhouse.surfaces.http.calls import asked_workspace
from longhouse.surfaces.http.feed import Feed, FeedPage, Feeds
from longhouse.surfaces.http.metrics import Metrics
from longhouse.surfaces.http.responses import MethodNotAllowed, ServerFull, respond

__all__ = ["Events"]

HEARTBEAT_S = 15.0
STALL_S = 20.0
"""How long a follower may read nothing before its stream is ended."""
GRACE_S = 5.0
MAX_FOLLOWERS = 2000
RETRY_MS = 1000

_HEADERS = [
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store, no-transform"),
    (b"x-accel-buffering", b"no"),
]
_KNOWN = ("workspace", "stream", "subject", "after", "until", "newest")


class Events:
    """Opens streams and sends each follower the log."""

    def __init__(self, dispatcher: Dispatcher, feeds: Feeds, metrics: Metrics) -> None:
        self._dispatcher = dispatcher
        self._feeds = feeds
        self._metrics = metrics

    async def answer(self, request: Request) -> Response:
        try:
            if request.method != "GET":
                raise MethodNotAllowed  # a HEAD would follow forever without receiving anything
            if self._feeds.followers >= MAX_FOLLOWERS:
                raise ServerFull
            workspace = self._dispatcher.choose_workspace(
                asked_workspace(request), caller_of(request.scope)
            )
            await self._refuse_namesake(workspace)
            wanted, until = _wanted(request), _seq("until", request.query_params.get("until"))
            after = _after(request)
            if wanted.newest and until is None:
                raise InvalidInput(
                    "newest: can only be used together with until",
                    recovery="add until=SEQ, or omit newest",
                )
        except LonghouseError as error:
            return respond(self._dispatcher.fail("events", error))
        return _Stream(self, workspace, wanted, after, until, request.scope)

    async def _refuse_namesake(self, workspace: str) -> None:
        dispatcher = self._dispatcher
        if dispatcher.facts.shares_database:
            now_ms = dispatcher.clock.now_ms()
            call = Call(now_ms=now_ms, ids=dispatcher.ids, facts=dispatcher.facts)
            await dispatcher.db.read_async(workspace, refuse_namesake, call)

    async def serve(self, stream: _Stream, receive: Receive, send: Send) -> Response | None:
        """Send until the client leaves or the stream ends; a Response if it cannot start."""
        try:
            async with self._feeds.follow(stream.workspace) as feed:
                head = feed.head
                if max(stream.after or 0, stream.until or 0) > head:
                    head = await feed.stored_head()
                start = _start(stream, head)
                hello = {"workspace": stream.workspace, "after": start, "head": head}
                if stream.until is not None:
                    hello |= {"until": stream.until, "ts_ms": await feed.time_at(stream.until)}
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(_until_gone, receive, tasks.cancel_scope)
                    await self._send(stream, hello, feed, send)
                    tasks.cancel_scope.cancel()
        except LonghouseError as error:
            return respond(self._dispatcher.fail("events", error))
        return None

    async def _send(self, stream: _Stream, hello: dict[str, Any], feed: Feed, send: Send) -> None:
        at = hello["after"]
        await send({"type": "http.response.start", "status": 200, "headers": _HEADERS})
        first = b"retry: %d\n" % RETRY_MS + _event("hello", at, hello)
        try:
            await _pass(send, first)
            while not (self._feeds.closing or stream.ends_at(at)):
                page = await _next(stream, at, feed)
                if page.wire:
                    await _pass(send, page.wire)
                    self._metrics.delivered += page.events
                at = max(at, page.upto)
        except (TimeoutError, LonghouseError):  # the client reads nothing, or the store is down
            self._metrics.resumes += 1
        last = "end" if stream.ends_at(at) else "resume"
        try:
            async with asyncio.timeout(GRACE_S):
                await send(_body(_event(last, at, {"after": at}), more=False))
        except TimeoutError:
            pass  # the client still reads nothing: close the connection


class _Stream(Response):
    """A response that lasts as long as its follower stays."""

    def __init__(
        self,
        events: Events,
        workspace: str,
        wanted: Filter,
        after: int | None,
        until: int | None,
        scope: Scope,
    ) -> None:
        super().__init__()
        caller = caller_of(scope)
        self.owner, self.turns = caller.pays, caller.turns
        self.workspace = workspace
        self.wanted = wanted
        self.after = after
        self.until = until
        self._events = events

    def ends_at(self, seq: int) -> bool:
        return self.until is not None and seq >= self.until

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        refusal = await self._events.serve(self, receive, send)
        if refusal is not None:
            await refusal(scope, receive, send)


def _start(stream: _Stream, head: int) -> int:
    """The seq to start after: the reader's position, else the start or the end of the log."""
    start = stream.after
    if start is None:
        start = head if stream.until is None else 0
    if start > head:
        raise InvalidInput(
            f"after: {start} is past the end of this log, which is at {head}",
            recovery=f"reload your data, then follow with after={head}",
        )
    if stream.until is not None and stream.until > head:
        raise InvalidInput(
            f"until: {stream.until} is past the end of this log, which is at {head}",
            recovery=f"use until={head}",
        )
    return start


async def _next(stream: _Stream, at: int, feed: Feed) -> FeedPage:
    """The next page past `at`, or a keep-alive that carries the current seq.

    It is to be sent at once, in a turn of the follower: a commit may concern hundreds of them.
    """
    if stream.until is not None:
        page = await feed.stretch(at, stream.until, stream.wanted, stream.owner)
        await stream.turns.take()
        return page if page.wire else _alive(page.upto)
    if not await feed.moved(at, HEARTBEAT_S):
        return _alive(at)
    if feed.remembers(at):
        await stream.turns.take()
        return await feed.page(at, stream.wanted, stream.owner)
    page = await feed.page(at, stream.wanted, stream.owner)
    await stream.turns.take()
    return page


def _alive(at: int) -> FeedPage:
    return FeedPage(b": still here\nid: %d\n\n" % at, at, 0)


async def _pass(send: Send, wire: bytes) -> None:
    """Send, or raise TimeoutError if the client has read nothing for too long.

    The server accepts a chunk only once the previous one has left its buffer, so a chunk that timed
    out was not sent at all, and at most one chunk waits in memory.
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
    streams, kinds, subject = query.getlist("stream"), query.getlist("newest"), query.get("subject")
    check_json({"stream": streams, "newest": kinds, "subject": subject})
    return Filter(frozenset(streams), subject, frozenset(kinds))


def _after(request: Request) -> int | None:
    """Where to start; `Last-Event-ID` overrides `?after=`."""
    if last := request.headers.get("last-event-id"):
        return _seq("Last-Event-ID", last)
    return _seq("after", request.query_params.get("after"))


def _seq(name: str, text: str | None) -> int | None:
    if not text:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= 16):
        raise InvalidInput(
            f"{name}: expected a seq, not {text[:40]!r}",
            recovery="a seq is a whole number, such as 0",
        )
    return int(text)
