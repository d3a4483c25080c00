"""The HTTP parser: however the bytes are split, the result is the same."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from longhouse.client.http1 import (
    BadReply,
    EventParser,
    ResponseParser,
    ServerSentEvent,
    request_bytes,
)

BODY = b'{"ok":true}'
BY_LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: 11\r\n\r\n" + BODY
CHUNKED = (
    b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
    b"5;x=y\r\n" + BODY[:5] + b"\r\n6\r\n" + BODY[5:] + b"\r\n0\r\nTrailer: x\r\n\r\n"
)
CONTINUED = b"HTTP/1.1 100 Continue\r\n\r\n" + BY_LENGTH


def pieces(data: bytes, cuts: list[int]) -> list[bytes]:
    edges = [0, *sorted(cut % (len(data) + 1) for cut in cuts), len(data)]
    return [data[a:b] for a, b in pairwise(edges)]


@given(st.sampled_from([BY_LENGTH, CHUNKED, CONTINUED]), st.lists(st.integers(0, 10_000)))
def test_a_response_is_read_however_it_is_cut_into_pieces(data: bytes, cuts: list[int]) -> None:
    parser = ResponseParser()
    for piece in pieces(data, cuts):
        parser.feed(piece)
    assert (parser.done, parser.status, bytes(parser.body)) == (True, 200, BODY)
    assert parser.keep_alive


def test_a_body_without_a_length_ends_with_the_connection() -> None:
    parser = ResponseParser()
    parser.feed(b"HTTP/1.1 200 OK\r\n\r\nabc")
    assert not parser.done
    parser.end()
    assert (parser.done, parser.keep_alive, bytes(parser.body)) == (True, False, b"abc")


@pytest.mark.parametrize("data", [b"", b"HTTP/1.1 200 OK\r\n", BY_LENGTH[:-1], CHUNKED[:-4]])
def test_an_answer_that_breaks_off_is_never_taken_for_a_whole_one(data: bytes) -> None:
    parser = ResponseParser()
    parser.feed(data)
    assert not parser.done
    with pytest.raises(BadReply):
        parser.end()


@pytest.mark.parametrize(
    "data",
    [
        b"SSH-2.0-OpenSSH_9\r\n\r\n",
        b"HTTP/1.1 abc\r\n\r\n",
        b"x" * 70_000,
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nnope\r\n",
    ],
)
def test_what_is_not_http_is_refused_without_reading_on(data: bytes) -> None:
    with pytest.raises(BadReply):
        ResponseParser().feed(data)


def test_a_header_can_not_carry_a_second_line() -> None:
    with pytest.raises(ValueError, match="invalid characters"):
        request_bytes("GET", "/", host="h", headers={"Longhouse-Workspace": "a\r\nX: y"})


STREAM = (
    b': hello\nretry: 100\n\nid: 7\nevent: jobs\ndata: {"a":\ndata: 1}\n\nid: 8\r\ndata: x\r\n\r\n'
)


@given(st.lists(st.integers(0, 10_000)))
def test_events_are_read_however_the_stream_is_cut(cuts: list[int]) -> None:
    parser = EventParser()
    found = [event for piece in pieces(STREAM, cuts) for event in parser.feed(piece)]
    assert found == [
        ServerSentEvent("7", "jobs", '{"a":\n1}'),
        ServerSentEvent("8", "message", "x"),
    ]
