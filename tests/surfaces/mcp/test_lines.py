"""On a stream, a tool call answered without the SDK gives the SDK's answer; the rest goes to it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.surfaces.serving import ROOT

HELLO = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "test", "version": "1"},
}

PATIENCE_S = 60.0


@contextmanager
def ended_after(process: subprocess.Popen[str], seconds: float) -> Iterator[None]:
    """Kill a process that never answers, so that its reader sees end of input."""
    watch = threading.Timer(seconds, process.kill)
    watch.start()
    try:
        yield
    finally:
        watch.cancel()


class Stream:
    """A client of an embedded server, message by message."""

    def __init__(self, folder: Path) -> None:
        flags = json.dumps({"dir": str(folder / ".longhouse"), "workspace": "acme"})
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.surfaces.launch", "mcp", flags],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def send(self, method: str, params: Any = None, id_: Any = None) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method}
        if id_ is not None:
            message["id"] = id_
        if params is not None:
            message["params"] = params
        self.write(json.dumps(message))

    def write(self, line: str) -> None:
        assert self.process.stdin
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()

    def write_bytes(self, line: bytes) -> None:
        assert self.process.stdin
        self.process.stdin.buffer.write(line + b"\n")  # type: ignore[attr-defined]
        self.process.stdin.flush()

    def read(self) -> dict[str, Any]:
        """The next message; a server that is silent for too long is killed."""
        assert self.process.stdout
        with ended_after(self.process, PATIENCE_S):
            line = self.process.stdout.readline()
        assert line, "the server ended, or said nothing for too long"
        message: dict[str, Any] = json.loads(line)
        return message

    def ask(self, method: str, params: Any = None, id_: Any = 1) -> dict[str, Any]:
        self.send(method, params, id_)
        return self.read()

    def greet(self) -> None:
        self.ask("initialize", HELLO, "hello")
        self.send("notifications/initialized")

    def close(self) -> None:
        for end in (self.process.stdin, self.process.stdout):
            assert end
            end.close()
        assert self.process.wait(timeout=20) == 0


@pytest.fixture(scope="module")
def stream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stream]:
    """A client that has completed the handshake, shared by this module's tests."""
    client = Stream(tmp_path_factory.mktemp("stream"))
    client.greet()
    yield client
    client.close()


@pytest.fixture
def fresh(tmp_path: Path) -> Iterator[Stream]:
    """A separate client that has sent nothing yet."""
    client = Stream(tmp_path)
    yield client
    client.close()


def timeless(message: dict[str, Any]) -> dict[str, Any]:
    for part in message["result"]["content"]:
        if part["text"].startswith("{"):
            part["text"] = json.loads(part["text"])
            part["text"].pop("timestamp")
    return message


@pytest.mark.parametrize(
    "params",
    [
        {"name": "status", "arguments": {"fmt": "lines"}},
        {"name": "status"},
        {"name": "longhouse.status", "arguments": {}},
        {"name": "nope", "arguments": {}},
        {"name": "jobs", "arguments": {"op": "open", "args": {"job": "JOB-9é"}}},
    ],
)
def test_the_answer_is_the_one_of_the_sdk(stream: Stream, params: dict[str, Any]) -> None:
    direct = stream.ask("tools/call", params, 7)
    through_sdk = stream.ask("tools/call", {**params, "_meta": {}}, 7)
    assert timeless(direct) == timeless(through_sdk)


@pytest.mark.parametrize("meta", [{}, {"_meta": {}}], ids=["direct", "sdk"])
def test_an_answer_leaves_out_what_it_does_not_have(stream: Stream, meta: dict[str, Any]) -> None:
    answer = stream.ask("tools/call", {"name": "status", **meta})
    said = json.loads(answer["result"]["content"][0]["text"])
    assert [key for key, value in said.items() if value in (None, [], {})] == []


def test_before_the_handshake_the_sdk_answers(fresh: Stream) -> None:
    assert fresh.ask("tools/call", {"name": "status"})["error"]
    fresh.greet()
    assert fresh.ask("tools/call", {"name": "status"}, "text")["id"] == "text"


@pytest.mark.parametrize(
    "line",
    [
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":7}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"status","arguments":7}}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
        '{"jsonrpc":"2.0","id":1,"method":"tools/nope","params":{"name":"status"}}',
    ],
)
def test_what_is_not_exactly_a_call_is_left_to_the_sdk(stream: Stream, line: str) -> None:
    stream.write(line)
    assert stream.read()["error"]["code"] in (-32602, -32601)


def test_a_line_that_is_too_long_is_refused_and_passed_over(stream: Stream) -> None:
    note = {"op": "call", "cmd": "vcs.notes.commit", "args": {"content": "x" * (17 << 20)}}
    stream.send("tools/call", {"name": "vcs", "arguments": note}, "long")
    refused = stream.read()
    assert (refused["id"], refused["error"]["code"]) == (None, -32600)
    assert stream.ask("tools/call", {"name": "status"}, "next")["id"] == "next"


def test_a_call_that_is_canceled_is_not_answered(stream: Stream) -> None:
    wait = {"op": "call", "cmd": "system.probe.wait", "args": {"seq": 99}}
    stream.send("tools/call", {"name": "system", "arguments": wait}, "slow")
    stream.send("notifications/cancelled", {"requestId": "slow"})
    stream.send("notifications/cancelled", {"requestId": "unknown"})
    assert stream.ask("tools/call", {"name": "status"}, "next")["id"] == "next"


@pytest.mark.parametrize(
    "line",
    [
        b'{"method":"notifications/cancelled","params":{"requestId":"\xff"}}',
        b'{"method":"notifications/cancelled","x":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    ],
)
def test_a_cancellation_that_cannot_be_read_ends_nothing(fresh: Stream, line: bytes) -> None:
    fresh.greet()
    fresh.write_bytes(line)
    assert fresh.read()["error"]["code"] == -32700
    assert not fresh.ask("tools/call", {"name": "status"}, "next")["result"]["isError"]


def test_what_was_asked_before_the_end_is_answered(fresh: Stream) -> None:
    fresh.greet()
    note = {"op": "call", "cmd": "vcs.notes.commit", "args": {"content": "kept"}}
    for number in range(20):
        fresh.send("tools/call", {"name": "vcs", "arguments": note}, number)
    assert fresh.process.stdin
    fresh.process.stdin.close()
    answers = [fresh.read() for _ in range(20)]
    assert {answer["id"] for answer in answers} == set(range(20))
    assert not any(answer["result"]["isError"] for answer in answers)
