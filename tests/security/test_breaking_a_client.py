"""An attacker who answers in the place of a server: a client gets an error, never a traceback."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from contextlib import closing, suppress

import pytest

from longhouse.client import http1
from longhouse.client.aio import AsyncRemoteDoor
from longhouse.client.doors import RemoteDoor
from longhouse.client.locate import wire_to
from longhouse.kernel.errors import LonghouseError
from tests.client import conftest as scripts
from tests.client.conftest import Scripted, json_reply, says

scripted = scripts.scripted
Make = Callable[..., Scripted]

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
REPLIES = {
    "no HTTP": b"\x00\xff" * 100 + b"\r\n\r\n",
    "a length that is no number": HEAD + b"content-length: -5\r\n\r\n",
    "a length with a sign": HEAD + b'content-length: +14\r\n\r\n{"result": {}}',
    "a length that only Python reads": HEAD + b'content-length: 1_4\r\n\r\n{"result": {}}',
    "a length of many digits": HEAD + b"content-length: " + b"9" * 5000 + b"\r\n\r\n",
    "a chunk of negative size": HEAD + b"transfer-encoding: chunked\r\n\r\n-5\r\nxxxxx\r\n",
    "a chunk without a size": HEAD + b"transfer-encoding: chunked\r\n\r\nx\r\n",
    "headers without an end": HEAD + b"x: " + b"x" * 70_000,
    "JSON without end": json_reply(b'{"error":' * 50_000),
    "a list": json_reply(b"[]"),
    "a text": json_reply(b'"text"'),
    "neither a result nor an error": json_reply(b"{}"),
    "an error that is a text": json_reply(b'{"error": "no"}'),
    "an error of numbers": json_reply(b'{"error": {"code": 1, "message": [], "hints": 7}}'),
    "actions that are a number": json_reply(b'{"error": {"code": "X"}, "actions": 7}'),
    "half an answer": HEAD + b"content-length: 50\r\n\r\n{",
    "less than was promised": HEAD + b'content-length: 50\r\n\r\n{"result": {}}',
    "a chunk without an end": HEAD + b'transfer-encoding: chunked\r\n\r\n40\r\n{"result": {}}',
}


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_hostile_answer_is_an_error(scripted: Make, reply: bytes) -> None:
    url = scripted(says(reply)).url
    with (
        closing(RemoteDoor(wire_to(url, None), patience_s=0.0)) as door,
        pytest.raises(LonghouseError),
    ):
        door.call("status", {}).result()


@pytest.mark.parametrize("reply", REPLIES.values(), ids=REPLIES)
def test_a_hostile_answer_is_an_error_in_an_event_loop(scripted: Make, reply: bytes) -> None:
    async def ask() -> None:
        door = AsyncRemoteDoor(wire_to(scripted(says(reply)).url, None), patience_s=0.0)
        try:
            (await door.call("status", {})).result()
        finally:
            await door.close()

    with pytest.raises(LonghouseError):
        asyncio.run(ask())


def test_what_is_wrong_beside_an_error_does_not_hide_it(scripted: Make) -> None:
    url = scripted(says(REPLIES["actions that are a number"])).url
    with (
        closing(RemoteDoor(wire_to(url, None), patience_s=0.0)) as door,
        pytest.raises(LonghouseError) as caught,
    ):
        door.call("status", {}).result()
    assert caught.value.code == "X"


@pytest.mark.parametrize("begin", [HEAD + b"x: ", HEAD + b"transfer-encoding: chunked\r\n\r\n"])
def test_a_line_without_an_end_is_hung_up_on(scripted: Make, begin: bytes) -> None:
    """The client must not keep all that a server cares to send."""
    sent = 0

    def go_on(connection: socket.socket, _request: bytes) -> None:
        nonlocal sent
        with suppress(OSError):
            connection.sendall(begin)
            while sent < 512:
                connection.sendall(b"f" * 65536)
                sent += 1

    server = scripted(go_on)
    with (
        closing(RemoteDoor(wire_to(server.url, None), patience_s=0.0)) as door,
        pytest.raises(LonghouseError),
    ):
        door.call("status", {}).result()
    server.hung_up.acquire()
    assert sent < 512


STREAM = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
HOSTILE_EVENTS = pytest.mark.parametrize(
    "event",
    [
        b"data: {",
        b"data: []",
        b'data: {"head": 1}\n\nid: 1\ndata: ["seq"]',
        b"id: x\ndata: {}",
        b"event: hello\ndata: {}",
        b"data: \xff",
    ],
)


@HOSTILE_EVENTS
def test_a_hostile_stream_is_an_error(scripted: Make, event: bytes) -> None:
    url = scripted(says(STREAM + event + b"\n\n")).url
    with (
        closing(RemoteDoor(wire_to(url, None), patience_s=0.0)) as door,
        pytest.raises(LonghouseError),
    ):
        list(door.events(0, streams=(), follow=False, workspace=None))


@HOSTILE_EVENTS
def test_a_hostile_stream_is_an_error_in_an_event_loop(scripted: Make, event: bytes) -> None:
    with pytest.raises(LonghouseError):
        asyncio.run(read_to_the_end(scripted(says(STREAM + event + b"\n\n")).url))


@pytest.mark.parametrize("line", [b"data: " + b"x" * 65_536, b"data: " + b"x" * 65_536 + b"\n"])
@pytest.mark.parametrize("read", ["plainly", "in an event loop"])
def test_an_event_without_an_end_is_hung_up_on(scripted: Make, line: bytes, read: str) -> None:
    """Neither one long line nor lines without end are kept for ever."""
    sent = 0

    def go_on(connection: socket.socket, _request: bytes) -> None:
        nonlocal sent
        with suppress(OSError):
            connection.sendall(STREAM + b'data: {"head": 9}\n\n')
            while sent < 1_024:
                connection.sendall(line)
                sent += 1

    server = scripted(go_on)
    with pytest.raises(LonghouseError):
        read_plainly(server.url) if read == "plainly" else asyncio.run(read_to_the_end(server.url))
    server.hung_up.acquire()
    assert sent < 1_024


def test_an_answer_without_an_end_is_hung_up_on(
    scripted: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(http1, "MAX_BODY", 1 << 20)
    sent = 0

    def go_on(connection: socket.socket, _request: bytes) -> None:
        nonlocal sent
        with suppress(OSError):
            connection.sendall(HEAD + b"\r\n")
            while sent < 512:
                connection.sendall(b"f" * 65_536)
                sent += 1

    server = scripted(go_on)
    with (
        closing(RemoteDoor(wire_to(server.url, None), patience_s=0.0)) as door,
        pytest.raises(LonghouseError),
    ):
        door.call("status", {}).result()
    server.hung_up.acquire()
    assert sent < 512


def read_plainly(url: str) -> None:
    with closing(RemoteDoor(wire_to(url, None), patience_s=0.0)) as door:
        list(door.events(0, streams=(), follow=False, workspace=None))


async def read_to_the_end(url: str) -> None:
    door = AsyncRemoteDoor(wire_to(url, None), patience_s=0.0)
    try:
        async for _ in door.events(0, streams=(), follow=False, workspace=None):
            pass
    finally:
        await door.close()


def test_a_stream_that_ends_before_it_begins_is_not_asked_for_again_for_ever(
    scripted: Make,
) -> None:
    """It promises nine rows and hangs up, each time."""
    promise = says(STREAM + b'data: {"head": 9}\n\n')
    plain, looped = scripted(*[promise] * 50), scripted(*[promise] * 50)
    with (
        closing(RemoteDoor(wire_to(plain.url, None), patience_s=0.0)) as door,
        pytest.raises(LonghouseError, match="closed the event stream early"),
    ):
        list(door.events(0, streams=(), follow=False, workspace=None))
    with pytest.raises(LonghouseError, match="closed the event stream early"):
        asyncio.run(read_to_the_end(looped.url))
    assert len(plain.heard) == len(looped.heard) == 1
