"""Any arguments of any of the ten tools get an answer, over every transport.

The examples are the same in every run, so every failure is reproducible.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from longhouse.house import registry
from longhouse.kernel.registry import PORTALS
from tests.surfaces.bridge.kit import HELLO, META, Bridge, end
from tests.surfaces.mcp.test_lines import Stream
from tests.surfaces.serving import Served

Ask = Callable[[bytes], dict[str, Any]]

COMMANDS = sorted(c.cmd for c in registry() if c.cmd != "jobs.runner.start")
OPS = sorted({c.op for c in registry() if c.op and c.cmd != "jobs.runner.start"})
FIELDS = sorted({field for command in registry() for field in command.fields()})
TEXT = st.text(st.characters(codec=None), max_size=12)
"""Lone surrogates, too."""
JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | TEXT,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXT, inner, max_size=3),
    max_leaves=6,
)


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


ARGS = st.dictionaries(st.sampled_from(FIELDS) | TEXT, JSON, max_size=3)
ARGUMENTS = st.fixed_dictionaries(
    {},
    optional={
        "op": st.sampled_from([*OPS, "call"]) | JSON,
        "cmd": st.sampled_from(COMMANDS) | JSON,
        "args": ARGS | JSON | st.integers(20, 300).map(nested),
        "workspace": st.just("fuzz") | JSON,
        "fmt": st.sampled_from(["json", "lines"]) | JSON,
        "budget_profile": JSON,
        "view": JSON,
    },
)
TOOLS = st.sampled_from(PORTALS) | TEXT
bounded = settings(
    max_examples=60,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def line(tool: str, arguments: Any, **more: Any) -> bytes:
    params = {"name": tool, "arguments": arguments, **more}
    message = {"jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": params}
    return json.dumps(message).encode()


def check(answer: dict[str, Any]) -> None:
    """A readable result or a protocol error, never an internal error."""
    assert answer["jsonrpc"] == "2.0"
    if "error" in answer:
        assert answer["error"]["code"] in (-32700, -32600, -32602), answer
        return
    assert answer["id"] == 7
    text = answer["result"]["content"][0]["text"]
    failed = answer["result"]["isError"]
    if text.startswith("{"):
        envelope = json.loads(text)
        assert envelope["success"] is not failed
        assert (envelope.get("error") or {}).get("code") != "INTERNAL_ERROR", text
    else:
        assert text.startswith("ERROR: ") is failed
        assert "INTERNAL_ERROR" not in text


@pytest.fixture(scope="module")
def over_bridge(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    store = tmp_path_factory.mktemp("fuzzed") / ".longhouse"
    client = Bridge(store)
    client.ask("initialize", **HELLO)

    def ask(data: bytes) -> dict[str, Any]:
        client.raw(data)
        return client.read()

    yield ask
    assert end(client, store) == 0


@pytest.fixture(scope="module")
def over_stream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    client = Stream(tmp_path_factory.mktemp("fuzzed"))
    client.greet()

    def ask(data: bytes) -> dict[str, Any]:
        client.write_bytes(data)
        return client.read()

    yield ask
    client.close()


@bounded
@given(tool=TOOLS, arguments=ARGUMENTS)
def test_any_tool_call_over_the_bridge_is_answered(
    over_bridge: Ask, tool: str, arguments: Any
) -> None:
    check(over_bridge(line(tool, arguments)))


@bounded
@given(tool=TOOLS, arguments=ARGUMENTS)
def test_any_tool_call_to_the_embedded_server_is_answered(
    over_stream: Ask, tool: str, arguments: Any
) -> None:
    check(over_stream(line(tool, arguments)))


@bounded
@given(tool=TOOLS, arguments=ARGUMENTS)
def test_any_tool_call_over_http_is_answered(served: Served, tool: str, arguments: Any) -> None:
    headers = {
        "accept": "application/json, text/event-stream",
        "content-type": "application/json",
        "mcp-protocol-version": "2026-07-28",
        "mcp-method": "tools/call",
        "mcp-name": tool if tool in PORTALS else "status",
    }
    answer = served.http.post("/mcp", content=line(tool, arguments, _meta=META), headers=headers)
    assert answer.status_code < 500, answer.text
    body = answer.json()
    if "jsonrpc" in body:
        if "error" in body:
            assert body["error"]["code"] <= -32000
        else:
            check(body)
    else:
        assert body["error"]["code"] == "INVALID_INPUT"
