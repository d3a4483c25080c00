"""The wire: kept connections, and what a caller learns when they fail."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable
from contextlib import closing, suppress

import pytest

from longhouse.client.doors import RemoteDoor
from longhouse.client.locate import find, process_start, wire_to
from longhouse.client.replies import error_of, outcome_of
from longhouse.client.wire import Wire, origin_of
from longhouse.config import Settings
from longhouse.kernel.errors import (
    Conflict,
    InvalidInput,
    LonghouseError,
    OutcomeUnknown,
    TooManyRequests,
    Unreachable,
)
from tests.client.conftest import Scripted, json_reply, read_request, says

Make = Callable[..., Scripted]
OK = json_reply(b'{"success":true,"result":{"n":1},"error":null}')


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


def test_one_connection_serves_many_requests(scripted: Make) -> None:
    def twice(connection: socket.socket, _request: bytes) -> None:
        connection.sendall(OK)
        assert b"GET /second" in read_request(connection)
        connection.sendall(OK)

    wire = wire_to(scripted(twice).url, "lh_secret")
    assert wire.request("GET", "/first").status == 200
    assert wire.request("GET", "/second").status == 200
    wire.close()


def test_a_kept_connection_that_the_server_closed_is_not_used_again(scripted: Make) -> None:
    server = scripted(says(OK), says(OK))
    wire = wire_to(server.url, None)
    assert wire.request("GET", "/").status == 200
    assert server.hung_up.acquire(timeout=60)
    assert wire.request("GET", "/").status == 200
    assert len(server.heard) == 2
    wire.close()


def test_a_server_that_only_pings_does_not_hold_a_caller_with_a_limit(scripted: Make) -> None:
    """A call that is lost in the server goes on pinging for ever."""

    def pings(connection: socket.socket, _request: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n")
        with suppress(OSError):
            while True:
                connection.sendall(b": ping\r\n\r\n")
                time.sleep(0.01)

    with pytest.raises(Unreachable, match="did not answer in time") as caught:
        wire_to(scripted(pings).url, None).request("POST", "/mcp", timeout_s=0.2)
    assert caught.value.sent


def test_a_server_that_is_not_there_has_heard_nothing() -> None:
    with pytest.raises(Unreachable) as caught:
        wire_to(f"http://127.0.0.1:{closed_port()}", None).request("GET", "/")
    assert not caught.value.sent


def test_a_server_that_hangs_up_may_have_heard(scripted: Make) -> None:
    with pytest.raises(Unreachable) as caught:
        wire_to(scripted(says(b"")).url, None).request("GET", "/")
    assert caught.value.sent


def test_a_server_that_says_nothing_is_given_up_in_time(scripted: Make) -> None:
    def silent(connection: socket.socket, _request: bytes) -> None:
        connection.recv(1)

    wire = Wire(origin_of(scripted(silent).url), timeout_s=0.05)
    with pytest.raises(Unreachable, match="in time"):
        wire.request("GET", "/")


@pytest.mark.parametrize("url", ["", "ftp://x", "http://", "http://x:y", "http://x:99999"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(InvalidInput):
        origin_of(url)


@pytest.mark.parametrize(
    "cmd, args",
    [("docs.show", {}), ("jobs.create", {"title": "x"}), ("jobs.create", {"idempotency_key": "k"})],
)
def test_a_lost_answer_is_asked_for_again_with_the_same_key(
    scripted: Make, cmd: str, args: dict
) -> None:
    server = scripted(says(b""), says(OK))
    with closing(RemoteDoor(wire_to(server.url, None))) as door:
        assert door.call(cmd, args).result() == {"n": 1}
    assert server.heard[0] == server.heard[1]
    assert (b"idempotency_key" in server.heard[0]) is (cmd == "jobs.create")


def test_a_write_whose_answers_are_all_lost_has_an_unknown_outcome_and_a_key(
    scripted: Make,
) -> None:
    server = scripted(says(b""))
    with (
        closing(RemoteDoor(wire_to(server.url, None), patience_s=0.0)) as door,
        pytest.raises(OutcomeUnknown, match=r"jobs\.create") as caught,
    ):
        door.call("jobs.create", {"title": "x"})
    key = str(caught.value.recovery).partition("idempotency_key=")[2].partition(";")[0]
    assert key
    assert key.encode() in server.heard[0]
    assert caught.value.retryable, "the key makes repeating safe"


def test_a_write_that_never_arrived_has_a_known_outcome() -> None:
    door = RemoteDoor(wire_to(f"http://127.0.0.1:{closed_port()}", None), patience_s=0.0)
    with pytest.raises(Unreachable):
        door.call("jobs.create", {"title": "x"})


BUSY = b"""{"success":false,"error":{"code":"TOO_MANY_REQUESTS","message":"busy"},"actions":[]}"""


def test_a_server_that_is_busy_is_asked_again_when_it_said(scripted: Make) -> None:
    busy = json_reply(BUSY, "429 Too Many Requests")
    server = scripted(says(busy), says(OK))
    with closing(RemoteDoor(wire_to(server.url, None))) as door:
        assert door.call("jobs.create", {"title": "x"}).result() == {"n": 1}
    assert server.heard[0] == server.heard[1]


def test_a_server_that_stays_busy_is_a_refusal_with_its_code(scripted: Make) -> None:
    busy = json_reply(BUSY, "429 Too Many Requests")
    with closing(RemoteDoor(wire_to(scripted(says(busy)).url, None), patience_s=0.0)) as door:
        error = door.call("jobs.create", {"title": "x"}).error
    assert isinstance(error, TooManyRequests)


def test_patience_ends() -> None:
    door = RemoteDoor(wire_to(f"http://127.0.0.1:{closed_port()}", None), patience_s=0.1)
    with pytest.raises(Unreachable):
        door.call("status", {})


def test_workspace_and_agent_travel_with_the_call(scripted: Make) -> None:
    server = scripted(says(OK))
    wire = wire_to(server.url, "lh_t")
    with closing(RemoteDoor(wire, workspace="acme", agent_id="ada")) as door:
        door.call("status", {})
    (heard,) = server.heard
    assert heard.startswith(b"POST /call/status HTTP/1.1\r\n")
    assert b"Longhouse-Workspace: acme\r\n" in heard
    assert b"Authorization: Bearer lh_t\r\n" in heard
    assert heard.endswith(b'{"agent_id":"ada"}')


def test_what_no_header_may_hold_is_refused_before_it_is_sent() -> None:
    with pytest.raises(InvalidInput, match="workspace"):
        RemoteDoor(wire_to("http://127.0.0.1:1", None), workspace="a\r\nX: y").call("status", {})
    with pytest.raises(InvalidInput, match="token"):
        wire_to("http://127.0.0.1:1", "a\nb")


def test_an_error_comes_back_as_its_own_class() -> None:
    error = error_of({"code": "CONFLICT", "message": "no", "recovery": "wait"})
    assert (type(error), error.message, error.recovery) == (Conflict, "no", "wait")


@pytest.mark.parametrize(
    "status, kind", [("409 Conflict", Conflict), ("400 Bad Request", InvalidInput)]
)
def test_an_error_of_an_unknown_code_keeps_its_code_and_its_kind(
    scripted: Make, status: str, kind: type[LonghouseError]
) -> None:
    body = b'{"success":false,"error":{"code":"BRAND_NEW","message":"no"},"actions":[]}'
    with closing(wire_to(scripted(says(json_reply(body, status))).url, None)) as wire:
        error = outcome_of(wire.request("POST", "/call/x")).error
    assert isinstance(error, kind)
    assert (error.code, error.exit_code) == ("BRAND_NEW", kind.exit_code)


def test_another_program_on_the_port_is_not_taken_for_a_server(scripted: Make) -> None:
    page = b"HTTP/1.1 404 Not Found\r\ncontent-type: text/html\r\ncontent-length: 5\r\n\r\n<html"
    with closing(wire_to(scripted(says(page)).url, None)) as wire:
        reply = wire.request("GET", "/")
    with pytest.raises(Unreachable, match="not a Longhouse server"):
        outcome_of(reply)


def test_the_token_is_kept_from_a_stranger_on_a_recorded_port(
    scripted: Make, store: Settings
) -> None:
    import fcntl
    import json
    import os

    server = scripted(says(json_reply(b'{"instance":"ours","proof":"made up"}')))
    store.dir.mkdir()
    (store.dir / "token").write_text("lh_secret")
    record = {
        "pid": os.getpid(),
        "process_start": process_start(os.getpid()),
        "url": server.url,
        "version": "0",
        "started_at_ms": 1,
        "instance": "ours",
        "key": "of ours",
    }
    (store.dir / "server.json").write_text(json.dumps(record))
    with (store.dir / "server.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        assert find(store.dir) is None
    assert b"lh_secret" not in server.heard[0]


@pytest.mark.parametrize("note", ["", "{", "[]", '{"pid": "x"}', '{"pid": 1}'])
def test_a_torn_record_means_that_no_server_is_known(store: Settings, note: str) -> None:
    store.dir.mkdir()
    (store.dir / "server.json").write_text(note)
    assert find(store.dir) is None
