"""The streaming Messages API, as far as Claude Code uses it."""

from __future__ import annotations

import json
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

USAGE = {"input_tokens": 100, "output_tokens": 20, "service_tier": "standard"}


class Asked(NamedTuple):
    tools: list[str]
    results: list[str]
    loaded: set[str]
    aside: bool


def understand(body: dict[str, Any]) -> Asked:
    """What the agent has, and what its tools gave back; a request without tools is no turn.

    A search for tools is not counted among them, also one that found none: on a slow machine the
    client has not connected yet, and the step is tried again.
    """
    results, loaded, searches = [], set(), set()
    for message in body.get("messages", []):
        content = message.get("content")
        for block in content if isinstance(content, list) else []:
            if block.get("type") == "tool_use" and block.get("name") == "ToolSearch":
                searches.add(block.get("id"))
            if block.get("type") != "tool_result":
                continue
            parts = block.get("content")
            parts = parts if isinstance(parts, list) else [{"type": "text", "text": parts or ""}]
            found = {part.get("tool_name") for part in parts if part["type"] == "tool_reference"}
            if found:
                loaded |= found
            elif block.get("tool_use_id") not in searches:
                results.append("".join(part.get("text", "") for part in parts))
    tools = [tool.get("name", "") for tool in body.get("tools", [])]
    return Asked(tools, results, loaded, aside=not tools)


def call(asked: Asked, server: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any] | None:
    name = f"mcp__{server}__{tool}"
    held_back = "ToolSearch" in asked.tools and name not in {*asked.tools, *asked.loaded}
    return None if held_back else use(name, arguments)


def search(server: str, tool: str) -> dict[str, Any]:
    return use("ToolSearch", {"query": f"select:mcp__{server}__{tool}", "max_results": 5})


def shell(command: str) -> dict[str, Any]:
    return use("Bash", {"command": command})


def say(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def finish(asked: Asked, answer: dict[str, Any]) -> dict[str, Any]:
    """With `--json-schema` there is a tool to answer with."""
    assert "StructuredOutput" in asked.tools, asked.tools
    return use("StructuredOutput", answer)


def failure(status: int) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "overloaded_error", "message": f"scripted {status}"}}


def events(body: dict[str, Any], output: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    head: dict[str, Any] = {
        "id": "msg_" + uuid.uuid4().hex[:24],
        "type": "message",
        "role": "assistant",
        "model": body.get("model"),
        "content": [],
        "stop_reason": None,
        "stop_sequence": None,
        "usage": USAGE,
    }
    yield {"type": "message_start", "message": head}
    if output is None:
        return
    stop = "end_turn"
    block: dict[str, Any]
    if output["type"] == "text":
        block, delta = {"type": "text", "text": ""}, {"type": "text_delta", "text": output["text"]}
    else:
        stop = "tool_use"
        block = {**output, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(output["input"])}
    yield {"type": "content_block_start", "index": 0, "content_block": block}
    yield {"type": "content_block_delta", "index": 0, "delta": delta}
    yield {"type": "content_block_stop", "index": 0}
    ended = {"stop_reason": stop, "stop_sequence": None}
    yield {"type": "message_delta", "delta": ended, "usage": {"output_tokens": 20}}
    yield {"type": "message_stop"}


def use(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    id_ = "toolu_" + uuid.uuid4().hex[:24]
    return {"type": "tool_use", "id": id_, "name": name, "input": arguments}
