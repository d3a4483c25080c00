"""A real server process for tests, and short ways to talk to it over real HTTP."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import httpx2
import pytest

ROOT = Path(__file__).parents[2]
PATIENCE_S = 90.0
"""How long a process may take to start or to end: only one that hangs takes longer."""
FRESH = httpx2.Limits(keepalive_expiry=1.0)
"""A connection is not used again long before the server closes it for being idle: it might do so
just when a request is on its way."""


class Event(NamedTuple):
    id: int
    name: str
    data: dict[str, Any]


class Served:
    """One server process on one store."""

    def __init__(
        self, base: Path, *, how: str = "serve", store: Path | None = None, **flags: Any
    ) -> None:
        self.dir = store or base / ".longhouse"
        self.flags = {
            "dir": str(self.dir),
            "workspace": "acme",
            "runner_autostart": False,
            **flags,
        }
        self.process = launch(how, self.flags)
        self.sign_in_url = self.process.stdout.readline().strip()  # type: ignore[union-attr]
        assert self.sign_in_url, self.process.communicate()[1]
        self.url = self.sign_in_url.partition("/#")[0]
        self.token = (self.dir / "token").read_text().strip()
        self.http = self.client(self.token)

    def client(self, token: str | None) -> httpx2.Client:
        headers = {"authorization": f"Bearer {token}"} if token else {}
        return httpx2.Client(base_url=self.url, headers=headers, timeout=30, limits=FRESH)

    def post(self, cmd: str, /, **args: Any) -> httpx2.Response:
        return self.http.post(f"/call/{cmd}", json=args)

    def __call__(self, cmd: str, /, **args: Any) -> dict[str, Any]:
        """The result; a refusal fails the test with its message."""
        envelope = self.post(cmd, **args).json()
        assert envelope["success"], envelope["error"]
        result: dict[str, Any] = envelope["result"]
        return result

    def new_token(self, role: str) -> tuple[str, str]:
        """A token of that role and its id."""
        made = self("system.token.create", role=role, name=f"a {role}")
        return made["token"], made["id"]

    @contextmanager
    def events(self, query: str, **headers: str) -> Iterator[Iterator[Event]]:
        with self.http.stream("GET", f"/events?{query}", headers=headers) as answer:
            assert answer.status_code == 200, answer.read()
            yield parse(answer.iter_raw())

    def metric(self, line: str) -> float:
        for row in self.http.get("/metrics").text.splitlines():
            if row.startswith(line + " "):
                return float(row.rpartition(" ")[2])
        return 0.0

    def kill(self) -> None:
        self.process.kill()
        self._wait()

    def stop(self, timeout_s: float = PATIENCE_S) -> int:
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        return self._wait(timeout_s)

    def _wait(self, timeout_s: float = PATIENCE_S) -> int:
        self.http.close()
        self.process.communicate(timeout=timeout_s)
        return self.process.returncode


def launch(how: str, flags: dict[str, Any]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-m", "tests.surfaces.launch", how, json.dumps(flags)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}"},
    )


def parse(chunks: Iterator[bytes]) -> Iterator[Event]:
    """Server-sent events; a comment or an id alone is no event."""
    rest = b""
    for chunk in chunks:
        *blocks, rest = (rest + chunk).split(b"\n\n")
        for block in blocks:
            lines = [line for line in block.decode().split("\n") if not line.startswith(":")]
            fields = dict(line.split(": ", 1) for line in lines)
            if "data" in fields:
                yield Event(int(fields["id"]), fields["event"], json.loads(fields["data"]))


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """One server that the tests of a module share; each writes in a workspace of its own."""
    server = Served(tmp_path_factory.mktemp("served"))
    yield server
    server.stop()


@pytest.fixture
def serve(tmp_path: Path) -> Iterator[Callable[..., Served]]:
    """Starts servers on this test's own store."""
    started: list[Served] = []

    def start(**flags: Any) -> Served:
        started.append(Served(tmp_path, **flags))
        return started[-1]

    yield start
    for server in started:
        server.stop()
