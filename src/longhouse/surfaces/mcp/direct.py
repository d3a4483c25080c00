"""Answers a single tool call of the newest protocol without the SDK.

Such a call is one self-contained exchange. Any request that is not exactly such a call, down to
every header, is left to the SDK, which reports what is wrong with it. So a server can answer its
first call long before the SDK is imported.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

import msgspec
from starlette.types import Message, Receive, Scope, Send

from longhouse import __version__
from longhouse.client import tool_result
from longhouse.kernel.envelope import Answer
from longhouse.surfaces.http.limits import LARGE_BYTES

__all__ = ["DirectCall", "answer_call", "read_call"]

VERSION = b"2026-07-28"
PING_S = 15.0
"""The SDK's interval: a proxy may close a connection that is silent for longer."""

_META = "io.modelcontextprotocol/"
_SERVER = {"name": "longhouse", "title": "Longhouse", "version": __version__}
_ROUTING = (b"mcp-protocol-version", b"mcp-method", b"mcp-name")


class DirectCall(NamedTuple):
    id: str | int
    name: str
    arguments: dict[str, Any] | None


async def read_call(
    scope: Scope, receive: Receive, apart: Callable[[Callable[[], Any]], Awaitable[Any]]
) -> tuple[DirectCall | None, Receive]:
    """The call, or None with a `receive` that replays the request for the SDK.

    `apart` runs what would hold up the loop on one of the caller's threads.
    """
    if scope["method"] != "POST" or not _is_addressed(scope["headers"]):
        return None, receive
    messages: deque[Message] = deque()
    more = True
    while more:  # the size was checked before
        message = await receive()
        messages.append(message)
        more = message["type"] == "http.request" and message.get("more_body", False)
    body = b"".join(message.get("body", b"") for message in messages)
    if len(body) > LARGE_BYTES:
        call = await apart(lambda: _understood(body, scope["headers"]))
    else:
        call = _understood(body, scope["headers"])
    if call is not None:
        return call, receive

    async def replay() -> Message:
        return messages.popleft() if messages else await receive()

    return None, replay


def _is_addressed(headers: list[tuple[bytes, bytes]]) -> bool:
    found: dict[bytes, bytes] = {}
    for name, value in headers:
        if (name in _ROUTING and name in found) or name.startswith(b"mcp-param-"):
            return False
        found[name] = value
    accept = found.get(b"accept", b"")
    return (
        found.get(b"mcp-protocol-version") == VERSION
        and found.get(b"mcp-method") == b"tools/call"
        and b"mcp-name" in found
        and b"application/json" in accept
        and b"text/event-stream" in accept
    )


def _understood(body: bytes, headers: list[tuple[bytes, bytes]]) -> DirectCall | None:
    try:
        message = msgspec.json.decode(body)
        params = message["params"]
        meta, name, arguments = params["_meta"], params["name"], params.get("arguments")
        version, client = meta[_META + "protocolVersion"], meta[_META + "clientCapabilities"]
        exact = (
            message.keys() == {"jsonrpc", "id", "method", "params"}
            and (message["jsonrpc"], message["method"]) == ("2.0", "tools/call")
            and type(message["id"]) in (str, int)
            and version == VERSION.decode()
            and isinstance(client, dict)
            and isinstance(meta.get(_META + "clientInfo", {}), dict)
            and dict(headers)[b"mcp-name"] == name.encode()
            and not name.startswith("=?")
            and isinstance(arguments, dict | None)
            and params.keys() <= {"_meta", "name", "arguments"}
        )
    except (msgspec.DecodeError, UnicodeError, RecursionError, LookupError, TypeError):
        return None
    except AttributeError:  # a list or a number instead of an object
        return None
    return DirectCall(message["id"], name, arguments) if exact else None


async def answer_call(
    call: DirectCall, answer: asyncio.Future[Answer], receive: Receive, send: Send
) -> None:
    """Send the answer to the call; if the client disconnects, cancel the call."""
    gone = asyncio.ensure_future(_gone(receive))
    streaming = False
    try:
        while not answer.done():
            both: set[asyncio.Future[Any]] = {answer, gone}
            await asyncio.wait(both, timeout=PING_S, return_when="FIRST_COMPLETED")
            if gone.done():
                return
            if not answer.done():
                if not streaming:
                    streaming = True
                    await send(_start(b"text/event-stream"))
                ping = b": ping\r\n\r\n"
                await send({"type": "http.response.body", "body": ping, "more_body": True})
        body = _result(call, answer.result())
        if streaming:
            body = b"event: message\r\ndata: " + body + b"\r\n\r\n"
        else:
            await send(_start(b"application/json", len(body)))
        await send({"type": "http.response.body", "body": body, "more_body": False})
    finally:
        gone.cancel()
        answer.cancel()


def _result(call: DirectCall, answer: Answer) -> bytes:
    result = {
        **tool_result(answer.lean(), failed=not answer.success),
        "resultType": "complete",
        "_meta": {_META + "serverInfo": _SERVER},
    }
    return msgspec.json.encode({"jsonrpc": "2.0", "id": call.id, "result": result})


def _start(kind: bytes, length: int | None = None) -> Message:
    headers = [(b"content-type", kind), (b"cache-control", b"no-store")]
    if length is not None:
        headers.append((b"content-length", str(length).encode()))
    return {"type": "http.response.start", "status": 200, "headers": headers}


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
