"""HTTP/1.1 without I/O: formats requests, and parses responses and server-sent events.

Nothing here touches a socket, so blocking and asynchronous clients share it. It handles what a
Longhouse server sends: one response at a time, by length, chunked or until close. Any malformed
reply raises BadReply.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

__all__ = ["BadReply", "EventParser", "ResponseParser", "ServerSentEvent", "request_bytes"]

MAX_HEAD = 64 * 1024
MAX_BODY = 256 * 1024 * 1024
MAX_EVENT = 16 * 1024 * 1024


class BadReply(ValueError):
    """The reply is not valid HTTP."""


def request_bytes(
    method: str, path: str, *, host: str, headers: Mapping[str, str], body: bytes | None = None
) -> bytes:
    """One whole request; a header value cannot inject another line."""
    lines = [f"{method} {path} HTTP/1.1", f"Host: {host}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if body is not None:
        lines.append(f"Content-Length: {len(body)}")
    for line in lines:
        if not line.isprintable():
            raise ValueError(f"invalid characters in an HTTP header: {line!r}")
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


class ResponseParser:
    """Parses one response incrementally; `body` and `done` show its progress."""

    __slots__ = (
        "_buffer",
        "_left",
        "_state",
        "body",
        "done",
        "headers",
        "keep_alive",
        "status",
    )

    def __init__(self) -> None:
        self.status = 0
        self.headers: dict[str, str] = {}
        self.body = bytearray()
        self.done = False
        self.keep_alive = True
        self._state = "head"
        self._left = 0
        self._buffer = bytearray()

    @property
    def has_head(self) -> bool:
        return self._state != "head"

    def feed(self, data: bytes) -> None:
        self._buffer += data
        while not self.done and self._step():
            pass

    def end(self) -> None:
        """Handle end of input, which only a body without a length may end with."""
        if self._state != "until-close":
            raise BadReply("the connection was closed in the middle of an answer")
        self.keep_alive = False
        self.done = True

    def take(self) -> bytes:
        """Remove and return the body so far, for endless responses."""
        data = bytes(self.body)
        self.body.clear()
        return data

    def _step(self) -> bool:
        """Parse the next part; False if more bytes are needed."""
        if self._state == "head":
            return self._head()
        if self._state == "until-close":
            self.body += self._buffer
            self._buffer.clear()
            self._check_size()
            return False
        if self._state in ("length", "chunk"):
            taken = self._buffer[: self._left]
            del self._buffer[: len(taken)]
            self.body += taken
            self._left -= len(taken)
            self._check_size()
            if self._left:
                return False
            if self._state == "length":
                self.done = True
            self._state = "chunk-end"
            return True
        line = self._line()
        if line is None:
            return False
        if self._state == "chunk-end":
            self._state = "chunk-size"
        elif self._state == "chunk-size":
            self._left = _number(line.partition(b";")[0].strip().decode("latin-1"), 16)
            self._state = "chunk" if self._left else "trailers"
        elif not line:
            self.done = True
        return True

    def _check_size(self) -> None:
        if len(self.body) > MAX_BODY:
            raise BadReply(f"the answer is longer than {MAX_BODY} bytes")

    def _line(self) -> bytes | None:
        end = self._buffer.find(b"\r\n")
        if end < 0:
            if len(self._buffer) > MAX_HEAD:
                raise BadReply("a line is too long")
            return None
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 2]
        return line

    def _head(self) -> bool:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            if len(self._buffer) > MAX_HEAD:
                raise BadReply("the headers are too long")
            return False
        first, *rest = bytes(self._buffer[:end]).decode("latin-1").split("\r\n")
        del self._buffer[: end + 4]
        version, _, status = first.partition(" ")
        if not version.startswith("HTTP/1.") or not status[:3].isdigit():
            raise BadReply("not an HTTP answer")
        if status.startswith("1"):
            return True
        self.status = int(status[:3])
        for line in rest:
            name, _, value = line.partition(":")
            self.headers[name.strip().lower()] = value.strip()
        self.keep_alive = (
            self.headers.get("connection", "").lower() != "close" and version == "HTTP/1.1"
        )
        length = self.headers.get("content-length")
        if "chunked" in self.headers.get("transfer-encoding", "").lower():
            self._state = "chunk-size"
        elif length is not None or self.status in (204, 304):
            self._state, self._left = "length", _number(length or "0", 10)
        else:
            self._state = "until-close"
        return True


def _number(text: str, base: int) -> int:
    if not text.isalnum() or not text.isascii() or len(text) > 16:
        raise BadReply("a length is not a number")
    try:
        return int(text, base)
    except ValueError:
        raise BadReply("a length is not a number") from None


class ServerSentEvent(NamedTuple):
    """One server-sent event."""

    id: str | None
    event: str
    data: str


class EventParser:
    """Parses the body of an event stream incrementally into events, dropping comments."""

    __slots__ = ("_data", "_event", "_id", "_rest", "_size", "_waiting")

    def __init__(self) -> None:
        self._id: str | None = None
        self._event = ""
        self._data: list[str] = []
        self._size = 0
        """The bytes in the lines of the incomplete event."""
        self._rest: list[bytes] = []
        self._waiting = 0
        """The bytes in the incomplete line."""

    def feed(self, data: bytes) -> Iterable[ServerSentEvent]:
        self._rest.append(data)
        self._waiting += len(data)
        if self._size + self._waiting > MAX_EVENT:
            raise BadReply("an event is too long")
        if b"\n" not in data:
            return []
        *lines, rest = b"".join(self._rest).split(b"\n")
        self._rest, self._waiting = [rest], len(rest)
        found = []
        for raw in lines:
            line = raw.removesuffix(b"\r").decode("utf-8", "replace")
            if not line:
                if self._data:
                    found.append(
                        ServerSentEvent(self._id, self._event or "message", "\n".join(self._data))
                    )
                self._event, self._data, self._size = "", [], 0
                continue
            self._size += len(raw)
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "data":
                self._data.append(value)
            elif name == "id":
                self._id = value
            elif name == "event":
                self._event = value
        return found
