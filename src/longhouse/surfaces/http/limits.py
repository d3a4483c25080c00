"""How much one caller may ask for at once, checked before anything is parsed.

A body is read in full, within limits on size, time and nesting, before routing; that of a request
without a token is not read at all, because no path that is open to everyone takes one. Calls,
waits and streams in flight are counted by token: a token with too many is refused at once and told
when to try again, and no other token is affected.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import NamedTuple

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from longhouse.config import Settings
from longhouse.dispatch import Dispatcher
from longhouse.kernel.errors import InvalidInput, LonghouseError, TooManyRequests
from longhouse.kernel.inputs import is_too_deep
from longhouse.store.database import LONG
from longhouse.surfaces.http.access import STREAMS
from longhouse.surfaces.http.responses import (
    BodyTooLarge,
    BodyTooSlow,
    HeadersTooLarge,
    respond,
)

__all__ = ["LARGE_BYTES", "InFlight", "RequestLimits", "waits_of"]

LARGE_BYTES = 64 * 1024
"""A body larger than this is decoded outside the event loop."""

SDK_PATH = "/mcp"
SDK_COST = 100
"""How much longer than a bare decoding the MCP SDK takes for a body, and that in the event loop."""
_OWNER = "longhouse.owner"
_CALLER = "longhouse.caller"
_WAITS = "longhouse.waits"


def _payer(scope: Scope) -> str:
    """The token whose limits a request shares; '' on open paths."""
    caller = scope.get(_CALLER)
    return caller.pays if caller else ""


class RequestLimits(NamedTuple):
    """The limits of one request and of one token."""

    header_bytes: int
    header_s: float
    body_bytes: int
    body_s: float
    calls: int
    waits: int
    streams: int

    @classmethod
    def of(cls, settings: Settings) -> RequestLimits:
        return cls(
            header_bytes=settings.max_header_kb * 1024,
            header_s=settings.header_timeout_s,
            body_bytes=settings.max_body_kb * 1024,
            body_s=settings.body_timeout_s,
            calls=settings.calls_per_token,
            waits=settings.waits_per_token,
            streams=settings.streams_per_token,
        )


def waits_of(scope: Scope) -> AbstractContextManager[None]:
    """A context that a call of this token holds while it waits."""
    waits: AbstractContextManager[None] = scope[_WAITS]
    return waits


class InFlight:
    """The ASGI layer behind the gate: everything that passes it is bounded."""

    def __init__(self, app: ASGIApp, dispatcher: Dispatcher, limits: RequestLimits) -> None:
        self._app = app
        self._dispatcher = dispatcher
        self._limits = limits
        self._held: Counter[tuple[str, str]] = Counter()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        try:
            self._check_headers(scope)
            if scope["method"] == "POST" and _OWNER in scope:
                owner = _payer(scope)
                with _Slot(self._held, owner, "calls", self._limits.calls):
                    receive = _replayed(await self._body(scope, receive), receive)
                    scope[_WAITS] = _Slot(self._held, owner, "waits", self._limits.waits)
                    await self._app(scope, receive, send)
                return
            with self._stream_slot(scope):
                await self._app(scope, receive, send)
        except LonghouseError as error:  # from this layer: inner layers answer their own errors
            await respond(self._dispatcher.fail("error", error))(scope, receive, send)

    def _stream_slot(self, scope: Scope) -> AbstractContextManager[None]:
        if STREAMS.match(scope["path"]):
            return _Slot(self._held, _payer(scope), "streams", self._limits.streams)
        return nullcontext()

    def _check_headers(self, scope: Scope) -> None:
        size = sum(len(name) + len(value) for name, value in scope["headers"])
        size += len(scope.get("raw_path") or b"") + len(scope["query_string"])
        if size > self._limits.header_bytes:
            raise HeadersTooLarge(
                f"the headers are {size} bytes long; the limit is {self._limits.header_bytes}"
            )

    async def _body(self, scope: Scope, receive: Receive) -> bytes:
        """The whole body, or a refusal before reading more of it than is allowed."""
        most = self._limits.body_bytes
        length = dict(scope["headers"]).get(b"content-length", b"")
        size, more = int(length) if length.isdigit() else 0, True
        parts: list[bytes] = []
        read = 0
        try:
            async with asyncio.timeout(self._limits.body_s):
                while more and size <= most:
                    message = await receive()
                    parts.append(message.get("body", b""))
                    read += len(parts[-1])
                    size = max(size, read)
                    more = message["type"] == "http.request" and message.get("more_body", False)
        except TimeoutError:
            raise BodyTooSlow from None
        if size > most:
            raise BodyTooLarge(f"the body is larger than {most} bytes")
        body = b"".join(parts)
        short = len(body) <= LARGE_BYTES
        if is_too_deep(body) if short else await self._is_too_deep(scope, body):
            text = "body: the JSON is nested too deeply"
            raise InvalidInput(text, recovery='send flat JSON such as {"limit": 5}')
        return body

    async def _is_too_deep(self, scope: Scope, body: bytes) -> bool:
        """Whether a large body nests too deeply, looked through outside the loop."""
        if caller := scope.get(_CALLER):
            caller.large = True
        owner = _payer(scope)

        def look() -> bool:
            deep = is_too_deep(body)
            if scope["path"] == SDK_PATH and not deep:
                _slow_down(body)
            return deep

        return await self._dispatcher.db.apart(owner, look, LONG)


class _Slot:
    """One of the limited slots that a token has, occupied while entered."""

    __slots__ = ("_held", "_key", "_most")

    def __init__(self, held: Counter[tuple[str, str]], owner: str, what: str, most: int) -> None:
        self._held = held
        self._key = owner, what
        self._most = most

    def __enter__(self) -> None:
        if self._held[self._key] >= self._most:
            what = self._key[1]
            raise TooManyRequests(
                f"this token has {self._most} {what} in flight, which is the limit"
            )
        self._held[self._key] += 1

    def __exit__(self, *_: object) -> None:
        self._held[self._key] -= 1
        if not self._held[self._key]:
            del self._held[self._key]


def _slow_down(body: bytes) -> None:
    """Keep the token's thread about as long as the SDK will keep the event loop.

    So a token can take up a part of the loop's time with large messages, but not most of it.
    """
    began = time.thread_time()
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        msgspec.json.decode(body)
    time.sleep(min(SDK_COST * (time.thread_time() - began), 1.0))


def _replayed(body: bytes, receive: Receive) -> Receive:
    """A receive that first returns a body already read, then continues with the client."""
    left: list[Message] = [{"type": "http.request", "body": body, "more_body": False}]

    async def replay() -> Message:
        return left.pop() if left else await receive()

    return replay
