"""The attacker wants a token sent to a server of theirs, or a process of ours ended."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from longhouse.client import launch, locate
from longhouse.client.aio import AsyncRemoteDoor
from longhouse.client.greeting import proof_of
from longhouse.client.wire import origin_of
from longhouse.kernel.errors import Unreachable
from longhouse.kernel.private_files import open_private, write_private
from tests.security.clone import Clone
from tests.surfaces.serving import Served

INSTANCE = "0123456789abcdef"


class Listener(ThreadingHTTPServer):
    """A server of the attacker's, which claims to be ours and remembers what it was told."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.heard: list[str] = []
        self.says: dict[str, Any] = {"instance": INSTANCE, "success": True, "result": {}}
        Thread(target=self.serve_forever, daemon=True).start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Listener

    def do_GET(self) -> None:
        self.server.heard.append(f"{self.path} {self.headers.get('authorization')}")
        body = json.dumps(self.server.says).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_POST = do_GET  # noqa: N815

    def log_message(self, *_: Any) -> None:
        pass


@pytest.fixture
def listener() -> Iterator[Listener]:
    made = Listener()
    yield made
    made.shutdown()
    made.server_close()


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


@pytest.fixture
def clone(tmp_path: Path) -> Clone:
    made = Clone(tmp_path, {"a": ""})
    assert made.run("note", "The store is there.").code == 0
    write_private(made.store / "token", b"lh_" + b"0" * 64)
    return made


def forge(folder: Path, **changes: Any) -> None:
    note = {
        "pid": 2,
        "process_start": 1,
        "url": "http://127.0.0.1:1",
        "port": 1,
        "version": "0",
        "started_at_ms": 1,
        "instance": INSTANCE,
    }
    write_private(folder / "server.json", json.dumps({**note, **changes}).encode())


@pytest.mark.parametrize(
    "url",
    [
        "http://evil.example:80",
        "http://127.0.0.1.evil.example:80",
        "http://127.0.0.1:80@evil.example:80",
        "http://evil.example:80#127.0.0.1:80",
        "https://127.0.0.1:80",
        "http://0.0.0.0:80",
        "http://127.0.0.1:80/elsewhere",
        "http://127.0.0.1:80\n",
        "http://127.0.0.\u0661:80",
        "file:///etc/passwd",
        "",
    ],
)
def test_only_loopback_is_believed(tmp_path: Path, url: str) -> None:
    forge(tmp_path, url=url)
    assert locate.recorded(tmp_path) is None


@pytest.mark.parametrize("pid", [1, 0, -1, -2, 2**31, 2**70, "x", None, 1e400, [], True])
def test_a_pid_that_stands_for_others_is_not_believed(tmp_path: Path, pid: Any) -> None:
    forge(tmp_path, pid=pid)
    assert locate.recorded(tmp_path) is None


@pytest.mark.parametrize("text", ["", "[]", "{}", "1", "[" * 100_000, '{"pid": {}}', "[[1, 2, 3]]"])
def test_a_note_that_is_none_is_no_note(tmp_path: Path, text: str) -> None:
    write_private(tmp_path / "server.json", text.encode())
    assert locate.recorded(tmp_path) is None


@pytest.mark.parametrize("knows_start", [False, True])
def test_no_process_is_signalled_and_no_token_is_sent_on_the_word_of_a_note(
    clone: Clone, listener: Listener, victim: subprocess.Popen[bytes], knows_start: bool
) -> None:
    start = locate.process_start(victim.pid) if knows_start else 1
    forge(clone.store, pid=victim.pid, process_start=start, url=listener.url)
    write_private(clone.store / "server.lock", b"")
    assert clone.run("status").code == 0
    for words in (("down",), ("down", "--force")):
        assert "no server is running" in clone.run(*words).out
    assert victim.poll() is None
    assert listener.heard == []


def test_a_server_that_is_found_is_the_one_that_holds_the_lock(tmp_path: Path) -> None:
    served = Served(tmp_path)
    running = launch.alive(served.dir)
    assert running
    assert locate.serves(running)
    forge(served.dir, pid=os.getpid(), process_start=running.process_start, url=running.url)
    forged = locate.recorded(served.dir)
    assert forged
    assert not locate.serves(forged)
    assert served.stop() == 0
    assert not locate.serves(running)
    forge(served.dir, pid=os.getpid(), process_start=locate.process_start(os.getpid()))
    alive_without_lock = locate.recorded(served.dir)
    assert alive_without_lock
    assert not locate.serves(alive_without_lock)


def test_a_server_for_others_is_still_sought_on_loopback_alone(tmp_path: Path) -> None:
    """127.0.0.2 stands for an address that other machines reach: not all machines have one."""
    with pytest.raises(AssertionError, match=r"refusing to listen on 127\.0\.0\.2 without"):
        Served(tmp_path, how="serve-for-others", host="127.0.0.2")
    with socket.create_server(("127.0.0.1", 0)) as taken:  # there, but not on the other address
        (tmp_path / ".longhouse" / "server.port").write_text(str(taken.getsockname()[1]))
        (tmp_path / ".longhouse" / "server.port").chmod(0o600)
        served = Served(tmp_path, how="serve-for-others", host="127.0.0.2", token="t" * 40)
    try:
        running = launch.alive(served.dir)
        assert running
        host, port = running.url.removeprefix("http://").split(":")
        assert host == "127.0.0.1"
        with socket.create_connection(("127.0.0.2", int(port)), 5):
            pass
    finally:
        served.stop()


def test_whoever_takes_the_port_of_a_server_is_sent_no_token(
    tmp_path: Path, listener: Listener
) -> None:
    """The attacker knows what the server once answered, and repeats it; the lock is still held."""
    served = Served(tmp_path)
    try:
        note = json.loads((served.dir / "server.json").read_text())
        said = served.http.get("/healthz?nonce=0123456789abcdef").json()
        assert said["proof"] == proof_of(note["key"], "0123456789abcdef")
        listener.says = {**said, "success": True, "result": {}}
        forge(served.dir, **{**note, "url": listener.url})
        assert locate.serves(locate.recorded(served.dir))  # type: ignore[arg-type]
        assert launch.alive(served.dir) is None
        assert all(line.startswith("/healthz?nonce=") for line in listener.heard)
        assert all(line.endswith(" None") for line in listener.heard)
        assert len(set(listener.heard)) == len(listener.heard) > 0
    finally:
        served.stop()


async def test_a_client_that_connects_again_asks_for_the_proof_again(
    tmp_path: Path, listener: Listener
) -> None:
    """A kept client outlives its server: the next connection may lead to anybody."""
    served = Served(tmp_path)
    found = locate.find(served.dir)
    assert found
    _, wire = found
    assert wire.request("POST", "/call/status", body=b"{}").status == 200
    wire.close()
    wire.origin = origin_of(listener.url)
    with pytest.raises(Unreachable, match="another program"):
        wire.request("POST", "/call/status", body=b"{}")
    door = AsyncRemoteDoor(wire, patience_s=0)
    with pytest.raises(Unreachable):
        await door.call("status", {})
    assert served.stop() == 0
    assert [line.split("?")[0] for line in listener.heard] == ["/healthz", "/healthz"]
    assert all(line.endswith(" None") for line in listener.heard)


@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
@pytest.mark.parametrize("name", ["server.out", "server.log", "server.lock", "token"])
def test_what_is_not_a_plain_file_is_not_opened(tmp_path: Path, name: str, kind: str) -> None:
    victim, path = tmp_path / "victim", tmp_path / name
    victim.write_text("precious")
    if kind == "link":
        path.symlink_to(victim)
    elif kind == "pipe":
        os.mkfifo(path)
    else:
        path.mkdir()
    for more in (0, os.O_TRUNC):
        with pytest.raises(OSError):  # noqa: PT011  (which one depends on the kind)
            os.close(open_private(path, os.O_RDWR | os.O_CREAT | more))
    assert victim.read_text() == "precious"


def test_a_file_that_others_could_read_is_closed_to_them(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("secret")
    (tmp_path / "token").chmod(0o644)
    assert locate.token_of(tmp_path) == "secret"
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
