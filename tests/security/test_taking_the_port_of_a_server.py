"""The attacker waits for the port of a server to fall free, and wants the tokens of its clients.

Our own programs ask for a proof before they send anything; that of another vendor cannot, so the
person is told where it still connects to.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread

import pytest

from longhouse.client import locate
from tests.runner.processes import until
from tests.security.clone import REQUESTS, Clone

SDK = """
import longhouse
from longhouse.api import GetStatus
with longhouse.connect({how}) as lh:
    print(lh(GetStatus()).workspace)
"""


class Squatter:
    """Whoever took the port: answers everything with 200 and keeps what it was sent."""

    def __init__(self, port: int) -> None:
        self.heard: list[bytes] = []
        self.port = port
        self._socket = socket.create_server(("127.0.0.1", port))
        Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            with connection:
                connection.settimeout(5)
                self.heard.append(connection.recv(65_536))
                connection.sendall(
                    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 15\r\n"
                    b'\r\n{"proof": "00"}'
                )

    def close(self) -> None:
        self._socket.shutdown(socket.SHUT_RDWR)
        self._socket.close()


def is_free(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) != 0


@pytest.fixture
def clone(tmp_path: Path) -> Iterator[Clone]:
    made = Clone(tmp_path, {"a": ""})
    yield made
    made.down()


@pytest.fixture
def squatter(clone: Clone) -> Iterator[Squatter]:
    """On the port of a server that was killed, whose record is still there."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert clone.run("up", "--port", str(port)).code == 0
    running = locate.recorded(clone.store)
    assert running
    os.kill(running.pid, signal.SIGKILL)
    until(lambda: is_free(port), "the port falls free")
    made = Squatter(port)
    yield made
    made.close()


def use_every_client(clone: Clone) -> None:
    assert clone.run("status").code == 0
    assert clone.run("note", "x").code == 0
    for how in ("", "embedded=False"):
        ran = clone.run("-P", "-c", SDK.format(how=how), program=(sys.executable,))
        assert ran.code == 0 or "no server is running" in ran.err, ran
    assert clone.run("runner", "--once", "--dry-run", "--attach").code in (0, 5, 7)
    assert '"id":2' in clone.run("mcp", stdin=REQUESTS).out.replace(" ", "")


def test_no_client_of_ours_sends_anything_to_whoever_took_the_port(
    clone: Clone, squatter: Squatter
) -> None:
    token = (clone.store / "token").read_text().strip()
    use_every_client(clone)  # the bridge starts a server, which has to move
    assert clone.run("up").code == 0
    use_every_client(clone)
    assert not any(token.encode() in said or b"lh_" in said for said in squatter.heard)
    assert not any(b"authorization" in said.lower() for said in squatter.heard)


def test_a_move_is_said_aloud_with_the_entries_that_lead_to_the_old_place(
    clone: Clone, squatter: Squatter
) -> None:
    old = f"http://127.0.0.1:{squatter.port}/mcp"
    entry = {"type": "http", "url": old, "headers": {"Authorization": "Bearer lh_secret"}}
    (clone.root / ".mcp.json").write_text(json.dumps({"mcpServers": {"longhouse": entry}}))
    codex = clone.home / ".codex" / "config.toml"
    codex.parent.mkdir()
    codex.write_text(f'[mcp_servers.longhouse]\nurl = "{old}"\n')
    for _ in range(2):  # also by the next `up`, which finds the server
        said = " ".join(clone.run("up").err.split())
        assert f"another program listens on port {squatter.port}" in said
        assert str(codex) in said
        assert ".mcp.json still tells Claude Code" in said
        assert "lh_secret" not in said
    doctor = " ".join(clone.run("doctor").out.split())
    assert "it had to move" in doctor
    assert doctor.count(f"to send its token to {old}") == 2
    moved = locate.recorded(clone.store)
    assert moved
    assert moved.url != old.removesuffix("/mcp")
    for path in (clone.root / ".mcp.json", codex):
        path.write_text(path.read_text().replace(old, f"{moved.url}/mcp"))
    clone.run("down")
    assert "moved" not in clone.run("up").err
    assert "to send its token" not in clone.run("doctor").out


def test_a_server_that_moves_on_request_or_not_at_all_is_not_reported(clone: Clone) -> None:
    assert clone.run("up", "--port", "0").err.count("moved") == 0
    clone.run("down")
    assert "moved" not in clone.run("up").err
    clone.run("down")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    assert "moved" not in clone.run("up", "--port", str(port)).err
