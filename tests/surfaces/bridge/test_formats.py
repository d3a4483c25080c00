"""A client may have its reads in lines; what it writes, and what says a format, is as it was."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.surfaces.bridge.kit import HELLO, Bridge


@pytest.mark.parametrize("how", [(), ("--embedded",)])
@pytest.mark.parametrize("plain", [True, False])
def test_reads_are_answered_in_lines_if_the_client_prefers_them(
    bridge: Callable[..., Bridge], how: tuple[str, ...], plain: bool
) -> None:
    client = bridge("--format", "lines", *how)
    client.ask("initialize", **HELLO)
    client.notify("notifications/initialized")
    meta = {} if plain else {"_meta": {"progressToken": 1}}

    def text(tool: str, **arguments: object) -> str:
        result = client.ask("tools/call", name=tool, arguments=arguments, **meta)["result"]
        said: str = result["content"][0]["text"]
        return said

    assert client.ask("tools/call", name="status")["result"]["content"][0]["text"][0] != "{"
    assert text("tasks", op="call", cmd="tasks.context", args={})[0] != "{"
    assert text("open", id="NOPE-1").startswith("ERROR: ")
    assert text("status", fmt="json")[0] == "{"
    assert text("tasks", op="call", cmd="tasks.context", args={"fmt": "json"})[0] == "{"
    assert text("tasks", op="call", cmd="tasks.plan.create", args={"title": "Plan"})[0] == "{"


def test_json_stays_the_default(bridge: Callable[..., Bridge]) -> None:
    client = bridge()
    client.ask("initialize", **HELLO)
    client.notify("notifications/initialized")
    assert client.call("status")[0]["success"]
