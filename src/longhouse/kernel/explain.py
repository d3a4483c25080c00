"""Turns a decoding error into a message: the field, what it expects, and what to write instead.

    limit: expected a whole number from 1 to 500; fix: limit=20

Expectations and examples come from the JSON schema that callers see, so the two always agree.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Iterator
from typing import Any

import msgspec

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.names import field_meant, nearest
from longhouse.kernel.values import ANY_TEXT

__all__ = ["explain", "sample", "shape", "unknown_argument"]

_PLACE = re.compile(r" - at (?:`key` in )?`\$\.?(?P<path>[^`]*)`\Z")
_PLAIN_STEP = re.compile(r"[^.\[\]]+")
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
    error: msgspec.ValidationError,
    kind: type[msgspec.Struct],
    schema: Schema,
    given: Schema,
) -> InvalidInput:
    """The decoding error in the caller's terms; `kind` is the type that failed to decode.

    The fix is the value that is nearest in meaning to the given one. There is none where nothing is
    near, for what is missing, and for a text or an id, which no example can know.
    """
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
    near = _near(_value_at(given, path), wanted or {}, schema)
    if near is not None:
        fix = f"{path}={msgspec.json.encode(near).decode()}"
    elif missing or _is_own(wanted or {}, schema):
        fix = ""
    else:
        shown = sample(_at(schema, top) or {}, schema)  # its shape; nothing of an example
        fix = f"{top or 'args'}={msgspec.json.encode(shown).decode()}"
    return InvalidInput(
        f"{path or 'args'}: expected {expected}{got}" + (f"; fix: {fix}" if fix else ""),
        recovery=fix or (f"add {path}=…" if missing else f"{path}: {expected}"),
        hints=[_hint(what, path, expected, wanted or {}, missing=missing)],
    )


def _near(value: Any, wanted: Schema, root: Schema) -> Any:
    """The allowed value nearest in meaning: the bound that was passed, or the choice meant."""
    options = [_deref(one, root) for one in wanted.get("anyOf", [wanted])]
    if isinstance(value, int | float) and not isinstance(value, bool):
        low = next((o["minimum"] for o in options if "minimum" in o), None)
        high = next((o["maximum"] for o in options if "maximum" in o), None)
        if high is not None and value > high:
            return high
        return low if low is not None and value < low else None
    choices = [one for o in options for one in o.get("enum", ())]
    if isinstance(value, str) and choices:
        from longhouse.kernel.synonyms import values_for

        meant = {one for one in values_for(value, any_case=True) if one in choices}
        if len({one.lower() for one in meant}) == 1:
            return min(meant)
        return nearest(value, [one for one in choices if isinstance(one, str)])
    return None


def _is_own(wanted: Schema, root: Schema) -> bool:
    """Whether no example helps: only objects have a shape that one shows better than words."""
    kinds = {"enum" if "enum" in one else one.get("type") for one in _options(wanted, root)}
    return "object" not in kinds or not kinds.isdisjoint({"enum", "string"})


def _options(wanted: Schema, root: Schema) -> Iterator[Schema]:
    """The alternatives of a schema, also those within one another."""
    wanted = _deref(wanted, root)
    if "anyOf" not in wanted:
        yield wanted
    for one in wanted.get("anyOf", ()):
        yield from _options(one, root)


def _value_at(given: Any, path: str) -> Any:
    for step in _PLAIN_STEP.findall(path):
        if isinstance(given, dict):
            given = given.get(step)
        elif isinstance(given, list | tuple) and step.isdigit() and int(step) < len(given):
            given = given[int(step)]
        else:
            return None
    return given


def unknown_argument(
    path: str,
    name: str,
    known: Iterable[str],
    *kinds: type[msgspec.Struct],
    not_meant: Container[str] = (),
) -> InvalidInput:
    """Refuse an unknown argument, and suggest the nearest known one that may be meant."""
    names, place = sorted(known), _join(path, name)
    near = field_meant(name, path, *kinds)
    near = None if near in not_meant else near
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
    if schema.get("pattern", ANY_TEXT) != ANY_TEXT:
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
    if isinstance(held := schema.get("additionalProperties"), dict):
        return {"name": sample(held, root)}
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
