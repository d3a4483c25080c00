"""A real server in its own process, and a scripted one that sends exactly the given bytes."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from longhouse.client import launch, locate
from longhouse.config import Settings, load


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Settings]:
    """The settings of a store whose server is running."""
    root = tmp_path_factory.mktemp("served")
    settings = load({"dir": str(root / ".longhouse"), "workspace": "acme"}, environ={}, cwd=root)
    up(settings)
    yield settings
    down(settings)


def up(settings: Settings) -> launch.RunningServer:
    arguments = ["--dir", str(settings.dir), "--workspace", settings.workspace, "--port", "0"]
    return launch.start(settings, arguments)


def down(settings: Settings, *, force: bool = False) -> None:
    running = locate.recorded(settings.dir)
    if running is not None:
        assert launch.stop(running, force=force)


Script = Callable[[socket.socket, bytes], None]


class Scripted:
    """Accepts connections one at a time and hands each to the next script."""

    def __init__(self, *scripts: Script) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.heard: list[bytes] = []
        self.hung_up = threading.Semaphore(0)
        self._thread = threading.Thread(target=self._serve, args=(scripts,), daemon=True)
        self._thread.start()

    def _serve(self, scripts: tuple[Script, ...]) -> None:
        for script in scripts:
            try:
                connection, _ = self._listener.accept()
            except OSError:  # closed before every script ran
                return
            with connection:
                request = read_request(connection)
                self.heard.append(request)
                script(connection, request)
            self.hung_up.release()

    def close(self) -> None:
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # wakes the thread in accept
        self._listener.close()
        self._thread.join(60)


def read_request(connection: socket.socket) -> bytes:
    data = b""
    while b"\r\n\r\n" not in data:
        data += connection.recv(65536) or b"\r\n\r\n"
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (int(line.split(b":")[1]) for line in head.split(b"\r\n") if b"Content-Length" in line), 0
    )
    while len(body) < length:
        body += connection.recv(65536)
    return head + b"\r\n\r\n" + body


def says(*parts: bytes) -> Script:
    """A script that sends these bytes and closes the connection."""

    def script(connection: socket.socket, _request: bytes) -> None:
        for part in parts:
            connection.sendall(part)

    return script


def json_reply(body: bytes, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}"
    return head.encode() + b"\r\n\r\n" + body


@pytest.fixture
def scripted() -> Iterator[Callable[..., Scripted]]:
    made: list[Scripted] = []

    def make(*scripts: Script) -> Scripted:
        made.append(Scripted(*scripts))
        return made[-1]

    yield make
    for one in made:
        one.close()


@pytest.fixture
def store(tmp_path: Path) -> Settings:
    return load(
        {"dir": str(tmp_path / ".longhouse"), "workspace": "acme"}, environ={}, cwd=tmp_path
    )
