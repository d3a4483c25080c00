"""Converts between Longhouse answers and MCP tool results.

An answer is a single text: the compact JSON envelope, or lines. A refusal is a result with
`isError`, so that the model reads its recovery. Everything that writes or reads tool results does
it here: the server over HTTP and stdio, the bridge, and the runner.
"""

from __future__ import annotations

import json
from typing import Any

from longhouse.client.replies import CallOutcome, lines_outcome, not_ours, outcome_of_text
from longhouse.kernel.errors import InternalError, LonghouseError
from longhouse.kernel.inputs import asks_for_lines

__all__ = ["tool_named", "tool_outcome", "tool_refusal", "tool_result"]


def tool_result(text: str, *, failed: bool) -> dict[str, Any]:
    """An answer as a tool result."""
    return {"content": [{"type": "text", "text": text}], "isError": failed}


def tool_outcome(message: dict[str, Any]) -> CallOutcome:
    """The outcome of a tool call, from the JSON-RPC message that carries it."""
    if "error" in message:
        told = message["error"]
        text = told.get("message") if isinstance(told, dict) else told
        raise InternalError(f"MCP: {text}")
    try:
        result = message["result"]
        text, failed = result["content"][0]["text"], bool(result.get("isError"))
        if not isinstance(text, str):
            raise TypeError(text)
    except (LookupError, TypeError, AttributeError):
        raise not_ours() from None
    if text.startswith("{"):
        return outcome_of_text(text)
    return lines_outcome(text, ok=not failed)


def tool_refusal(params: dict[str, Any], trouble: LonghouseError) -> dict[str, Any]:
    """An error on the way to a tool, as a result of that tool."""
    arguments = params.get("arguments")
    if asks_for_lines(arguments):
        text = f"ERROR: {trouble.code} {trouble.message} | fix: {trouble.recovery}\nstatus"
    else:
        text = json.dumps(_envelope(tool_named(params.get("name")), trouble), ensure_ascii=False)
    return tool_result(text, failed=True)


def tool_named(name: Any) -> str:
    """The tool's bare name: some clients send `server/tool` or `longhouse.tool`."""
    return str(name).rpartition("/")[2].removeprefix("longhouse.")


def _envelope(tool: str, trouble: LonghouseError) -> dict[str, Any]:
    from datetime import UTC, datetime

    look = {
        "action_id": "recover.status.portal",
        "priority": "high",
        "tool": "status",
        "args": {},
        "why": "see the current state",
        "risk": "none",
    }
    body = {
        "code": trouble.code,
        "message": trouble.message,
        "recovery": trouble.recovery,
        "retryable": trouble.retryable,
    }
    now = datetime.now(UTC).isoformat(timespec="milliseconds")
    return {
        "success": False,
        "intent": tool,
        "actions": [look],
        "error": body,
        "timestamp": now.replace("+00:00", "Z"),
    }
