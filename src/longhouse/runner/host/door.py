"""The host's socket: one JSON request per line, one answer per line, for this user only.

A connection that sent `watch` gets a line whenever a task's journal has grown. The host does not
wait for a visitor that does not read: whatever it misses is in the journals.
"""

from __future__ import annotations

import json
import os
import selectors
import socket
import struct
from collections.abc import Callable
from contextlib import suppress
from typing import Any

__all__ = ["SOCKET", "HostDoor"]

SOCKET = "host.sock"
MOST_BYTES = 8 << 20
_UNREAD = 1 << 20

Answer = Callable[[dict[str, Any]], dict[str, Any]]


class _Visitor:
    def __init__(self, connection: socket.socket) -> None:
        self.connection = connection
        self.heard = bytearray()
        self.unsaid = bytearray()
        self.watches = False


class HostDoor:
    """Listens in the current folder."""

    def __init__(self, ready: selectors.BaseSelector, answer: Answer) -> None:
        self._ready = ready
        self._answer = answer
        self._visitors: dict[socket.socket, _Visitor] = {}
        with suppress(FileNotFoundError):
            os.unlink(SOCKET)  # noqa: PTH108
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(SOCKET)
        os.chmod(SOCKET, 0o600)  # noqa: PTH101
        self._socket.listen(16)
        self._socket.setblocking(False)
        ready.register(self._socket, selectors.EVENT_READ, self._come_in)

    @property
    def is_visited(self) -> bool:
        return bool(self._visitors)

    def push(self, name: str) -> None:
        """Notify watchers that a task's journal has grown."""
        for visitor in [one for one in self._visitors.values() if one.watches]:
            self._say(visitor, {"grown": name})

    def close(self) -> None:
        for connection in (*self._visitors, self._socket):
            connection.close()
        with suppress(FileNotFoundError):
            os.unlink(SOCKET)  # noqa: PTH108

    def _come_in(self, _listening: Any) -> None:
        with suppress(BlockingIOError, ConnectionError):
            connection, _ = self._socket.accept()
            if _user_of(connection) != os.geteuid():
                connection.close()
                return
            connection.setblocking(False)
            self._visitors[connection] = _Visitor(connection)
            self._ready.register(connection, selectors.EVENT_READ, self._hear)

    def _hear(self, connection: socket.socket) -> None:
        visitor = self._visitors[connection]
        self._flush(visitor)
        try:
            data = connection.recv(1 << 16)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        visitor.heard += data
        if not data or len(visitor.heard) > MOST_BYTES:
            self._leave(visitor)
            return
        *lines, rest = visitor.heard.split(b"\n")
        visitor.heard = bytearray(rest)
        for line in lines:
            try:
                asked = json.loads(line)
            except ValueError:
                asked = None
            if not isinstance(asked, dict):
                self._say(visitor, {"error": "a request must be one JSON object on one line"})
            elif asked.get("do") == "watch":
                visitor.watches = True
                self._say(visitor, {})
            else:
                self._say(visitor, self._answer(asked))

    def _say(self, visitor: _Visitor, what: dict[str, Any]) -> None:
        visitor.unsaid += json.dumps(what, separators=(",", ":")).encode() + b"\n"
        if len(visitor.unsaid) > _UNREAD:
            self._leave(visitor)
        else:
            self._flush(visitor)

    def _flush(self, visitor: _Visitor) -> None:
        if visitor.connection not in self._visitors:
            return
        try:
            while visitor.unsaid:
                del visitor.unsaid[: visitor.connection.send(visitor.unsaid)]
        except BlockingIOError:
            pass
        except OSError:
            self._leave(visitor)
            return
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if visitor.unsaid else 0)
        self._ready.modify(visitor.connection, wanted, self._hear)

    def _leave(self, visitor: _Visitor) -> None:
        if self._visitors.pop(visitor.connection, None):
            self._ready.unregister(visitor.connection)
            visitor.connection.close()


def _user_of(connection: socket.socket) -> int:
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    user: int = struct.unpack("3i", peer)[1]
    return user
