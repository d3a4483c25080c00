"""A tool call answered without the SDK gives the SDK's answer; nothing else is accepted."""

from __future__ import annotations

import copy
import json
import socket
from typing import Any

import httpx2
import pytest

from tests.surfaces.serving import Served

META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
    "io.modelcontextprotocol/clientCapabilities": {},
}
HEADERS = {
    "accept": "application/json, text/event-stream",
    "mcp-protocol-version": "2026-07-28",
    "mcp-method": "tools/call",
    "mcp-name": "status",
}
CALL: dict[str, Any] = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "tools/call",
    "params": {"name": "status", "arguments": {"fmt": "lines"}, "_meta": META},
}


def post(served: Served, body: Any, **headers: str | None) -> httpx2.Response:
    sent = {**HEADERS, **{name.replace("_", "-"): value for name, value in headers.items()}}
    kept = {name: value for name, value in sent.items() if value is not None}
    return served.http.post("/mcp", json=body, headers=kept)


def test_the_answer_is_the_one_of_the_sdk(served: Served) -> None:
    direct = post(served, CALL)
    # An encoded name means the same, and is left to the SDK.
    through_sdk = post(served, CALL, mcp_name="=?base64?c3RhdHVz?=")
    assert direct.status_code == through_sdk.status_code == 200
    assert direct.json() == through_sdk.json()
    assert direct.headers["content-type"] == through_sdk.headers["content-type"]


@pytest.mark.parametrize("name", ["status", "=?base64?c3RhdHVz?="], ids=["direct", "sdk"])
def test_an_answer_leaves_out_what_it_does_not_have_and_status_is_short(
    served: Served, name: str
) -> None:
    answer = post(served, changed("params.arguments", {}), mcp_name=name).json()
    text = answer["result"]["content"][0]["text"]
    assert [key for key, value in json.loads(text).items() if value in (None, [], {})] == []
    assert len(text) <= 900


def changed(path: str, value: Any) -> dict[str, Any]:
    body = copy.deepcopy(CALL)
    *way, last = path.split(".")
    at = body
    for step in way:
        at = at[step]
    at[last] = value
    return body


@pytest.mark.parametrize(
    "body, headers, status, code",
    [
        (CALL, {"mcp_name": "open"}, 400, -32020),
        (CALL, {"mcp_name": None}, 400, -32020),
        (CALL, {"mcp_method": "tools/list"}, 400, -32020),
        (CALL, {"mcp_protocol_version": "2030-01-01"}, 400, -32020),
        (CALL, {"accept": "application/json"}, 406, None),
        (changed("params._meta", {}), {}, 400, -32602),
        (changed("params.arguments", 7), {}, 400, -32602),
        (changed("params.name", 7), {}, 400, None),
        (changed("id", None), {}, 400, -32600),
        ([CALL], {}, 400, -32600),
        ("text", {}, 400, -32600),
    ],
)
def test_what_is_not_exactly_a_call_is_left_to_the_sdk(
    served: Served, body: Any, headers: dict[str, str | None], status: int, code: int | None
) -> None:
    answer = post(served, body, **headers)
    assert answer.status_code == status, answer.text
    if code is not None:
        assert answer.json()["error"]["code"] == code


def test_a_call_may_name_its_workspace_on_this_path_too(served: Served) -> None:
    def workspace(**headers: str) -> str:
        body = changed("params.arguments", {})
        result = post(served, body, **headers).json()["result"]
        found: str = json.loads(result["content"][0]["text"])["result"]["workspace"]
        return found

    assert workspace() == "acme"
    assert workspace(longhouse_workspace="mine") == "mine"
    assert workspace(longhouse_workspace="mine", longhouse_session="s1") == "mine"
    used = changed(
        "params",
        {
            "name": "workspace",
            "arguments": {"op": "use", "args": {"workspace": "ours"}},
            "_meta": META,
        },
    )
    for key, kept in (("s1", True), (None, False)):
        home = {"longhouse_workspace": "mine", "longhouse_session": key}
        answer = post(served, used, mcp_name="workspace", **home).json()["result"]
        assert answer["isError"] is not kept
    assert workspace(longhouse_workspace="mine", longhouse_session="s1") == "ours"


def test_who_acts_may_stand_in_a_header(served: Served) -> None:
    arguments = {
        "op": "call",
        "cmd": "vcs.notes.commit",
        "args": {"content": "x"},
        "workspace": "headers",
    }
    note = changed("params", {"name": "vcs", "arguments": arguments, "_meta": META})
    assert post(served, note, mcp_name="vcs", longhouse_agent_id="ada").status_code == 200
    with served.events("workspace=headers&after=0") as events:
        rows = (event.data for event in events if "seq" in event.data)
        assert next(rows)["actor"] == "ada"


def test_a_body_in_pieces_is_read_whole_and_one_without_an_end_cancels_nothing(
    served: Served,
) -> None:
    host, port = served.url.removeprefix("http://").split(":")
    data = json.dumps(CALL).encode()
    head = [f"{name}: {value}" for name, value in HEADERS.items()]
    head += [
        f"Host: {host}:{port}",
        f"Authorization: Bearer {served.token}",
        f"Content-Length: {len(data)}",
    ]
    text = "\r\n".join(["POST /mcp HTTP/1.1", *head, "", ""]).encode()
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(text + data[:10])
        connection.sendall(data[10:])
        assert b" 200 " in connection.recv(65536)
    with socket.create_connection((host, int(port)), timeout=60) as connection:
        connection.sendall(text + data[:10])
    assert post(served, CALL).status_code == 200
