"""Refuses texts of only white space where a text is needed.

An argument whose type has a least length wants something to read; its own `pattern`, if it has
one, decides instead. Looked at only if a call has such a text at all.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.registry import Command
from longhouse.kernel.schema import args_schema

__all__ = ["refuse_blanks"]


def refuse_blanks(command: Command, args: dict[str, Any]) -> None:
    """Raise InvalidInput for the first argument that needs a text and has only white space."""
    schema = args_schema(command)
    for where in _blank(args, [schema], schema.get("$defs", {}), ""):
        raise InvalidInput(
            f"{where}: expected text, not only white space; fix: write what you mean in {where}",
            recovery=f"write something in {where}, or leave it out if it is optional",
            hints=[{"kind": "type", "field": where, "expected": "text"}],
        )


def _blank(
    value: Any, schemas: list[dict[str, Any]], defs: dict[str, Any], where: str
) -> Iterator[str]:
    """Where a blank text stands for which none of the schemas allows it."""
    kinds = [one for schema in schemas for one in _alternatives(schema, defs)]
    if isinstance(value, str):
        texts = [one for one in kinds if one.get("type") == "string"]
        if value.isspace() and texts and all(_needs_text(one) for one in texts):
            yield where
    elif isinstance(value, dict):
        for name, inner in value.items():
            found = [one["properties"][name] for one in kinds if name in one.get("properties", ())]
            found = found or [
                more for one in kinds if isinstance(more := one.get("additionalProperties"), dict)
            ]
            yield from _blank(inner, found, defs, f"{where}.{name}" if where else name)
    elif isinstance(value, list):
        items = [one["items"] for one in kinds if isinstance(one.get("items"), dict)]
        for index, inner in enumerate(value):
            yield from _blank(inner, items, defs, f"{where}[{index}]")


def _alternatives(schema: dict[str, Any], defs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    if "$ref" in schema:
        schema = defs[schema["$ref"].rpartition("/")[2]]
    yield schema
    for one in schema.get("anyOf", ()):
        yield from _alternatives(one, defs)


def _needs_text(schema: dict[str, Any]) -> bool:
    return schema.get("minLength", 0) >= 1 and "pattern" not in schema
