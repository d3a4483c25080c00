"""`/openapi.json`: every command and path, derived from the registry."""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse import __version__
from longhouse.kernel.envelope import Action, Warned
from longhouse.kernel.registry import Command, Registry
from longhouse.kernel.schema import Common

__all__ = ["openapi"]

_REF = "#/components/schemas/{name}"


def openapi(registry: Registry) -> dict[str, Any]:
    """An OpenAPI 3.1 document."""
    kinds: list[Any] = [kind for command in registry for kind in (command.request, command.result)]
    kinds += [Common, Action, Warned]
    refs, schemas = msgspec.json.schema_components(kinds, ref_template=_REF)
    named: dict[Any, dict[str, str]] = dict(zip(kinds, refs, strict=True))
    schemas["Envelope"] = _envelope(named[Action], named[Warned])
    schemas["Cut"] = _CUT_RESULT
    schemas["Budget"] = _BUDGET
    common = schemas.pop(_name(named[Common]))["properties"]
    for command in registry:
        request = schemas[_name(named[command.request])]
        request["properties"] = {**common, **request.get("properties", {})}
        request["examples"] = [msgspec.to_builtins(command.example)]
    paths: dict[str, Any] = {
        f"/call/{command.cmd}": {"post": _operation(command, named)} for command in registry
    }
    return {
        "openapi": "3.1.0",
        "info": {"title": "Longhouse", "version": __version__},
        "security": [{"token": []}],
        "paths": paths | _OTHER_PATHS,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "parameters": {"workspace": _WORKSPACE},
        },
    }


def _name(ref: dict[str, str]) -> str:
    return ref["$ref"].rpartition("/")[2]


def _operation(command: Command, named: dict[Any, Any]) -> dict[str, Any]:
    result = {
        "allOf": [
            _ref("Envelope"),
            {"properties": {"result": {"anyOf": [named[command.result], _CUT, {"type": "null"}]}}},
        ]
    }
    return {
        "operationId": command.cmd,
        "summary": command.summary,
        "tags": [command.portal],
        "x-role": command.role.name.lower(),
        "x-writes": command.writes,
        "parameters": [{"$ref": "#/components/parameters/workspace"}],
        "requestBody": {"content": {"application/json": {"schema": named[command.request]}}},
        "responses": {
            "200": {
                "description": "done",
                "content": {
                    "application/json": {"schema": result},
                    "text/plain": {"schema": {"type": "string", "description": "with fmt=lines"}},
                },
            },
            "default": _ERROR,
        },
    }


def _ref(name: str) -> dict[str, str]:
    return {"$ref": _REF.format(name=name)}


_CUT = _ref("Cut")
_CUT_RESULT = {
    "type": "object",
    "description": "a result that was trimmed to its budget: any field may be shorter or missing",
    "required": ["truncated", "budget"],
    "properties": {"truncated": {"const": True}, "budget": _ref("Budget")},
}
_BUDGET = {
    "type": "object",
    "description": "the size limit and the actual size of the answer, in characters",
    "required": ["max_chars", "used_chars", "truncated"],
    "properties": {
        "max_chars": {"type": "integer", "minimum": 0},
        "used_chars": {"type": "integer", "minimum": 0},
        "truncated": {"type": "boolean"},
    },
}


def _envelope(action: Any, warned: Any) -> dict[str, Any]:
    error = {
        "type": ["object", "null"],
        "required": ["code", "message", "recovery", "retryable"],
        "properties": {
            "code": {"type": "string"},
            "message": {"type": "string"},
            "recovery": {"type": ["string", "null"]},
            "retryable": {"type": "boolean"},
        },
    }
    properties = {
        "success": {"type": "boolean"},
        "intent": {"type": "string"},
        "result": {
            "type": ["object", "null"],
            "properties": {"truncated": {"type": "boolean"}, "budget": _ref("Budget")},
        },
        "refs": {"type": ["array", "null"]},
        "actions": {"type": "array", "items": action},
        "warnings": {"type": "array", "items": warned},
        "suggestions": {"type": "array", "maxItems": 0},
        "context": {"type": "object"},
        "error": error,
        "timestamp": {"type": "string", "format": "date-time"},
    }
    return {"type": "object", "required": list(properties), "properties": properties}


_WORKSPACE = {
    "name": "workspace",
    "in": "query",
    "description": "may also be sent as the header Longhouse-Workspace",
    "schema": {"type": "string"},
}
_ERROR = {
    "description": "refused: error.code and error.recovery say why and what to do",
    "content": {
        "application/json": {"schema": _ref("Envelope")},
        "text/plain": {"schema": {"type": "string", "description": "with fmt=lines"}},
    },
}


def _get(summary: str, kind: str, *parameters: dict[str, Any], open_: bool = False) -> Any:
    operation: dict[str, Any] = {
        "summary": summary,
        "parameters": list(parameters),
        "responses": {"200": {"description": "ok", "content": {kind: {}}}, "default": _ERROR},
    }
    if open_:
        operation["security"] = []
    return {"get": operation}


def _query(name: str, schema: dict[str, Any], where: str = "query") -> dict[str, Any]:
    return {"name": name, "in": where, "schema": schema}


_TASK = {**_query("task_id", {"type": "string"}, "path"), "required": True}
_IN_WORKSPACE = {"$ref": "#/components/parameters/workspace"}
_STREAM = _query("stream", {"enum": ["stdout", "stderr", "pty"]})


def _post(summary: str, request: str, statuses: str, *parameters: dict[str, Any]) -> Any:
    body = {"content": {"application/json": {"schema": _ref(request)}}}
    return {
        "post": {
            "summary": summary,
            "parameters": [_IN_WORKSPACE, *parameters],
            "requestBody": body,
            "responses": {
                **{
                    status: {"description": "done", "content": {"application/json": {}}}
                    for status in statuses.split()
                },
                "default": _ERROR,
            },
        }
    }


def _number(name: str, least: int = 0) -> dict[str, Any]:
    return _query(name, {"type": "integer", "minimum": least})


_RECORDINGS = {
    "post": {
        "summary": "Import a recording or an asciicast: tool.recording_import",
        "parameters": [_IN_WORKSPACE, _query("title", {"type": "string", "maxLength": 200})],
        "requestBody": {
            "content": {
                "application/x-ndjson": {},
                "application/x-asciicast": {},
                "application/octet-stream": {"schema": {"type": "string", "format": "binary"}},
            }
        },
        "responses": {
            "201": {"description": "done", "content": {"application/json": {}}},
            "default": _ERROR,
        },
    }
}
_TASK_PATHS = {
    "/tasks": {
        **_post("Start a background process: tool.task_spawn", "SpawnTask", "201"),
        **_get(
            "Background processes, newest first: tool.task_list",
            "application/json",
            _IN_WORKSPACE,
            _query("status", {"type": "string"}),
            _query("agent", {"type": "string"}),
            _query("job", {"type": "string"}),
            _query("name", {"type": "string"}),
            _query("limit", {"type": "integer", "minimum": 1, "maximum": 500}),
            _query("cursor", {"type": "string"}),
        ),
    },
    "/tasks/{task_id}": _get(
        "The state of one process: tool.task_status", "application/json", _IN_WORKSPACE, _TASK
    ),
    "/tasks/{task_id}/events": _get(
        "Its frames as server-sent events; id is the seq of its stream",
        "text/event-stream",
        _IN_WORKSPACE,
        _TASK,
        _number("after_seq"),
        _query("Last-Event-ID", {"type": "integer", "minimum": 0}, "header"),
    ),
    "/tasks/{task_id}/output": _get(
        "What it printed, as text with secrets masked: tool.output_fetch",
        "application/json",
        _IN_WORKSPACE,
        _TASK,
        _STREAM,
        _number("offset_bytes"),
        _number("max_bytes", 1),
        _number("tail", 1),
        _query("lines", {"type": "string", "pattern": "^[0-9]+-[0-9]+$"}),
    ),
    "/tasks/{task_id}/output/raw": _get(
        "What it printed, byte for byte; supports Range",
        "application/octet-stream",
        _IN_WORKSPACE,
        _TASK,
        _STREAM,
        _query("Range", {"type": "string"}, "header"),
    ),
    "/tasks/{task_id}/wait": _get(
        "Wait for its exit, a line, its screen or a port: tool.task_wait",
        "application/json",
        _IN_WORKSPACE,
        _TASK,
        _query("until", {"enum": ["exit", "line", "port", "screen"]}),
        _query("pattern", {"type": "string"}),
        _number("port", 1),
        _number("timeout_ms"),
    ),
    "/tasks/{task_id}/snapshot": _get(
        "What its terminal shows now: tool.task_snapshot",
        "application/json",
        _IN_WORKSPACE,
        _TASK,
    ),
    "/tasks/{task_id}/recording": _get(
        "Its recording as a file: tool.recording_export",
        "application/x-ndjson",
        _IN_WORKSPACE,
        _TASK,
        _query("format", {"enum": ["longhouse", "asciicast"]}),
    ),
    "/recordings": _RECORDINGS,
    "/tasks/{task_id}/cancel": _post("Stop it: tool.task_cancel", "CancelTask", "200 202", _TASK),
    "/tasks/{task_id}/stdin": _post(
        "Type into its terminal: tool.task_write_stdin", "WriteStdin", "202", _TASK
    ),
    "/tasks/{task_id}/resize": _post(
        "Resize its terminal: tool.task_resize", "ResizeTask", "202", _TASK
    ),
    "/tasks/{task_id}/signal": _post(
        "Send it a signal: tool.task_signal", "SignalTask", "202", _TASK
    ),
}
_OTHER_PATHS = {
    "/events": _get(
        "The log as server-sent events; id is the seq",
        "text/event-stream",
        {"$ref": "#/components/parameters/workspace"},
        _query("stream", {"type": "array", "items": {"type": "string"}}),
        _query("subject", {"type": "string"}),
        _query("after", {"type": "integer", "minimum": 0}),
        _query("until", {"type": "integer", "minimum": 0}),
        _query("newest", {"type": "array", "items": {"type": "string"}}),
        _query("Last-Event-ID", {"type": "integer", "minimum": 0}, "header"),
    ),
    "/api/sessions": _get(
        "Who is working on what: agents.sessions",
        "application/json",
        {"$ref": "#/components/parameters/workspace"},
        _query("open_only", {"type": "boolean"}),
        _query("limit", {"type": "integer", "minimum": 1, "maximum": 500}),
        _query("cursor", {"type": "string"}),
    ),
    "/api/sessions/{bead_id}/conversation": _get(
        "The conversation and history of a work item: agents.conversation",
        "application/json",
        {"$ref": "#/components/parameters/workspace"},
        {**_query("bead_id", {"type": "string"}, "path"), "required": True},
        _query("limit", {"type": "integer", "minimum": 1, "maximum": 500}),
        _query("cursor", {"type": "integer", "minimum": 0}),
    ),
    "/api/me": _get("What the token may do, and the page's settings", "application/json"),
    **_TASK_PATHS,
    "/openapi.json": _get("This document", "application/json"),
    "/metrics": _get("Prometheus metrics", "text/plain"),
    "/healthz": _get(
        "Whether the server is up; `proof` is the HMAC of the nonce under the key in server.json",
        "application/json",
        _query("nonce", {"type": "string", "maxLength": 128}),
        open_=True,
    ),
    "/readyz": _get("Whether the server's store answers", "application/json", open_=True),
}
