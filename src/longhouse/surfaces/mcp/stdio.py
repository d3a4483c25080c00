"""`longhouse mcp --embedded`: runs the MCP server in this process, over its standard streams.

The streams are read and written in the event loop: the SDK would hand lines to a thread three times
per call, which takes longer than most calls. While serving, descriptor 1 is redirected to standard
error, so that stray prints cannot corrupt the protocol.
"""

from __future__ import annotations

import asyncio
import os
import stat
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from typing import Any

from mcp.server.stdio import stdio_server

from longhouse.client import answer_outcome
from longhouse.config import Settings
from longhouse.dispatch import Caller, ClientSession
from longhouse.house import House
from longhouse.kernel.errors import Unauthenticated
from longhouse.surfaces.client_tokens import OTHER, ClientTokens
from longhouse.surfaces.http.access import WATCH_S, Identity, Tokens
from longhouse.surfaces.mcp.lines import DirectLines
from longhouse.surfaces.mcp.server import build_server
from longhouse.surfaces.sessions import AGENT_HEADER, ROLE_HEADER, SESSION_HEADER

__all__ = ["serve_stdio"]

LINE_BYTES = 16 * 1024 * 1024


def serve_stdio(
    settings: Settings, client: str = OTHER, role: str | None = None, *, lines: bool = False
) -> None:
    """Serve one client until it closes its pipe or its token is revoked.

    With `lines`, reads that say no format are answered in lines.
    """
    with House(settings) as house:
        tokens = Tokens(house)
        caller, identity = asyncio.run(_admit(house, tokens, client, role))
        assert caller.session
        caller.session.lines = lines
        server = build_server(house.dispatcher, lambda _request: caller, caller.role)

        async def serve() -> None:
            async with _standard_streams() as (reader, sink):
                source: Any = reader and DirectLines(reader, house.dispatcher, caller, sink.send)
                async with stdio_server(source, sink) as (incoming, outgoing):
                    await server.run(incoming, outgoing, server.create_initialization_options())

        asyncio.run(_until_revoked(serve, tokens, identity))


async def _admit(
    house: House, tokens: Tokens, client: str, role: str | None
) -> tuple[Caller, Identity]:
    """The client as a caller with its own token, limited to that token's role."""

    def ask(cmd: str, **args: Any) -> Any:
        return answer_outcome(house.call(cmd, args)).result()

    kept = ClientTokens(house.settings, client)
    token = kept.obtain(ask)
    try:
        identity = await tokens.identify(f"Bearer {token.token}")
    except Unauthenticated:
        token = kept.obtain(ask, refused=True)
        identity = await tokens.identify(f"Bearer {token.token}")
    asked = {ROLE_HEADER: role or "operator", SESSION_HEADER: os.urandom(16).hex()}
    if house.settings.agent_id:
        asked[AGENT_HEADER] = house.settings.agent_id
    caller = identity.caller(asked)
    caller.session = ClientSession(key=caller.owner)
    return caller, identity


async def _until_revoked(
    serve: Callable[[], Awaitable[None]], tokens: Tokens, identity: Identity
) -> None:
    serving = asyncio.ensure_future(serve())
    while not (await asyncio.wait([serving], timeout=WATCH_S))[0]:
        if await tokens.ended({identity}):
            serving.cancel()
            with suppress(asyncio.CancelledError):
                await serving
            raise Unauthenticated(f"the token of this client, {identity.owner}, was revoked")
    await serving


class _Sink:
    """What the SDK writes its messages to."""

    def __init__(self, writer: asyncio.StreamWriter) -> None:
        self._writer = writer

    async def send(self, line: bytes) -> None:
        self._writer.write(line)
        await self._writer.drain()

    async def write(self, text: str) -> None:
        self._writer.write(text.encode())

    async def flush(self) -> None:
        await self._writer.drain()


@asynccontextmanager
async def _standard_streams() -> AsyncIterator[tuple[Any, Any]]:
    """The streams to read from and write to; None for a file or terminal, left to the SDK."""
    if not all(stat.S_ISFIFO(kind) or stat.S_ISSOCK(kind) for kind in map(_kind, (0, 1))):
        yield None, None
        return
    loop = asyncio.get_running_loop()
    reader = asyncio.StreamReader(LINE_BYTES)
    source, sink = os.fdopen(os.dup(0), "rb", 0), os.fdopen(os.dup(1), "wb", 0)
    wire = os.dup(1)
    incoming, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), source)
    outgoing, flow = await loop.connect_write_pipe(
        lambda: asyncio.StreamReaderProtocol(asyncio.StreamReader()), sink
    )
    outgoing.set_write_buffer_limits(0)  # flushed means written
    os.dup2(2, 1)
    try:
        yield reader, _Sink(asyncio.StreamWriter(outgoing, flow, None, loop))
    finally:
        os.dup2(wire, 1)
        os.close(wire)
        for end in (0, 1):  # they may be shared with the parent process
            os.set_blocking(end, True)
        incoming.close()
        outgoing.close()


def _kind(descriptor: int) -> int:
    return os.fstat(descriptor).st_mode
