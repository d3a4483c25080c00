"""The blocking transport of the SDK, command line, bridge and runner: a pool of sockets.

Connections are kept and shared between threads; one that the server has closed is detected before
it is reused. `Unreachable.sent` says whether a failed call may have been done. A caller with its
own event loop takes an `Exchange` and reads it when its socket is ready.
"""

from __future__ import annotations

import select
import socket
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple, cast
from urllib.parse import urlsplit

from longhouse.client.greeting import GREET_S, Greeting, NotTheServer
from longhouse.client.http1 import (
    BadReply,
    EventParser,
    ResponseParser,
    ServerSentEvent,
    request_bytes,
)
from longhouse.kernel.errors import InvalidInput, Unreachable

__all__ = ["Exchange", "Origin", "Reply", "Wire", "origin_of"]

CONNECT_S = 5.0


class Origin(NamedTuple):
    """A server's address, parsed from its URL."""

    url: str
    tls: bool
    host: str
    port: int
    name: str

    @property
    def prefix(self) -> str:
        return urlsplit(self.url).path.rstrip("/")


class Reply(NamedTuple):
    """One complete answer."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_json(self) -> bool:
        return "json" in self.headers.get("content-type", "")

    @property
    def retry_after_s(self) -> float:
        """How long the server asks us to wait before the next try, at most a minute."""
        text = self.headers.get("retry-after", "")
        return min(float(text), 60.0) if text.isascii() and text.isdigit() else 0.0


def origin_of(url: str) -> Origin:
    """The parts of a server's URL, or InvalidInput."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or {"https": 443, "http": 80}[parts.scheme]
    except (KeyError, ValueError):
        raise InvalidInput(
            f"url: {url!r} is not a valid server address", recovery="use http://127.0.0.1:7331"
        ) from None
    if not parts.hostname:
        raise InvalidInput(f"url: {url!r} has no host", recovery="use http://127.0.0.1:7331")
    return Origin(url, parts.scheme == "https", parts.hostname, port, parts.netloc.split("@")[-1])


class Exchange:
    """A request that has been sent, and as much of its answer as has arrived."""

    __slots__ = ("_connection", "_events", "_parser", "fileno", "origin")

    def __init__(self, origin: Origin, connection: socket.socket) -> None:
        self.origin = origin
        self._connection = connection
        self.fileno = connection.fileno
        self._parser = ResponseParser()
        self._events: EventParser | None = None

    @property
    def done(self) -> bool:
        return self._parser.done

    @property
    def status(self) -> int:
        return self._parser.status

    @property
    def streams(self) -> bool:
        """Whether the answer is a stream of events."""
        return self._parser.headers.get("content-type", "").startswith("text/event-stream")

    def receive(self, ends: float | None = None) -> None:
        """Read what has arrived, or wait for it; Unreachable if the answer breaks off.

        At the monotonic time `ends` it is too late.
        """
        try:
            if ends is not None:
                if (left_s := ends - time.monotonic()) <= 0:
                    raise TimeoutError
                self._connection.settimeout(left_s)
            if data := self._connection.recv(262_144):
                self._parser.feed(data)
            else:
                self._parser.end()
        except (OSError, BadReply) as error:
            raise unreachable(self.origin, error, sent=True) from error

    def reply(self) -> Reply:
        """The whole answer, once it is done."""
        return Reply(self._parser.status, self._parser.headers, bytes(self._parser.body))

    def events(self) -> Iterable[ServerSentEvent]:
        """The events of a stream that have arrived since the last call."""
        self._events = self._events or EventParser()
        try:
            return self._events.feed(self._parser.take())
        except BadReply as error:
            raise unreachable(self.origin, error, sent=True) from error

    def reusable(self) -> socket.socket | None:
        """The connection, if it can carry another request."""
        return self._connection if self._parser.done and self._parser.keep_alive else None

    def close(self) -> None:
        self._connection.close()


class Wire:
    """Sends requests to one server; with a `key`, only after it proves that it has the key."""

    def __init__(
        self,
        origin: Origin,
        *,
        headers: Mapping[str, str] | None = None,
        timeout_s: float = 120,
        key: str | None = None,
    ) -> None:
        self.origin = origin
        self.key = key
        self.headers = dict(headers or {})
        self.timeout_s = timeout_s
        self._idle: list[socket.socket] = []

    def send(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float | None = None,
    ) -> Exchange:
        """Send one request; if it cannot be sent in full, the server did not receive it."""
        data = request_bytes(
            method,
            self.origin.prefix + path,
            host=self.origin.name,
            headers={**self.headers, **(headers or {})},
            body=body,
        )
        timeout_s = self.timeout_s if timeout_s is None else timeout_s
        if kept := self._kept():
            with suppress(OSError):
                return self._sent(kept, data, timeout_s)
        try:
            return self._sent(self._connect(), data, timeout_s)
        except OSError as error:
            raise unreachable(self.origin, error, sent=False) from error

    def meet(self) -> None:
        """Connect and keep the connection, or raise Unreachable; no request is sent yet."""
        try:
            self._idle.append(self._connect())
        except OSError as error:
            raise unreachable(self.origin, error, sent=False) from error

    def request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        """Send one request and read its whole answer, within `timeout_s` if that is given.

        Without it only silence ends the wait; a server that is at work pings now and then.
        """
        ends = None if timeout_s is None else time.monotonic() + timeout_s
        exchange = self.send(method, path, headers=headers, body=body, timeout_s=timeout_s)
        try:
            while not exchange.done:
                exchange.receive(ends)
        except BaseException:
            exchange.close()
            raise
        self.release(exchange)
        return exchange.reply()

    def events(
        self, path: str, *, headers: Mapping[str, str] | None = None, quiet_s: float = 60.0
    ) -> Iterator[ServerSentEvent | Reply]:
        """Follow an event stream until it ends; a refusal is yielded as a single Reply.

        A stream that sends nothing, not even a comment, for `quiet_s` is considered dead.
        """
        asked = {"Accept": "text/event-stream", **(headers or {})}
        exchange = self.send("GET", path, headers=asked, timeout_s=quiet_s)
        try:
            while not exchange.done:
                exchange.receive()
                if exchange.streams:
                    yield from exchange.events()
            if not exchange.streams:
                yield exchange.reply()
        finally:
            exchange.close()

    def release(self, exchange: Exchange) -> None:
        """Keep the connection of a finished exchange if possible, or close it."""
        connection = exchange.reusable()
        if connection is None or exchange.origin != self.origin:
            exchange.close()
        else:
            self._idle.append(connection)

    def close(self) -> None:
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()

    def _sent(self, connection: socket.socket, data: bytes, timeout_s: float) -> Exchange:
        try:
            connection.settimeout(timeout_s)
            connection.sendall(data)
        except BaseException:
            connection.close()
            raise
        return Exchange(self.origin, connection)

    def _kept(self) -> socket.socket | None:
        """A kept connection that is still usable."""
        while self._idle:
            try:
                kept = self._idle.pop()
            except IndexError:  # another thread took the last one
                break
            look = select.poll()  # not select(): it fails from the 1,024th descriptor on
            look.register(kept, select.POLLIN)
            if not look.poll(0):
                return kept
            kept.close()
        return None

    def _connect(self) -> socket.socket:
        origin = self.origin
        # As bytes: for text, Python would load the tables of international names.
        host = cast(str, origin.host.encode()) if origin.host.isascii() else origin.host
        connection = socket.create_connection((host, origin.port), timeout=CONNECT_S)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if origin.tls:
            import ssl

            context = ssl.create_default_context()
            connection = context.wrap_socket(connection, server_hostname=origin.host)
        if self.key is not None:
            self._greet(connection, Greeting.under(self.key))
        return connection

    def _greet(self, connection: socket.socket, greeting: Greeting) -> None:
        """Have the other side prove its identity."""
        path = self.origin.prefix + greeting.path
        asked = request_bytes("GET", path, host=self.origin.name, headers={})
        exchange = self._sent(connection, asked, GREET_S)
        try:
            while not exchange.done:
                exchange.receive()
            if exchange.reusable() is None:
                raise NotTheServer
            greeting.check(exchange.reply().body)
        except Unreachable as trouble:
            connection.close()
            raise NotTheServer from trouble
        except BaseException:
            connection.close()
            raise


def unreachable(origin: Origin, error: Exception, *, sent: bool) -> Unreachable:
    """The error as a sentence; `sent` if the server may have received the call."""
    if isinstance(error, TimeoutError):
        what = "did not answer in time"
    elif sent:
        what = "closed the connection before it answered"
    else:
        what = f"cannot be reached ({getattr(error, 'strerror', None) or error})"
    trouble = Unreachable(f"the server at {origin.url} {what}")
    trouble.sent = sent
    return trouble
