"""An attacker who wants an agent to lose its tools: with lines that no parser takes for granted."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

from tests.surfaces.bridge.kit import HELLO, Bridge, end
from tests.surfaces.mcp.test_lines import Stream


class Client(Protocol):
    """A client of either server: raw lines in, messages out."""

    def put(self, line: bytes) -> None: ...

    def read(self) -> dict[str, Any]: ...


class OverBridge:
    def __init__(self, client: Bridge) -> None:
        self._client = client
        client.ask("initialize", **HELLO)

    def put(self, line: bytes) -> None:
        self._client.raw(line)

    def read(self) -> dict[str, Any]:
        return self._client.read()


class Embedded:
    def __init__(self, folder: Path, *, greeted: bool) -> None:
        self.stream = Stream(folder)
        if greeted:
            self.stream.greet()

    def put(self, line: bytes) -> None:
        self.stream.write_bytes(line)

    def read(self) -> dict[str, Any]:
        return self.stream.read()


@pytest.fixture(scope="module", params=["bridge", "embedded", "embedded, not greeted"])
def client(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Client]:
    """One process for all attacks: that it answers the next one shows that it lives."""
    folder = tmp_path_factory.mktemp("attacked")
    if request.param == "bridge":
        bridge = Bridge(folder / ".longhouse")
        yield OverBridge(bridge)
        assert end(bridge, folder / ".longhouse") == 0
        return
    embedded = Embedded(folder, greeted=request.param == "embedded")
    yield embedded
    embedded.stream.close()


def call(arguments: bytes, id_: bytes = b"7", name: bytes = b'"status"') -> bytes:
    return (
        b'{"jsonrpc":"2.0","id":%s,"method":"tools/call","params":{"name":%s,"arguments":%s}}'
        % (id_, name, arguments)
    )


DEEP = b'{"view":' + b"[" * 200 + b"]" * 200 + b"}"
REFUSED = {
    "a lone surrogate in a value": call(b'{"view":"\\ud800"}'),
    "a lone surrogate in a name": call(b'{"\\udfff":1}'),
    "a lone surrogate as the tool": call(b"{}", name=b'"\\ud800"'),
    "200 levels of lists": call(DEEP),
}
ERRORS = {
    "a lone surrogate as the id": (call(b"{}", id_=b'"\\ud800"'), None),
    "a lone surrogate as the method": (
        b'{"jsonrpc":"2.0","id":7,"method":"\\ud800","params":{}}',
        7,
    ),
    "bytes that are not UTF-8": (call(b'{"view":"\xed\xa0\x80"}'), None),
    "nesting without end": (b"[" * 100_000, None),
    "an object nested without end": (b'{"a":' * 100_000, None),
    "no number": (call(b'{"limit":NaN}'), None),
    "a number of 5,000 digits": (call(b'{"limit":%s}' % (b"9" * 5000)), None),
    "an id that is a list": (call(b"{}", id_=b"[]"), None),
    "no object": (b"[]", None),
    "neither a method nor an answer": (b'{"jsonrpc":"2.0","id":7}', 7),
    "parameters that are a list": (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":[]}', 7),
    "a method that nobody knows": (b'{"jsonrpc":"2.0","id":7,"method":"no/such"}', 7),
    "a line without end": (b'"' + b"x" * (17 * 1024 * 1024), None),
}


def alive(client: Client) -> bool:
    client.put(b'{"jsonrpc":"2.0","id":"next","method":"ping"}')
    answer = client.read()
    return answer["id"] == "next" and answer["result"] == {}


@pytest.mark.parametrize("what", REFUSED)
def test_a_hostile_tool_call_is_refused_by_its_id(client: Client, what: str) -> None:
    client.put(REFUSED[what])
    answer = client.read()
    assert (answer["id"], answer["result"]["isError"]) == (7, True)
    error = json.loads(answer["result"]["content"][0]["text"])["error"]
    assert error["code"] in ("INVALID_INPUT", "UNKNOWN_TOOL")
    assert error["recovery"]
    assert alive(client)


@pytest.mark.parametrize("what", ERRORS)
def test_a_hostile_line_gets_a_protocol_error(client: Client, what: str) -> None:
    line, id_ = ERRORS[what]
    client.put(line)
    answer = client.read()
    assert answer["id"] == id_
    assert answer["error"]["code"] in (-32700, -32600, -32601, -32602)
    assert ("too long" in answer["error"]["message"]) is (what == "a line without end")
    assert alive(client)
