"""Turns a decoding error into a message: the field, what it expects, and what to write instead.

    limit: expected a whole number from 1 to 500; fix: limit=20

Expectations and examples come from the JSON schema that callers see, so the two always agree.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any

import msgspec

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.names import field_meant

__all__ = ["explain", "sample", "shape", "unknown_argument"]

_PLACE = re.compile(r" - at (?:`key` in )?`\$\.?(?P<path>[^`]*)`\Z")
_INDEX = re.compile(r"\[[^\[\]]*\]")
_NAMES = {
    "string": "text",
    "integer": "a whole number",
    "number": "a number",
    "boolean": "true or false",
    "object": "an object",
    "array": "a list",
    "null": "null",
}
_SAMPLES: dict[str, Any] = {
    "string": "text",
    "integer": 1,
    "number": 1.0,
    "boolean": True,
    "object": {"name": "value"},
    "null": None,
}

Schema = dict[str, Any]


def explain(
    error: msgspec.ValidationError, kind: type[msgspec.Struct], schema: Schema, example: Schema
) -> InvalidInput:
    """The decoding error in the caller's terms; `kind` is the type that failed to decode."""
    text = str(error)
    place = _PLACE.search(text)
    path = place["path"] if place else ""
    what = text[: place.start()] if place else text
    if what.startswith("Object contains unknown field"):
        name = what.split("`")[1]
        return unknown_argument(path, name, _inside(schema, path), kind)
    missing = what.startswith("Object missing required field")
    if missing:
        path = _join(path, what.split("`")[1])
    top = _INDEX.sub("", path).partition(".")[0]
    wanted = _at(schema, path)
    expected = shape(wanted, schema) if wanted else what[:1].lower() + what[1:]
    got = " (missing)" if missing else _got(what)
    shown = example[top] if top in example else sample(_at(schema, top) or {}, schema)
    fix = msgspec.json.encode(shown).decode()
    return InvalidInput(
        f"{path or 'args'}: expected {expected}{got}; fix: {top or 'args'}={fix}",
        recovery=f"{top or 'args'}={fix}",
        hints=[_hint(what, path, expected, wanted or {}, missing=missing)],
    )


def unknown_argument(
    path: str, name: str, known: Iterable[str], *kinds: type[msgspec.Struct]
) -> InvalidInput:
    """Refuse an unknown argument, and suggest the nearest known one."""
    names, place = sorted(known), _join(path, name)
    near = field_meant(name, path, *kinds)
    listed = ", ".join(names) or "none"
    meant = f"; did you mean {near!r}?" if near else ""
    return InvalidInput(
        f"{place[:120]}: unknown argument{meant}",
        recovery=f"use {near}=…" if near else f"known arguments: {listed}",
        hints=[{"kind": "unknown", "field": place[:120], "nearest": near, "known": names}],
    )


def shape(schema: Schema, root: Schema) -> str:
    """A JSON schema described in a few words."""
    schema = _deref(schema, root)
    if "enum" in schema:
        return "one of " + ", ".join(str(item) for item in schema["enum"])
    if options := schema.get("anyOf"):
        shapes = [shape(o, root) for o in options if o.get("type") != "null"]
        return " or ".join(dict.fromkeys(shapes))
    kind = str(schema.get("type", ""))
    words = _NAMES.get(kind, "a JSON value")
    if "pattern" in schema:
        if said := schema.get("title"):  # words that are clearer than the pattern
            return str(said)
        return f"{words} like {_plain_pattern(schema['pattern'])}"
    low, high, unit = _bounds(kind, schema)
    if low is not None and high is not None:
        words += f" of {low} to {high}{unit}" if unit else f" from {low} to {high}"
    elif low is not None:
        words += f" of at least {low}{unit}"
    elif high is not None:
        words += f" of at most {high}{unit}"
    open_ends = (("above", "exclusiveMinimum"), ("below", "exclusiveMaximum"))
    beyond = " and ".join(f"{word} {schema[name]}" for word, name in open_ends if name in schema)
    return f"{words} {beyond}".rstrip()


def sample(schema: Schema, root: Schema) -> Any:
    """A small value that matches the schema."""
    schema = _deref(schema, root)
    if schema.get("default") not in (None, "", [], {}):
        return schema["default"]
    if said := schema.get("examples"):
        return said[0]
    if "enum" in schema:
        return schema["enum"][0]
    if options := schema.get("anyOf"):
        return sample(next(o for o in options if o.get("type") != "null"), root)
    if schema.get("type") == "object" and schema.get("required"):
        return {name: sample(schema["properties"][name], root) for name in schema["required"]}
    if schema.get("type") == "object" and schema.get("properties"):
        first = next(iter(schema["properties"]))
        return {first: sample(schema["properties"][first], root)}
    if schema.get("type") == "array":
        return [sample(schema.get("items", {}), root)] * schema.get("minItems", 1)
    if "minimum" in schema:
        return schema["minimum"]
    if "exclusiveMinimum" in schema:
        return schema["exclusiveMinimum"] + 1
    return _SAMPLES.get(str(schema.get("type", "")), "text")


def _bounds(kind: str, schema: Schema) -> tuple[Any, Any, str]:
    if kind == "string":
        return schema.get("minLength"), schema.get("maxLength"), " characters"
    if kind == "array":
        return schema.get("minItems"), schema.get("maxItems"), " items"
    return schema.get("minimum"), schema.get("maximum"), ""


def _plain_pattern(pattern: str) -> str:
    return pattern.removeprefix(r"\A").removesuffix(r"\Z").strip("^$")


def _hint(what: str, path: str, expected: str, schema: Schema, *, missing: bool) -> Schema:
    """The error for programs: the kind of mistake, the field, and what was expected."""
    if missing:
        return {"kind": "missing_required", "field": path}
    if "`str` of length" in what:
        if schema.get("maxLength") and "<=" in what:
            return {"kind": "length", "subject": path, "max_chars": schema["maxLength"]}
        return {"kind": "non_empty", "field": path}
    return {"kind": "type", "field": path or "args", "expected": expected}


def _got(what: str) -> str:
    found = re.search(r", got `([^`]*)`", what)
    names = {
        "str": "text",
        "int": "a whole number",
        "float": "a number",
        "bool": "true or false",
        "array": "a list",
        "object": "an object",
    }
    return f", got {names.get(found[1], found[1])}" if found else ""


def _join(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _deref(schema: Schema, root: Schema) -> Schema:
    if "$ref" in schema:
        found: Schema = root.get("$defs", {}).get(schema["$ref"].rpartition("/")[2], {})
        return found
    return schema


def _steps(path: str) -> Iterable[str]:
    for part in path.split("."):
        name, *indexes = part.replace("]", "").split("[")
        if name:
            yield name
        yield from ("[]" for _ in indexes)


def _at(schema: Schema, path: str) -> Schema | None:
    """The schema of the value at a path, or None if the schema does not cover it."""
    found: list[Schema] = [schema]
    for step in _steps(path):
        found = [o for s in found for o in (_deref(s, schema).get("anyOf") or [s])]
        found = [_deref(s, schema) for s in found]
        if step == "[]":
            found = [s["items"] for s in found if isinstance(s.get("items"), dict)]
        else:
            found = [s["properties"][step] for s in found if step in s.get("properties", {})]
    return found[0] if found else None


def _inside(schema: Schema, path: str) -> list[str]:
    """The argument names that the object at a path accepts."""
    at = _at(schema, path) if path else schema
    options = (_deref(at, schema).get("anyOf") or [at]) if at else []
    return [name for o in options for name in _deref(o, schema).get("properties", {})]
