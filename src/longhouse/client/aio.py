"""The client for event loops: the same calls, awaited, without blocking the loop."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import aclosing, suppress
from typing import TYPE_CHECKING, Any, Protocol, Self, TypeVar, Unpack

from longhouse.client.doors import PATIENCE_S, QUIET_S, Post, Remote, Tail, raise_refusal
from longhouse.client.greeting import GREET_S, Greeting, NotTheServer
from longhouse.client.http1 import (
    BadReply,
    EventParser,
    ResponseParser,
    ServerSentEvent,
    request_bytes,
)
from longhouse.client.replies import CallOutcome, answer_outcome
from longhouse.client.retry import Retry
from longhouse.client.typed import CallOptions, call_of, result_of, row_of
from longhouse.client.wire import CONNECT_S, Origin, Reply, Wire, unreachable
from longhouse.kernel.errors import Unreachable
from longhouse.kernel.values import Request, Result
from longhouse.store.tx import LogRow

if TYPE_CHECKING:
    from longhouse.config import Settings

__all__ = ["AsyncClient", "AsyncEmbeddedDoor", "AsyncRemoteDoor"]

R = TypeVar("R", bound=Result)
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


class AsyncDoor(Protocol):
    async def call(self, cmd: str, args: dict[str, Any]) -> CallOutcome: ...

    def events(
        self, after: int, *, streams: tuple[str, ...], follow: bool, workspace: str | None
    ) -> AsyncGenerator[dict[str, Any], None]: ...

    async def close(self) -> None: ...


class AsyncClient:
    """A client of one store, through its server or opened here, for one event loop."""

    def __init__(self, door: AsyncDoor) -> None:
        self._door = door

    async def __call__(self, request: Request[R], /, **options: Unpack[CallOptions]) -> R:
        """Run the command that this request belongs to, and return its result."""
        cmd, args = call_of(request, options)
        return result_of(request, (await self._door.call(cmd, args)).result())

    async def call(self, cmd: str, args: dict[str, Any] | None = None) -> dict[str, Any] | str:
        """The whole envelope, even of a refusal; with `fmt=lines`, the text."""
        outcome = await self._door.call(cmd, dict(args or {}))
        return outcome.text if outcome.envelope is None else outcome.envelope

    async def events(
        self,
        after: int = 0,
        *,
        streams: Sequence[str] = (),
        follow: bool = False,
        workspace: str | None = None,
    ) -> AsyncGenerator[LogRow, None]:
        """The log after a seq, oldest first; with `follow` it waits for new rows."""
        rows = self._door.events(after, streams=tuple(streams), follow=follow, workspace=workspace)
        async with aclosing(rows):
            async for row in rows:
                yield row_of(row)

    async def close(self) -> None:
        await self._door.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class AsyncEmbeddedDoor:
    """The store, opened in this process."""

    def __init__(self, settings: Settings) -> None:
        from longhouse.house import House

        self.house = House(settings)

    async def call(self, cmd: str, args: dict[str, Any]) -> CallOutcome:
        answer = await self.house.dispatcher.call_async(cmd, args, self.house.owner())
        return answer_outcome(answer)

    async def events(
        self, after: int, *, streams: tuple[str, ...], follow: bool, workspace: str | None
    ) -> AsyncGenerator[dict[str, Any], None]:
        from longhouse.client.feed import LOOK_S, page_after, permitted

        name = permitted(self.house, workspace)
        while True:
            page = await asyncio.to_thread(page_after, self.house, after, name)
            for row in page:
                after = row["seq"]
                if not streams or row["stream"] in streams:
                    yield row
            if not page:
                if not follow:
                    return
                await asyncio.to_thread(self.house.db.wakeups.wait, name, after, LOOK_S)

    async def close(self) -> None:
        await asyncio.to_thread(self.house.close)


class AsyncRemoteDoor(Remote):
    """A store through its server, which it finds again after a restart, even on another port."""

    def __init__(
        self,
        wire: Wire,
        *,
        workspace: str | None = None,
        agent_id: str | None = None,
        find_again: Callable[[], Wire | None] | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        super().__init__(workspace, agent_id, patience_s)
        self._origin, self._headers, self._timeout_s = wire.origin, wire.headers, wire.timeout_s
        self._key = wire.key
        self._find_again = find_again or (lambda: None)
        self._idle: list[Streams] = []

    async def call(self, cmd: str, args: dict[str, Any]) -> CallOutcome:
        steps = self.steps(cmd, args)
        told: Reply | Unreachable | None = None
        while True:
            try:
                step = steps.send(told)
            except StopIteration as end:
                outcome: CallOutcome = end.value
                return outcome
            told = await self._take_step(step)

    async def _take_step(self, step: Post | float) -> Reply | Unreachable | None:
        if not isinstance(step, Post):
            await self._wait(step)
            return None
        try:
            return await self._request("POST", step.path, step.headers, step.body)
        except Unreachable as trouble:
            return trouble

    async def events(
        self, after: int, *, streams: tuple[str, ...], follow: bool, workspace: str | None
    ) -> AsyncGenerator[dict[str, Any], None]:
        retry = Retry("events", patience_s=self.patience_s)
        tail = Tail(after, streams, follow=follow)
        while True:
            headers, before = self.headers(workspace), tail.after
            try:
                async with aclosing(self._stream(tail.path(), headers)) as got:
                    async for event in got:
                        if follow or tail.after > before:
                            retry = Retry("events", patience_s=self.patience_s)
                        if row := tail.take(event):
                            yield row
                        if tail.done:
                            return
                if not follow and tail.after == before:
                    raise Unreachable("the server closed the event stream early")
            except Unreachable as trouble:
                await self._wait(retry.pause(trouble))

    async def close(self) -> None:
        for _, writer in self._idle:
            writer.close()
            with suppress(OSError):
                await writer.wait_closed()
        self._idle.clear()

    async def _wait(self, pause_s: float) -> None:
        """Wait before the next try, then find out where the server is now."""
        await asyncio.sleep(pause_s)
        if wire := await asyncio.to_thread(self._find_again):
            self._origin, self._headers, self._key = wire.origin, wire.headers, wire.key
            wire.close()
            await self.close()

    async def _request(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes
    ) -> Reply:
        streams = await self._take()
        parser = ResponseParser()
        try:
            async with asyncio.timeout(self._timeout_s):
                self._send(streams, method, path, headers, body)
                await self._read(streams, parser)
        except BaseException as error:
            streams[1].close()
            if isinstance(error, OSError | BadReply):
                raise unreachable(self._origin, error, sent=True) from error
            raise
        if parser.keep_alive:
            self._idle.append(streams)
        else:
            streams[1].close()
        return Reply(parser.status, parser.headers, bytes(parser.body))

    async def _read(self, streams: Streams, parser: ResponseParser) -> None:
        while not parser.done:
            if data := await streams[0].read(65536):
                parser.feed(data)
            else:
                parser.end()

    async def _stream(
        self, path: str, headers: Mapping[str, str]
    ) -> AsyncGenerator[ServerSentEvent, None]:
        streams = await self._connect()
        parser, events = ResponseParser(), EventParser()
        try:
            self._send(streams, "GET", path, {"Accept": "text/event-stream", **headers}, None)
            while not parser.done:
                async with asyncio.timeout(QUIET_S):
                    data = await streams[0].read(65536)
                if data:
                    parser.feed(data)
                elif parser.has_head and parser.status == 200:
                    return
                else:
                    parser.end()
                if parser.status == 200:
                    for event in events.feed(parser.take()):
                        yield event
            if parser.status != 200:
                raise_refusal(Reply(parser.status, parser.headers, bytes(parser.body)))
        except (OSError, BadReply) as error:
            raise unreachable(self._origin, error, sent=True) from error
        finally:
            streams[1].close()

    def _send(
        self,
        streams: Streams,
        method: str,
        path: str,
        headers: Mapping[str, str],
        body: bytes | None,
    ) -> None:
        path = self._origin.prefix + path
        sent = {**self._headers, **headers}
        streams[1].write(
            request_bytes(method, path, host=self._origin.name, headers=sent, body=body)
        )

    async def _take(self) -> Streams:
        """A kept connection that is still usable, or a new one."""
        while self._idle:
            kept = self._idle.pop()
            if not kept[0].at_eof():
                return kept
            kept[1].close()
        return await self._connect()

    async def _connect(self) -> Streams:
        origin: Origin = self._origin
        try:
            async with asyncio.timeout(CONNECT_S):
                streams = await asyncio.open_connection(
                    origin.host, origin.port, ssl=True if origin.tls else None
                )
            if self._key is not None:
                await self._greet(streams, Greeting.under(self._key))
        except OSError as error:
            raise unreachable(origin, error, sent=False) from error
        return streams

    async def _greet(self, streams: Streams, greeting: Greeting) -> None:
        """Have the other side prove its identity before sending it anything else."""
        origin, parser = self._origin, ResponseParser()
        path = origin.prefix + greeting.path
        streams[1].write(request_bytes("GET", path, host=origin.name, headers={}))
        try:
            async with asyncio.timeout(GREET_S):
                await self._read(streams, parser)
            if not parser.keep_alive:
                raise NotTheServer
            greeting.check(parser.body)
        except BaseException as error:
            streams[1].close()
            if isinstance(error, BadReply):
                raise NotTheServer from error
            raise
