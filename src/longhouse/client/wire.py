"""A blocking HTTP client on one plain socket at a time: what the command line can afford to import.

Connections are kept and shared between threads; one that the server closed meanwhile is noticed
before it is used. `Unreachable.sent` says whether a failed call may have been carried out.
"""

from __future__ import annotations

import select
import socket
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import NamedTuple
from urllib.parse import urlsplit

from longhouse.client.http1 import (
    BadReply,
    Event,
    EventParser,
    ResponseParser,
    request_bytes,
)
from longhouse.kernel.errors import InvalidInput, Unreachable

__all__ = ["Origin", "Reply", "Wire", "origin_of"]

CONNECT_S = 5.0


class Origin(NamedTuple):
    """Where a server listens, taken from its URL."""

    url: str
    tls: bool
    host: str
    port: int
    name: str

    @property
    def prefix(self) -> str:
        return urlsplit(self.url).path.rstrip("/")


class Reply(NamedTuple):
    """One answer, whole."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def is_json(self) -> bool:
        return "json" in self.headers.get("content-type", "")


def origin_of(url: str) -> Origin:
    """The parts of a server's URL, or InvalidInput."""
    try:
        parts = urlsplit(url if "://" in url else f"http://{url}")
        port = parts.port or {"https": 443, "http": 80}[parts.scheme]
    except (KeyError, ValueError):
        raise InvalidInput(
            f"url: {url!r} is no address of a server", recovery="use http://127.0.0.1:7331"
        ) from None
    if not parts.hostname:
        raise InvalidInput(f"url: {url!r} names no host", recovery="use http://127.0.0.1:7331")
    return Origin(url, parts.scheme == "https", parts.hostname, port, parts.netloc.split("@")[-1])


class Wire:
    """Requests to one server."""

    def __init__(
        self, origin: Origin, *, headers: Mapping[str, str] | None = None, timeout_s: float = 120
    ) -> None:
        self.origin = origin
        self.headers = dict(headers or {})
        self.timeout_s = timeout_s
        self._idle: list[socket.socket] = []

    def request(
        self,
        method: str,
        path: str,
        *,
        headers: Mapping[str, str] | None = None,
        body: bytes | None = None,
        timeout_s: float | None = None,
    ) -> Reply:
        """Send one request and read its whole answer."""
        connection = self._take()
        parser = ResponseParser()
        try:
            connection.settimeout(self.timeout_s if timeout_s is None else timeout_s)
            self._send(connection, method, path, headers, body)
            while not parser.done:
                if data := connection.recv(65536):
                    parser.feed(data)
                else:
                    parser.end()
        except BaseException as error:
            connection.close()
            if isinstance(error, OSError | BadReply):
                raise unreachable(self.origin, error, sent=True) from error
            raise
        if parser.keep_alive:
            self._idle.append(connection)
        else:
            connection.close()
        return Reply(parser.status, parser.headers, bytes(parser.body))

    def events(
        self, path: str, *, headers: Mapping[str, str] | None = None, quiet_s: float | None = None
    ) -> Iterator[Event | Reply]:
        """Follow an event stream until it ends; a refusal comes as the one Reply.

        A stream that says nothing, not even a comment, for `quiet_s` is taken for dead.
        """
        connection = self._connect()
        parser, stream = ResponseParser(), EventParser()
        try:
            connection.settimeout(quiet_s)
            asked = {"Accept": "text/event-stream", **(headers or {})}
            self._send(connection, "GET", path, asked, None)
            while not parser.done:
                if data := connection.recv(65536):
                    parser.feed(data)
                elif parser.has_head and parser.status == 200:
                    return
                else:
                    parser.end()
                if parser.status == 200:
                    yield from stream.feed(parser.take())
            if parser.status != 200:
                yield Reply(parser.status, parser.headers, bytes(parser.body))
        except (OSError, BadReply) as error:
            raise unreachable(self.origin, error, sent=True) from error
        finally:
            connection.close()

    def close(self) -> None:
        while self._idle:
            with suppress(IndexError):
                self._idle.pop().close()

    def _send(
        self,
        connection: socket.socket,
        method: str,
        path: str,
        headers: Mapping[str, str] | None,
        body: bytes | None,
    ) -> None:
        sent = {**self.headers, **(headers or {})}
        path = self.origin.prefix + path
        connection.sendall(
            request_bytes(method, path, host=self.origin.name, headers=sent, body=body)
        )

    def _take(self) -> socket.socket:
        """A kept connection that is still good, or a new one."""
        while self._idle:
            try:
                kept = self._idle.pop()
            except IndexError:
                break
            if not select.select([kept], [], [], 0)[0]:
                return kept
            kept.close()
        return self._connect()

    def _connect(self) -> socket.socket:
        origin = self.origin
        try:
            connection = socket.create_connection((origin.host, origin.port), timeout=CONNECT_S)
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            if origin.tls:
                import ssl

                context = ssl.create_default_context()
                return context.wrap_socket(connection, server_hostname=origin.host)
        except OSError as error:
            raise unreachable(origin, error, sent=False) from error
        return connection


def unreachable(origin: Origin, error: Exception, *, sent: bool) -> Unreachable:
    """The trouble in a sentence; `sent` when the server may have heard the call."""
    if isinstance(error, TimeoutError):
        what = "did not answer in time"
    elif sent:
        what = "ended the connection before it answered"
    else:
        what = f"cannot be reached ({getattr(error, 'strerror', None) or error})"
    trouble = Unreachable(f"the server at {origin.url} {what}")
    trouble.sent = sent
    return trouble
