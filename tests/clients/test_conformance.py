"""The official conformance suite, as far as it needs no tools of its own.

The suite cannot send a token, so a small proxy on loopback adds it and passes all else through.
"""

from __future__ import annotations

import select
import socket
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from socketserver import StreamRequestHandler, ThreadingTCPServer

import pytest

from tests.surfaces.serving import Served
from tools.clients import bin_of

pytestmark = [pytest.mark.clients, pytest.mark.timeout(300)]

SCENARIOS = {
    "2025-11-25": [
        "server-initialize",
        "ping",
        "tools-list",
        "tools-call-simple-text",
        "tools-call-error",
        "server-sse-multiple-streams",
        "resources-list",
        "prompts-list",
        "dns-rebinding-protection",
        "server-session-lifecycle",
    ],
    "2026-07-28": [
        "tools-list",
        "tools-call-simple-text",
        "tools-call-error",
        "server-sse-multiple-streams",
        "resources-list",
        "sep-2164-resource-not-found",
        "prompts-list",
        "caching",
        "dns-rebinding-protection",
        "http-header-validation",
        "input-required-result-missing-input-response",
        "input-required-result-unsupported-methods",
        "input-required-result-ignore-extra-params",
        "input-required-result-validate-input",
    ],
}


@pytest.fixture(scope="module")
def open_door(served: Served) -> Iterator[str]:
    """An address that needs no token: each request gets ours."""
    with Door(served) as door:
        yield f"http://127.0.0.1:{door.server_address[1]}/mcp"


class Door(ThreadingTCPServer):
    """Passes connections on, one request each, with a header more; ends with all its threads."""

    daemon_threads = False

    def __init__(self, served: Served) -> None:
        host, port = served.url.removeprefix("http://").split(":")
        self.target = (host, int(port))
        self.added = [f"Authorization: Bearer {served.token}", "Connection: close"]
        super().__init__(("127.0.0.1", 0), Passage)
        threading.Thread(target=self.serve_forever, kwargs={"poll_interval": 0.02}).start()

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()


class Passage(StreamRequestHandler):
    rbufsize = 0  # nothing is read ahead: after the head both sides are plain sockets
    server: Door

    def handle(self) -> None:
        head = []
        while (line := self.rfile.readline().decode("latin-1").strip()) != "":
            if not line.lower().startswith("connection:"):
                head.append(line)
        if not head:
            return
        with socket.create_connection(self.server.target) as server:
            text = "\r\n".join([*head, *self.server.added, "", ""])
            server.sendall(text.encode("latin-1"))
            while True:
                ready = select.select([self.connection, server], [], [], 60)[0]
                try:
                    data = [(one, one.recv(65_536)) for one in ready]
                    for one, chunk in data:
                        (server if one is self.connection else self.connection).sendall(chunk)
                except OSError:
                    return
                if not ready or any(not chunk for _, chunk in data):
                    return


@pytest.mark.parametrize(
    "revision, scenario",
    [(revision, name) for revision, names in SCENARIOS.items() for name in names],
)
def test_the_official_suite_finds_nothing_wrong(
    open_door: str, tmp_path: Path, revision: str, scenario: str
) -> None:
    ran = subprocess.run(
        [
            *bin_of("conformance"),
            "server",
            "--url",
            open_door,
            "--scenario",
            scenario,
            "--spec-version",
            revision,
        ],
        capture_output=True,
        text=True,
        timeout=60,
        cwd=tmp_path,
    )
    assert ran.returncode == 0, ran.stdout[-3000:] + ran.stderr[-1000:]
