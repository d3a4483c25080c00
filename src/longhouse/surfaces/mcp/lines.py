"""Answers tool calls on a stream without the SDK, once the client has completed the handshake.

A plain call, with only a name and arguments, is answered here in a third of the time. A line that
is not a valid message is refused here, because the SDK would silently ignore it. Every other line
goes to the SDK unchanged.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Literal

import msgspec

from longhouse.client import jsonrpc, known_commands, tool_named, tool_result
from longhouse.client.jsonrpc import BadMessage, read_message
from longhouse.dispatch import Caller, Dispatcher

__all__ = ["DirectLines", "preferred"]

Id = str | int


class _Params(msgspec.Struct, forbid_unknown_fields=True):
    name: str
    arguments: dict[str, Any] | None = None


class _Call(msgspec.Struct, forbid_unknown_fields=True):
    jsonrpc: Literal["2.0"]
    id: Id
    method: Literal["tools/call"]
    params: _Params


class _Request(msgspec.Struct):
    id: Id = msgspec.field(name="requestId")


class _Cancellation(msgspec.Struct):
    method: Literal["notifications/cancelled"]
    params: _Request


_TOO_LONG = jsonrpc.error(
    None,
    jsonrpc.INVALID_REQUEST,
    "the line is too long; send large content in parts (docs.artifact.join)",
)
_UNREADABLE = (msgspec.DecodeError, UnicodeError, RecursionError)

_call = msgspec.json.Decoder(_Call)
_cancellation = msgspec.json.Decoder(_Cancellation)


def preferred(caller: Caller, tool: str, arguments: dict[str, Any] | None) -> dict[str, Any] | None:
    """The arguments of a tool call in the format that the caller's session prefers."""
    lines = caller.session is not None and caller.session.lines
    return known_commands().in_lines(tool, arguments) if lines else arguments


class DirectLines:
    """The client's lines for the SDK; other lines are answered here, through `write`."""

    def __init__(
        self,
        lines: asyncio.StreamReader,
        dispatcher: Dispatcher,
        caller: Caller,
        write: Callable[[bytes], Awaitable[None]],
    ) -> None:
        self._lines = lines
        self._dispatcher = dispatcher
        self._caller = caller
        self._write = write
        self._greeted = False
        self._running: dict[Id, asyncio.Task[None]] = {}

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for line in self._whole_lines():
            if self._takes(line):
                continue
            try:
                read_message(line)
            except BadMessage as bad:
                if line.strip():
                    await self._write(jsonrpc.encode(bad.answer) + b"\n")
            else:
                yield line
        await asyncio.gather(*self._running.values(), return_exceptions=True)

    async def _whole_lines(self) -> AsyncIterator[bytes]:
        """Every complete line; those that are too long are skipped and refused."""
        too_long = False
        while True:
            try:
                line = await self._lines.readuntil(b"\n")
            except asyncio.LimitOverrunError as error:
                await self._lines.readexactly(error.consumed)
                too_long = True
                continue
            except asyncio.IncompleteReadError as error:
                if error.partial and not too_long:
                    yield error.partial
                return
            if too_long:
                too_long = False
                await self._write(msgspec.json.encode(_TOO_LONG) + b"\n")
            else:
                yield line

    def _takes(self, line: bytes) -> bool:
        try:
            call = _call.decode(line)
        except _UNREADABLE:
            self._greeted = self._greeted or b'"notifications/initialized"' in line
            return self._cancels(line)
        if not self._greeted or call.id in self._running:
            return False
        task = self._running[call.id] = asyncio.ensure_future(self._answer(call))
        task.add_done_callback(lambda _: self._running.pop(call.id, None))
        return True

    def _cancels(self, line: bytes) -> bool:
        if b'"notifications/cancelled"' not in line:
            return False
        try:
            task = self._running.get(_cancellation.decode(line).params.id)
        except _UNREADABLE:
            return False
        return task is not None and task.cancel()

    async def _answer(self, call: _Call) -> None:
        name = tool_named(call.params.name)
        arguments = preferred(self._caller, name, call.params.arguments)
        answer = await self._dispatcher.portal_async(name, arguments, self._caller)
        result = tool_result(answer.lean(), failed=not answer.success)
        message = {"jsonrpc": "2.0", "id": call.id, "result": result}
        await self._write(msgspec.json.encode(message) + b"\n")
