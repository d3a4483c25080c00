"""What a client says: what is answered here, and how the rest is said to the server.

Clients of the handshake era are spoken for in the newest protocol: their requests get the envelope
that it asks for, and what only it has is taken out of their answers.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from longhouse.kernel.errors import LonghouseError

__all__ = ["Answers", "OutcomeUnknown", "encode", "error", "refusal", "routing", "translated"]

ANSWERS = Path(__file__).with_name("answers.json")
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"
INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR, PARSE_ERROR = -32600, -32602, -32603, -32700

_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ONLY_MODERN = ("resultType", "ttlMs", "cacheScope", "_meta")


class OutcomeUnknown(LonghouseError):
    """The server ended before it answered; the call may have been carried out, or not."""

    code = "OUTCOME_UNKNOWN"
    status = 503
    exit_code = 7
    fix = (
        "look first (`status` shows the newest entry, `open` one thing); if the call left no "
        "trace, repeat it, and give it an idempotency_key, which makes repeating safe"
    )


class Answers:
    """The generated file: what the server would answer, and which commands only read."""

    def __init__(self, path: Path = ANSWERS) -> None:
        found = json.loads(path.read_bytes())
        self._by_era: dict[str, dict[str, Any]] = found["answers"]
        self._versions: list[str] = found["handshake_versions"]
        self._ops: dict[str, dict[str, str]] = found["ops"]
        self._reads: dict[str, list[str]] = found["reads"]

    def here(self, method: str, params: dict[str, Any], version: str | None) -> Any | None:
        """A result that never changes, or None; `version` is None in the handshake era."""
        if version is not None:
            capable = isinstance(params["_meta"].get(META + "clientCapabilities"), dict)
            return self._by_era["modern"].get(method) if version == MODERN and capable else None
        known = self._by_era["handshake"]
        if method == "initialize" and params.get("protocolVersion") in self._versions:
            return {**known[method], "protocolVersion": params["protocolVersion"]}
        return known.get(method)

    def only_reads(self, params: dict[str, Any]) -> bool:
        """Whether a tool call can do no harm when it is carried out twice."""
        _, arguments, inner = _parts(params)
        if "idempotency_key" in arguments or "idempotency_key" in inner:
            return True
        writes_with = self._reads.get(self.command(params))
        return writes_with is not None and not any(
            arguments.get(name) is not None or inner.get(name) is not None for name in writes_with
        )

    def command(self, params: dict[str, Any]) -> str:
        """The command behind a tool call, as far as that can be told."""
        tool, arguments, _ = _parts(params)
        ops = self._ops.get(tool)
        if ops is None:
            return tool
        op = str(arguments.get("op") or "call").strip().lower()
        return ops.get(op) or str(arguments.get("cmd") or "").strip().lower()


def _parts(params: dict[str, Any]) -> tuple[str, dict[str, Any], dict[str, Any]]:
    """The tool, its arguments, and what is in their `args`."""
    tool = str(params.get("name")).rpartition("/")[2].removeprefix("longhouse.")
    arguments = params.get("arguments")
    arguments = arguments if isinstance(arguments, dict) else {}
    inner = arguments.get("args")
    return tool, arguments, inner if isinstance(inner, dict) else {}


def routing(method: str, params: dict[str, Any], version: str) -> dict[str, str]:
    """The headers that repeat what the body says, for whoever routes by headers."""
    headers = {"Mcp-Protocol-Version": version, "Mcp-Method": _header(method)}
    name = params.get(_NAMES.get(method, ""))
    if isinstance(name, str):
        headers["Mcp-Name"] = _header(name)
    return headers


def _header(value: str) -> str:
    plain = value.isascii() and value.isprintable() and value == value.strip()
    if plain and not value.startswith("=?"):
        return value
    import base64

    return f"=?base64?{base64.b64encode(value.encode()).decode()}?="


def translated(message: dict[str, Any]) -> dict[str, Any]:
    """A message of the server as a client of the handshake era knows it."""
    result = message.get("result")
    if isinstance(result, dict):
        kept = {name: value for name, value in result.items() if name not in _ONLY_MODERN}
        return {**message, "result": kept}
    return message


def encode(message: Any) -> bytes:
    return json.dumps(message, ensure_ascii=False, separators=(",", ":")).encode()


def error(id_: Any, code: int, message: str, data: Any = None) -> dict[str, Any]:
    body = {"code": code, "message": message} | ({"data": data} if data else {})
    return {"jsonrpc": "2.0", "id": id_, "error": body}


def refusal(id_: Any, method: str, params: dict[str, Any], trouble: LonghouseError) -> Any:
    """Trouble with the server, in the shape in which the server itself refuses."""
    if method != "tools/call":
        data = {"code": trouble.code, "recovery": trouble.recovery}
        return error(id_, INTERNAL_ERROR, trouble.message, data)
    tool, arguments, inner = _parts(params)
    if "lines" in (arguments.get("fmt"), inner.get("fmt")):
        text = f"ERROR: {trouble.code} {trouble.message} | fix: {trouble.recovery}\nstatus"
    else:
        text = json.dumps(_envelope(tool, trouble), ensure_ascii=False)
    content = [{"type": "text", "text": text}]
    result = {"content": content, "isError": True, "resultType": "complete"}
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def _envelope(tool: str, trouble: LonghouseError) -> dict[str, Any]:
    from datetime import UTC, datetime

    look = {
        "action_id": "recover.status.portal",
        "priority": "high",
        "tool": "status",
        "args": {},
        "why": "see what is there",
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
        "result": None,
        "refs": None,
        "actions": [look],
        "warnings": [],
        "suggestions": [],
        "context": {},
        "error": body,
        "timestamp": now.replace("+00:00", "Z"),
    }
