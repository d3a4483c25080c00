"""One request on its way to the server and back, on a connection of its own.

The other side may answer once, or stream notifications before the answer. A request whose last byte
was not sent was not carried out; one whose answer was lost may have been.
"""

from __future__ import annotations

import json
import select
import socket
from collections.abc import Iterator, Mapping
from typing import Any

from longhouse.client.http1 import BadReply, EventParser, ResponseParser, request_bytes
from longhouse.client.wire import CONNECT_S
from longhouse.surfaces.bridge.seek import Link

__all__ = ["Exchange", "Lost", "Pool", "Request"]

SEND_S = 60.0


class Lost(Exception):
    """The connection ended before the answer did."""


class Request:
    """What a client asked for, as it is sent."""

    __slots__ = ("body", "headers", "id", "method", "modern", "params", "repeatable", "tries")

    def __init__(
        self,
        id_: Any,
        method: str,
        params: dict[str, Any],
        *,
        headers: Mapping[str, str],
        body: bytes,
        modern: bool,
        repeatable: bool,
    ) -> None:
        self.id = id_
        self.method = method
        self.params = params
        self.headers = headers
        self.body = body
        self.modern = modern
        self.repeatable = repeatable
        self.tries = 0


class Exchange:
    """A request that was sent, and as much of its answer as has come.

    Notifications may come before the answer; `answered` is set by whoever passes that on.
    """

    __slots__ = ("_events", "_parser", "answered", "connection", "request")

    def __init__(self, request: Request, connection: socket.socket) -> None:
        self.request = request
        self.connection = connection
        self._parser = ResponseParser()
        self._events: EventParser | None = None
        self.answered = False

    @property
    def streams(self) -> bool:
        return self._events is not None

    @property
    def done(self) -> bool:
        return self._parser.done

    @property
    def status(self) -> int:
        return self._parser.status

    @property
    def reusable(self) -> bool:
        return self._parser.done and self._parser.keep_alive

    def receive(self) -> Iterator[bytes]:
        """Whole messages, as they arrive; Lost when no more will."""
        try:
            data = self.connection.recv(262_144)
            if data:
                self._parser.feed(data)
            else:
                self._parser.end()
        except (OSError, BadReply) as error:
            raise Lost(str(error)) from error
        if not self._parser.has_head:
            return
        if "event-stream" in self._parser.headers.get("content-type", ""):
            self._events = self._events or EventParser()
            for event in self._events.feed(self._parser.take()):
                yield event.data.encode()
        elif self._parser.done:
            yield self._parser.take()


class Pool:
    """Connections to one server, kept between requests."""

    def __init__(self, link: Link) -> None:
        self.link = link
        self._idle: list[socket.socket] = []

    def send(self, request: Request) -> Exchange:
        """Send it whole; an OSError means that the server cannot have understood it."""
        origin, kept = self.link.origin, self._kept()
        data = request_bytes(
            "POST",
            origin.prefix + "/mcp",
            host=origin.name,
            headers={**self.link.headers, **request.headers},
            body=request.body,
        )
        connection = kept or self._connect()
        try:
            connection.sendall(data)
        except OSError:
            connection.close()
            if kept is None:
                raise
            connection = self._connect()
            connection.sendall(data)
        return Exchange(request, connection)

    def keep(self, connection: socket.socket) -> None:
        self._idle.append(connection)

    def close(self) -> None:
        while self._idle:
            self._idle.pop().close()

    def _kept(self) -> socket.socket | None:
        while self._idle:
            connection = self._idle.pop()
            if not select.select([connection], [], [], 0)[0]:
                return connection
            connection.close()
        return None

    def _connect(self) -> socket.socket:
        origin = self.link.origin
        connection = socket.create_connection((origin.host, origin.port), timeout=CONNECT_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        connection.settimeout(SEND_S)
        return connection


def parsed(message: bytes) -> dict[str, Any] | None:
    """A JSON-RPC message, or None for anything else, such as a refusal at the door."""
    try:
        found = json.loads(message)
    except ValueError:
        return None
    return found if isinstance(found, dict) and found.get("jsonrpc") == "2.0" else None
