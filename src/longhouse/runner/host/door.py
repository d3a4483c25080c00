"""The host's socket: one JSON request per line, one answer per line, for this user only.

A connection that sent `watch` gets a line whenever a task's journal has grown. The host does not
wait for a visitor that does not read: whatever it misses is in the journals. A visitor may leave at
any time, also while it is being answered; whatever goes wrong with one closes that one only.
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

from longhouse.runner.host.trouble import tell_defect

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
        self.is_here = True


class HostDoor:
    """Listens in the current folder."""

    def __init__(self, ready: selectors.BaseSelector, answer: Answer) -> None:
        self._ready = ready
        self._answer = answer
        self._visitors: set[_Visitor] = set()
        with suppress(FileNotFoundError):
            os.unlink(SOCKET)  # noqa: PTH108
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self._socket.bind(SOCKET)
        os.chmod(SOCKET, 0o600)  # noqa: PTH101
        self._socket.listen(16)
        self._socket.setblocking(False)
        self._spare = os.open(os.devnull, os.O_RDONLY)
        ready.register(self._socket, selectors.EVENT_READ, self._come_in)

    @property
    def is_visited(self) -> bool:
        return bool(self._visitors)

    def push(self, name: str) -> None:
        """Notify watchers that a task's journal has grown."""
        for visitor in [one for one in self._visitors if one.watches]:
            try:
                self._say(visitor, {"grown": name})
            except Exception:
                tell_defect("in notifying a visitor")
                self._leave(visitor)

    def close(self) -> None:
        for visitor in list(self._visitors):
            self._leave(visitor)
        self._ready.unregister(self._socket)
        self._socket.close()
        os.close(self._spare)
        with suppress(FileNotFoundError):
            os.unlink(SOCKET)  # noqa: PTH108

    def _come_in(self) -> None:
        try:
            connection, _ = self._socket.accept()
        except (BlockingIOError, ConnectionError):
            return
        except OSError:  # no file is left: turn this one away, or it would wait for ever
            self._turn_away()
            return
        if _user_of(connection) != os.geteuid():
            connection.close()
            return
        connection.setblocking(False)
        visitor = _Visitor(connection)
        self._visitors.add(visitor)
        self._ready.register(connection, selectors.EVENT_READ, lambda: self._serve(visitor))

    def _turn_away(self) -> None:
        os.close(self._spare)
        with suppress(OSError):
            self._socket.accept()[0].close()
        self._spare = os.open(os.devnull, os.O_RDONLY)

    def _serve(self, visitor: _Visitor) -> None:
        try:
            self._flush(visitor)
            self._hear(visitor)
        except Exception:
            tell_defect("in serving a visitor")
            self._leave(visitor)

    def _hear(self, visitor: _Visitor) -> None:
        if not visitor.is_here:
            return
        try:
            data = visitor.connection.recv(1 << 16)
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
            except (ValueError, RecursionError):
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
        if not visitor.is_here:
            return
        try:
            while visitor.unsaid:
                del visitor.unsaid[: visitor.connection.send(visitor.unsaid)]
        except BlockingIOError:
            pass
        except OSError:
            self._leave(visitor)
            return
        key = self._ready.get_key(visitor.connection)
        wanted = selectors.EVENT_READ | (selectors.EVENT_WRITE if visitor.unsaid else 0)
        if key.events != wanted:
            self._ready.modify(visitor.connection, wanted, key.data)

    def _leave(self, visitor: _Visitor) -> None:
        if visitor.is_here:
            visitor.is_here = False
            self._visitors.discard(visitor)
            self._ready.unregister(visitor.connection)
            visitor.connection.close()


def _user_of(connection: socket.socket) -> int:
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    user: int = struct.unpack("3i", peer)[1]
    return user
