"""A wire to PostgreSQL that a test can cut, silence, or make lose what the server answers."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress
from typing import Self
from urllib.parse import parse_qs, urlsplit


class Wire:
    """Forwards a port of loopback to the server's socket, as long as the test lets it."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._server = f"{parse_qs(parts.query)['host'][0]}/.s.PGSQL.5432"
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"postgresql://postgres@127.0.0.1:{self._listener.getsockname()[1]}{parts.path}"
        self._flows = threading.Event()
        self._flows.set()
        self._refuses = False
        self._loses: set[socket.socket] = set()
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        threading.Thread(target=self._accept, daemon=True).start()

    def silence(self) -> None:
        """From now on nothing arrives, either way; whoever connects gets through to nobody."""
        self._flows.clear()

    def speak(self) -> None:
        """Everything works again; what was under way is gone."""
        self.cut()
        self._refuses = False
        self._flows.set()

    def cut(self) -> None:
        """Break every connection."""
        pairs, self._pairs = self._pairs, []
        for pair in pairs:
            _close(*pair)

    def refuse(self) -> None:
        """Break every connection, and let nobody connect."""
        self._refuses = True
        self.cut()

    def lose_answers(self, *, then_refuse: bool = False) -> None:
        """What is sent on today's connections arrives; the answer to it does not."""
        self._loses = {client for client, _ in self._pairs}
        self._refuses = then_refuse

    def close(self) -> None:
        self._listener.close()
        self._flows.set()
        self.cut()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self._refuses:
                    client.close()
                    continue
                server = socket.socket(socket.AF_UNIX)
                server.connect(self._server)
                self._pairs.append((client, server))
                for source, target in ((client, server), (server, client)):
                    flow = threading.Thread(target=self._flow, args=(source, target), daemon=True)
                    flow.start()

    def _flow(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                self._flows.wait()
                if target in self._loses:
                    break
                target.sendall(data)
        _close(source, target)


def _close(*ends: socket.socket) -> None:
    for end in ends:
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)
        end.close()
