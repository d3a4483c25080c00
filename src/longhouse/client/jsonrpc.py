"""JSON-RPC messages of MCP: parses valid lines, and builds the errors that answer the others.

Lines are parsed strictly, because what one JSON parser accepts another may reject: no lone
surrogates, no NaN, no invalid UTF-8, no excessive nesting.
"""

from __future__ import annotations

import json
import re
from typing import Any, NamedTuple

from longhouse.client.http1 import EventParser
from longhouse.client.replies import not_ours, outcome_of
from longhouse.client.toolresults import tool_refusal
from longhouse.client.wire import Reply
from longhouse.kernel.errors import InvalidInput, LonghouseError
from longhouse.kernel.inputs import is_too_deep

__all__ = [
    "INTERNAL_ERROR",
    "INVALID_PARAMS",
    "INVALID_REQUEST",
    "META",
    "MODERN",
    "PARSE_ERROR",
    "BadMessage",
    "RpcMessage",
    "encode",
    "error",
    "read_message",
    "refusal",
    "reply_message",
    "routing",
]

INVALID_REQUEST, INVALID_PARAMS, INTERNAL_ERROR, PARSE_ERROR = -32600, -32602, -32603, -32700
MODERN = "2026-07-28"
META = "io.modelcontextprotocol/"

_SURROGATE = re.compile(rb"\\u[dD][89a-fA-F]")
_NAMES = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_ID_CHARS = 1024
_FIX = "send the call again without it; nothing was done"


class RpcMessage(NamedTuple):
    """A request, or a notification, which has no id and gets no answer."""

    id: str | int | None
    method: str
    params: dict[str, Any]


class BadMessage(Exception):
    """A line that is not a valid message; `answer` is the error to send back."""

    def __init__(self, answer: dict[str, Any]) -> None:
        super().__init__(answer)
        self.answer = answer


def read_message(line: bytes) -> RpcMessage | None:
    """The message in a line; None for an answer, since we never send requests."""
    try:
        found = json.loads(line.decode(), parse_constant=_not_a_number)
    except RecursionError:
        raise BadMessage(error(None, PARSE_ERROR, "the JSON is nested too deeply")) from None
    except ValueError as trouble:
        raise BadMessage(error(None, PARSE_ERROR, f"not valid JSON: {trouble}"[:200])) from None
    if not isinstance(found, dict) or found.get("jsonrpc") != "2.0":
        raise _invalid("expected one JSON-RPC 2.0 message per line")
    id_, method, params = found.get("id"), found.get("method"), found.get("params", {})
    if "id" in found and not _is_id(id_):
        raise _invalid("expected an id that is a string or an integer")
    if method is None and "id" in found and ("result" in found or "error" in found):
        return None
    if not isinstance(method, str):
        raise _invalid("expected a method", id_)
    if not isinstance(params, dict):
        raise BadMessage(error(id_, INVALID_PARAMS, "params: expected an object"))
    _check_text(line, RpcMessage(id_, method, params))
    return RpcMessage(id_, method, params)


def _check_text(line: bytes, message: RpcMessage) -> None:
    """Refuse a message that other parsers would reject, in an answer to its id."""
    if is_too_deep(line):
        what = "the JSON is nested too deeply"
    elif _SURROGATE.search(line) and not _is_unicode(message):
        what = "expected valid Unicode, without lone surrogates"
    else:
        return
    trouble = InvalidInput(f"params: {what}", recovery=_FIX)
    method = message.method if message.id is not None else ""
    raise BadMessage(refusal(message.id, method, message.params, trouble))


def _not_a_number(name: str) -> None:
    raise ValueError(f"{name} is not a JSON number")


def _is_id(value: Any) -> bool:
    if type(value) is int:
        return -(2**63) <= value < 2**63
    return type(value) is str and len(value) <= _ID_CHARS and _is_unicode(value)


def _is_unicode(value: Any) -> bool:
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    return True


def _invalid(text: str, id_: Any = None) -> BadMessage:
    return BadMessage(error(id_, INVALID_REQUEST, text))


def encode(message: Any) -> bytes:
    """One line of JSON; invalid Unicode becomes question marks."""
    text = json.dumps(message, ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "replace")


def error(id_: Any, code: int, message: str, data: Any = None) -> dict[str, Any]:
    """A protocol error."""
    body = {"code": code, "message": message} | ({"data": data} if data else {})
    return {"jsonrpc": "2.0", "id": id_, "error": body}


def refusal(
    id_: Any, method: str, params: dict[str, Any], trouble: LonghouseError
) -> dict[str, Any]:
    """An error in the form the server uses: for a tool call, a result that the model reads."""
    if method != "tools/call":
        code = INVALID_PARAMS if isinstance(trouble, InvalidInput) else INTERNAL_ERROR
        data = {"code": trouble.code, "recovery": trouble.recovery}
        return error(id_, code, trouble.message, data)
    result = tool_refusal(params, trouble)
    meta = params.get("_meta")
    if isinstance(meta, dict) and META + "protocolVersion" in meta:
        result["resultType"] = "complete"
    return {"jsonrpc": "2.0", "id": id_, "result": result}


def routing(method: str, params: dict[str, Any], version: str) -> dict[str, str]:
    """The headers that repeat parts of the body, for routing."""
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


def reply_message(reply: Reply) -> dict[str, Any]:
    """The JSON-RPC answer in a reply: its body, or the last event of its stream.

    A refusal from before the MCP layer is raised as its own error.
    """
    body = reply.body
    if reply.headers.get("content-type", "").startswith("text/event-stream"):
        events = list(EventParser().feed(body))
        body = events[-1].data.encode() if events else b""
    elif reply.status != 200 and (refused := outcome_of(reply).error):
        raise refused
    try:
        message = json.loads(body)
    except (ValueError, RecursionError):
        raise not_ours() from None
    if not isinstance(message, dict):
        raise not_ours()
    return message
