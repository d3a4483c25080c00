"""The streaming Responses API, as far as Codex uses it."""

from __future__ import annotations

import json
import time
import uuid
from collections.abc import Iterator
from typing import Any, NamedTuple

USAGE = {
    "input_tokens": 100,
    "input_tokens_details": {"cached_tokens": 0},
    "output_tokens": 20,
    "output_tokens_details": {"reasoning_tokens": 0},
    "total_tokens": 120,
}


class Asked(NamedTuple):
    tools: list[str]
    results: list[str]
    namespaces: dict[str, str]
    aside: bool = False


def understand(body: dict[str, Any]) -> Asked:
    """A model that Codex does not know is offered MCP tools in a namespace a server."""
    outputs = [i for i in body.get("input") or [] if str(i.get("type", "")).endswith("_output")]
    results = [_text(item.get("output")) for item in outputs]
    names, namespaces = [], {}
    for tool in body.get("tools") or []:
        for inner in tool.get("tools", []) if tool.get("type") == "namespace" else []:
            names.append(f"{tool['name']}/{inner['name']}")
            namespaces[inner["name"]] = tool["name"]
    return Asked(names, results, namespaces)


def call(asked: Asked, server: str, tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
    if tool not in asked.namespaces:
        return search(server, tool)
    return {**use(tool, arguments), "namespace": f"mcp__{server}"}


def shell(command: str) -> dict[str, Any]:
    return use("exec_command", {"cmd": command})


def use(name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "function_call",
        "id": "fc_" + uuid.uuid4().hex,
        "call_id": "call_" + uuid.uuid4().hex[:24],
        "name": name,
        "arguments": json.dumps(arguments),
        "status": "completed",
    }


def search(server: str, tool: str) -> dict[str, Any]:
    raise AssertionError(f"Codex offers no {tool} of {server}")


def say(text: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": text, "annotations": []}
    return {
        "type": "message",
        "id": "msg_" + uuid.uuid4().hex,
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def finish(_asked: Asked, answer: dict[str, Any]) -> dict[str, Any]:
    """With `--output-schema` the last message is the answer."""
    return say(json.dumps(answer))


def failure(status: int) -> dict[str, Any]:
    return {"error": {"message": f"scripted {status}", "type": "scripted", "code": "scripted"}}


def events(body: dict[str, Any], output: dict[str, Any] | None) -> Iterator[dict[str, Any]]:
    base: dict[str, Any] = {
        "id": "resp_" + uuid.uuid4().hex,
        "object": "response",
        "created_at": int(time.time()),
        "model": body.get("model"),
        "status": "in_progress",
        "output": [],
    }
    yield {"type": "response.created", "sequence_number": 0, "response": base}
    if output is None:
        return
    begun = {**output, "status": "in_progress"}
    yield {
        "type": "response.output_item.added",
        "sequence_number": 1,
        "output_index": 0,
        "item": begun,
    }
    yield {
        "type": "response.output_item.done",
        "sequence_number": 2,
        "output_index": 0,
        "item": output,
    }
    done = {**base, "status": "completed", "output": [output], "usage": USAGE}
    yield {"type": "response.completed", "sequence_number": 3, "response": done}


def _text(output: Any) -> str:
    """What a tool gave back; Codex may wrap it with the time that it took."""
    if isinstance(output, list):
        output = "".join(part.get("text", "") for part in output if isinstance(part, dict))
    return str(output).partition("\nOutput:")[2] or str(output)
