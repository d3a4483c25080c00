"""A server that starts on a full disk serves what can be read, says so, and recovers."""

from __future__ import annotations

import resource
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from longhouse.client.locate import Running
from longhouse.config import load
from longhouse.house import House
from longhouse.surfaces.presence import Presence, local_token
from tests.surfaces.serving import Served

SOON_S = 30.0
RUNNING = Running(
    folder=Path(),
    pid=1,
    process_start=1,
    url="http://127.0.0.1:1",
    version="0",
    started_at_ms=0,
    instance="",
)


@contextmanager
def no_room() -> Iterator[None]:
    """Processes that are started inside cannot make any file longer."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


class Cramped(Served):
    """A server that finds no room when it starts."""

    def __init__(self, base: Path) -> None:
        with no_room():
            super().__init__(base)

    def make_room(self) -> None:
        _, hard = resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(self.process.pid, resource.RLIMIT_FSIZE, (hard, hard))


def test_a_server_started_on_a_full_disk_answers_reads_and_recovers(tmp_path: Path) -> None:
    folder = tmp_path / ".longhouse"
    flags = {"dir": str(folder), "workspace": "acme"}
    with House(load(flags, environ={}, cwd=tmp_path)) as house:
        assert house.call("vcs.notes.commit", {"content": "before"}).success
        local_token(folder)
        server = Cramped(tmp_path)
        try:
            assert server("open", id="notes@1")
            refused = server.post("vcs.notes.commit", content="x").json()["error"]
            assert refused["retryable"], refused
            assert "nothing was written" in refused["message"]
            assert server.http.get("/readyz").json() == {"ready": True, "read_only": True}
            assert not list(folder.glob(".server.json*"))
            server.make_room()
            deadline = time.monotonic() + SOON_S
            while not (folder / "server.json").exists():
                assert time.monotonic() < deadline
                time.sleep(0.05)
            assert server("vcs.notes.commit", content="after")
            assert server.http.get("/readyz").json() == {"ready": True, "read_only": False}
        finally:
            code = server.stop()
    assert code == 0


def test_a_server_without_a_token_yet_writes_it_when_there_is_room(tmp_path: Path) -> None:
    folder = tmp_path / ".longhouse"
    with House(load({"dir": str(folder)}, environ={}, cwd=tmp_path)):
        with no_room():
            token = local_token(folder)
        assert token.startswith("lh_")
        assert not list(folder.glob(".token*"))
        assert not (folder / "token").exists()
        with Presence(folder, alone=True) as presence:
            presence.announce(RUNNING, token)
            assert (folder / "token").read_text().strip() == token
            assert not list(folder.glob(".server*"))
