"""A server of the attacker's in the place of the store's own, which answers whatever it likes."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

from longhouse.client.greeting import proof_of
from longhouse.client.locate import process_start
from longhouse.kernel.private_files import write_private

KEY = "the key of the note that was forged"


class HostileServer(ThreadingHTTPServer):
    """Proves that it is the recorded server; every other request gets `body`."""

    body = b""
    kind = "application/json"
    status = 200

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.url = f"http://127.0.0.1:{self.server_port}"

    def says(self, body: bytes, kind: str = "application/json", status: int = 200) -> None:
        self.body, self.kind, self.status = body, kind, status


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    wbufsize = -1  # an answer leaves in one piece: two would wait for each other's receipt
    server: HostileServer

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("content-length", 0)))
        if self.path.startswith("/healthz"):
            proof = proof_of(KEY, self.path.rpartition("=")[2])
            self._send(200, "application/json", json.dumps({"proof": proof}).encode())
        else:
            self._send(self.server.status, self.server.kind, self.server.body)

    do_POST = do_GET  # noqa: N815  (a name that the library looks up)

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        pass


@contextmanager
def hostile_server_of(folder: Path) -> Iterator[HostileServer]:
    """Such a server, recorded in the folder as if it were the store's."""
    folder.mkdir(mode=0o700, exist_ok=True)
    with HostileServer() as server, (folder / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        note = {
            "pid": os.getpid(),
            "process_start": process_start(os.getpid()),
            "url": server.url,
            "version": "0",
            "started_at_ms": 1,
            "instance": "evil",
            "key": KEY,
        }
        write_private(folder / "server.json", json.dumps(note).encode())
        Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield server
        finally:
            server.shutdown()
            (folder / "server.json").unlink()
