"""Converts immutable values to plain JSON values and back, without importing or guessing anything.

None, booleans, numbers and text stay as they are, a tuple becomes an array, and every other kind
`{"$": kind, "v": value}`, where kind is a word from the tables below or a class `module:qualname`.
"""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode
from collections.abc import Callable, Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from math import isfinite
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import NoneType
from typing import Any
from uuid import UUID

from longhouse.subagents.immutable import field_names

__all__ = ["ClassResolver", "decode", "decode_fields", "encode", "encode_fields", "identifier"]

_PLAIN = frozenset({NoneType, bool, int, str})

_WRITERS: dict[type, tuple[str, Callable[[Any], object]]] = {
    bytes: ("bytes", lambda value: b64encode(value).decode("ascii")),
    date: ("date", date.isoformat),
    datetime: ("datetime", datetime.isoformat),
    Decimal: ("decimal", str),
    float: ("float", repr),  # only infinities and NaN, which JSON cannot write
    time: ("time", time.isoformat),
    timedelta: ("timedelta", lambda value: [value.days, value.seconds, value.microseconds]),
    UUID: ("uuid", str),
    PurePosixPath: ("posix_path", str),
    PureWindowsPath: ("windows_path", str),
    type(Path()): ("path", str),
}

_READERS: dict[str, Callable[[Any], object]] = {
    "bytes": lambda value: b64decode(value, validate=True),
    "date": date.fromisoformat,
    "datetime": datetime.fromisoformat,
    "decimal": Decimal,
    "float": float,
    "path": Path,
    "posix_path": PurePosixPath,
    "time": time.fromisoformat,
    "timedelta": lambda value: timedelta(*value),
    "uuid": UUID,
    "windows_path": PureWindowsPath,
}


def identifier(kind: type) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def encode(value: object) -> object:
    kind = type(value)
    if kind in _PLAIN or (isinstance(value, float) and kind is float and isfinite(value)):
        return value
    if isinstance(value, tuple) and kind is tuple:
        return [encode(item) for item in value]
    if isinstance(value, frozenset) and kind is frozenset:
        return {"$": "frozenset", "v": sorted((encode(item) for item in value), key=repr)}
    if kind in _WRITERS:
        word, write = _WRITERS[kind]
        return {"$": word, "v": write(value)}
    if field_names(kind) is not None:
        return {"$": identifier(kind), "v": encode_fields(value)}
    if isinstance(value, Enum):
        return {"$": identifier(kind), "v": encode(value.value)}
    raise TypeError(f"{identifier(kind)} is not a type that a session can hold")


def encode_fields(value: object) -> dict[str, object]:
    """The fields of a dataclass, except those that its constructor derives."""
    kind = type(value)
    assert is_dataclass(kind)
    return {one.name: encode(getattr(value, one.name)) for one in fields(kind) if one.init}


def decode(data: object, resolve: Callable[[str], type]) -> object:
    """The value that plain JSON data describes; raises TypeError or ValueError if it is invalid."""
    if isinstance(data, list):
        return tuple(decode(item, resolve) for item in data)
    if not isinstance(data, dict):
        return data
    if data.keys() != {"$", "v"} or not isinstance(data["$"], str):
        raise ValueError('an object must have exactly the keys "$" and "v"')
    word, value = data["$"], data["v"]
    if word == "frozenset":
        return frozenset(decode(item, resolve) for item in value)
    if word in _READERS:
        return _READERS[word](value)
    kind = resolve(word)
    if issubclass(kind, Enum):
        return kind(decode(value, resolve))
    return decode_fields(kind, value, resolve)


def decode_fields(kind: type, data: object, resolve: Callable[[str], type]) -> object:
    if field_names(kind) is None:
        raise ValueError(f"{identifier(kind)} is not a frozen dataclass")
    if not isinstance(data, Mapping):
        raise ValueError(f"the fields of {identifier(kind)} must be an object")
    return kind(**{name: decode(value, resolve) for name, value in data.items()})


class ClassResolver:
    """Finds a class by its identifier among the given classes and those already loaded.

    Nothing is imported and no attribute is computed: a name in the data never runs code.
    """

    def __init__(self, types: Iterable[type] = ()) -> None:
        self._given = {identifier(kind): kind for kind in types}

    def __call__(self, name: str) -> type:
        if name in self._given:
            return self._given[name]
        module, _, qualname = name.partition(":")
        found: object = sys.modules.get(module)
        for part in qualname.split("."):
            found = vars(found).get(part) if hasattr(found, "__dict__") else None
        if isinstance(found, type) and (is_dataclass(found) or issubclass(found, Enum)):
            return found
        raise ValueError(
            f"{name!r} is not a loaded dataclass or enum; import its module first, or pass the "
            "class in types"
        )
