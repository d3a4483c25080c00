"""Messages on the pipe: both eras, lost answers, streams, and invalid input."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest

from longhouse.client.catalog import CATALOG
from longhouse.house import registry
from longhouse.surfaces.bridge.messages import ANSWERS, Answers
from tests.surfaces.bridge.kit import HELLO, META, Bridge, Handler, Puppet, Script, text_result
from tools.bridge_answers import bridge_answers, client_catalog

Start = Callable[..., Bridge]
Make = Callable[[Script], Puppet]


def answer(handler: Handler, message: dict[str, Any]) -> None:
    handler.reply(200, text_result(message["id"]))


def test_a_client_of_the_handshake_era_is_spoken_for_in_the_newest_protocol(
    bridge: Start, puppet: Make
) -> None:
    server, client = puppet(answer), bridge("--agent-id", "ada")
    client.ask("initialize", **HELLO)
    got = client.ask(
        "tools/call", name="longhouse/status", arguments={}, _meta={"progressToken": 7}
    )
    assert got["result"] == {
        "content": [{"type": "text", "text": '{"success":true}'}],
        "isError": False,
    }
    ((headers, message),) = server.heard
    sent = {name.lower(): value for name, value in headers.items()}
    assert sent["authorization"] == "Bearer lh_of_the_client"
    assert sent["longhouse-workspace"] == "acme"
    assert sent["longhouse-agent-id"] == "ada"
    assert len(sent["longhouse-session"]) == 32
    assert (sent["mcp-protocol-version"], sent["mcp-method"], sent["mcp-name"]) == (
        "2026-07-28",
        "tools/call",
        "longhouse/status",
    )
    meta = message["params"]["_meta"]
    assert meta["progressToken"] == 7
    assert meta["io.modelcontextprotocol/clientInfo"] == HELLO["clientInfo"]
    assert meta["io.modelcontextprotocol/clientCapabilities"] == {"roots": {}}


def test_a_stream_that_ends_without_the_answer_is_a_lost_answer(
    bridge: Start, puppet: Make
) -> None:
    def begin(handler: Handler, message: dict[str, Any]) -> None:
        if len(server.heard) > 1:
            answer(handler, message)
            return
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("content-length", "10")
        handler.end_headers()
        handler.wfile.write(b": ping    ")

    server = puppet(begin)
    assert not bridge().call("status")[1]
    assert len(server.heard) == 2


@pytest.mark.parametrize(
    "asked, given",
    [("2024-11-05", "2024-11-05"), ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")],
)
def test_the_handshake_settles_on_a_version(bridge: Start, asked: str, given: str) -> None:
    client = bridge()
    result = client.ask("initialize", **{**HELLO, "protocolVersion": asked})["result"]
    assert result["protocolVersion"] == given
    assert client.ask("ping")["result"] == {}
    assert client.ask("prompts/list")["result"] == {"prompts": []}
    client.close()


def test_progress_reaches_the_client_before_the_answer(bridge: Start, puppet: Make) -> None:
    def stream(handler: Handler, message: dict[str, Any]) -> None:
        handler.send_response(200)
        handler.send_header("content-type", "text/event-stream")
        handler.send_header("connection", "close")
        handler.end_headers()
        note = {"progressToken": 1, "progress": 0.5}
        told = {"jsonrpc": "2.0", "method": "notifications/progress", "params": note}
        for part in (told, text_result(message["id"])):
            data = json.dumps(part)
            handler.wfile.write(f": ping\n\nevent: message\ndata: {data}\n\n".encode())
            handler.wfile.flush()
        handler.close_connection = True

    puppet(stream)
    client = bridge()
    for params in ({}, {"_meta": META}):
        sent = client.send("tools/call", name="status", arguments={}, **params)
        assert client.read()["params"] == {"progressToken": 1, "progress": 0.5}
        assert client.read()["id"] == sent


WRITE = {"op": "create", "args": {"title": "T", "prompt": "P"}}
KEYED = {"op": "create", "args": {**WRITE["args"], "idempotency_key": "k"}}  # type: ignore[dict-item]


@pytest.mark.parametrize("modern", [False, True])
@pytest.mark.parametrize(
    "tool, arguments, key",
    [
        ("status", {}, None),
        ("docs", {"op": "show", "args": {}}, None),
        ("docs", {"op": "call", "cmd": "docs.show", "args": {}}, None),
        ("jobs", KEYED, "k"),
        ("jobs", {**WRITE, "idempotency_key": "k"}, "k"),
        ("jobs", WRITE, "auto-"),
        ("jobs", {"op": "call", "cmd": "jobs.create", "args": {}}, "auto-"),
    ],
)
def test_a_lost_answer_is_asked_for_again_and_a_write_carries_a_key(
    bridge: Start,
    puppet: Make,
    tool: str,
    arguments: dict[str, Any],
    key: str | None,
    modern: bool,
) -> None:
    def lose_the_first(handler: Handler, message: dict[str, Any]) -> None:
        if len(server.heard) == 1:
            handler.hang_up()
        else:
            answer(handler, message)

    server = puppet(lose_the_first)
    assert not bridge(modern=modern).call(tool, **arguments)[1]
    (_, first), (_, second) = server.heard
    assert first == second
    sent = first["params"]["arguments"]
    found = sent.get("idempotency_key") or sent.get("args", {}).get("idempotency_key")
    assert (found or "").startswith(key or "")
    assert bool(found) is bool(key)
    assert {**sent, "idempotency_key": 0} == {**arguments, "idempotency_key": 0}


def test_a_write_whose_answers_are_all_lost_has_an_unknown_outcome(
    bridge: Start, puppet: Make
) -> None:
    def lose_writes(handler: Handler, message: dict[str, Any]) -> None:
        if message["params"]["name"] == "jobs":
            handler.hang_up()
        else:
            answer(handler, message)

    server = puppet(lose_writes)
    client = bridge()
    envelope, failed = client.call("jobs", **WRITE)
    error = envelope["error"]
    assert (failed, error["code"], error["retryable"]) == (True, "OUTCOME_UNKNOWN", True)
    assert server.heard[0][1]["params"]["arguments"]["idempotency_key"] in error["recovery"]
    (look,) = envelope["actions"]
    assert not client.call(look["tool"], **look["args"])[1]


def test_a_call_that_nobody_knows_is_sent_once_without_a_key(bridge: Start, puppet: Make) -> None:
    """A newer server may know it: it may be a write, and if it is a read it accepts no key."""
    server = puppet(lambda handler, _message: handler.hang_up())
    envelope, _ = bridge().call("jobs", op="nobody-knows")
    assert envelope["error"]["code"] == "OUTCOME_UNKNOWN"
    assert not envelope["error"]["retryable"]
    assert "idempotency_key" in envelope["error"]["recovery"]
    ((_, message),) = server.heard
    assert message["params"]["arguments"] == {"op": "nobody-knows"}


def test_a_server_that_loses_every_answer_is_given_up(bridge: Start, puppet: Make) -> None:
    server = puppet(lambda handler, _message: handler.hang_up())
    client = bridge()
    envelope, failed = client.call("status")
    assert (failed, envelope["error"]["code"]) == (True, "UNREACHABLE")
    assert len(server.heard) == 5


def test_a_refusal_at_the_door_is_an_answer_with_its_recovery(bridge: Start, puppet: Make) -> None:
    error = {"code": "UNAUTHENTICATED", "message": "no", "recovery": "get a token"}
    puppet(lambda handler, _message: handler.reply(401, {"success": False, "error": error}))
    client = bridge()
    envelope, failed = client.call("status")
    assert (failed, envelope["error"]["recovery"]) == (True, "get a token")
    told = client.ask("completion/complete", ref={})["error"]
    assert (told["code"], told["data"]["code"]) == (-32603, "UNAUTHENTICATED")


def test_a_protocol_error_is_passed_on_as_it_is(bridge: Start, puppet: Make) -> None:
    def unknown(handler: Handler, message: dict[str, Any]) -> None:
        body = {"code": -32601, "message": "Method not found", "data": message["method"]}
        handler.reply(404, {"jsonrpc": "2.0", "id": message["id"], "error": body})

    puppet(unknown)
    for modern in (False, True):
        assert bridge(modern=modern).ask("no/such")["error"]["code"] == -32601


@pytest.mark.parametrize(
    "line, code",
    [
        (b"{", -32700),
        (b"\xff", -32700),
        (b"[" * 100_000, -32700),
        (b"[]", -32600),
        (b"7", -32600),
        (b'{"id": 1, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": null, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": true, "method": "ping"}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": 7}', -32600),
        (b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": [1]}', -32602),
        (
            b'{"jsonrpc": "2.0", "id": 1, "method": "ping", "params": '
            b'{"_meta": {"io.modelcontextprotocol/protocolVersion": 7}}}',
            -32602,
        ),
    ],
)
def test_what_is_no_message_is_told_so_and_the_next_one_is_answered(
    bridge: Start, line: bytes, code: int
) -> None:
    client = bridge()
    client.raw(line)
    assert client.read()["error"]["code"] == code
    assert client.ask("ping")["result"] == {}


def test_what_needs_no_answer_gets_none(bridge: Start) -> None:
    client = bridge()
    client.raw(b"")
    client.raw(b'{"jsonrpc": "2.0", "id": 9, "result": {}}')
    client.notify("notifications/initialized")
    client.notify("notifications/cancelled", requestId=77)
    assert client.ask("ping")["result"] == {}
    assert client.close() == 0


def test_what_is_answered_here_is_what_the_server_answers() -> None:
    assert ANSWERS.read_text() == bridge_answers(registry()), "run: python -m tools.commands"
    assert CATALOG.read_text() == client_catalog(registry()), "run: python -m tools.commands"


def test_only_what_is_known_is_answered_here() -> None:
    answers = Answers()
    assert answers.here("tools/list", {"_meta": META}, "2026-07-28")
    assert answers.here("tools/list", {"_meta": META}, "2030-01-01") is None
    assert answers.here("tools/list", {"_meta": {}}, "2026-07-28") is None
    assert answers.here("tools/call", {}, None) is None
