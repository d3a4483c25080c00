"""How models see tools: parameters as a JSON schema, arguments and results as JSON."""

from __future__ import annotations

from dataclasses import is_dataclass
from typing import Any, TypeVar

import msgspec

from longhouse.subagents.errors import ToolValidationError
from longhouse.subagents.tools import Tool, ToolResult

__all__ = ["parameters_schema", "parse_arguments", "result_text"]

P = TypeVar("P")


def parameters_schema(tool: Tool[Any, Any]) -> dict[str, Any]:
    """The JSON schema of a tool's parameters, with an object at the top as providers require."""
    (top,), parts = msgspec.json.schema_components(
        [tool.params_type], ref_template="#/$defs/{name}"
    )
    for part in parts.values():
        if part.get("type") == "object" and "properties" in part:
            part["additionalProperties"] = False
    own = parts.pop(top["$ref"].removeprefix("#/$defs/"))
    return {**own, "$defs": parts} if parts else own


def parse_arguments(tool: Tool[P, Any], arguments: str) -> P:
    """Convert a model's arguments to the tool's parameters; unknown names are refused."""
    try:
        data = msgspec.json.decode(arguments or "{}")
        params = msgspec.convert(data, tool.params_type)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise ToolValidationError(f"arguments of {tool.name}: {error}") from error
    unknown = _unknown(data, msgspec.to_builtins(params), "$")
    if unknown is not None:
        raise ToolValidationError(f"arguments of {tool.name}: {unknown} is not a known name")
    return params


def _unknown(given: object, understood: object, path: str) -> str | None:
    """The path of the first name in `given` that the parameters do not have."""
    if isinstance(given, dict) and isinstance(understood, dict):
        for name, value in given.items():
            if name not in understood:
                return f"{path}.{name}"
            found = _unknown(value, understood[name], f"{path}.{name}")
            if found is not None:
                return found
    elif isinstance(given, list) and isinstance(understood, (list, tuple)):
        for index, (value, taken) in enumerate(zip(given, understood, strict=False)):
            found = _unknown(value, taken, f"{path}[{index}]")
            if found is not None:
                return found
    return None


def result_text(result: ToolResult[Any]) -> str:
    """The text of a result for a model: message, success and payload, without repetition."""
    told: dict[str, object] = {"message": result.message, "success": result.success}
    if result.value is not None and not result.exclude_value_from_context:
        payload = msgspec.to_builtins(result.value, enc_hook=repr, str_keys=True)
        if is_dataclass(result.value) and isinstance(payload, dict):
            payload = {
                name: value
                for name, value in payload.items()
                if value is not None and value != result.message
            }
        told["payload"] = payload
    return msgspec.json.encode(told, enc_hook=repr).decode()
