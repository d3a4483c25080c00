"""Decides which values may enter a session: only deeply immutable ones.

Parent and child share values instead of copying them, so their isolation depends on this rule. The
list is closed, and `codec` can write exactly these kinds.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from enum import Enum
from pathlib import Path, PurePosixPath, PureWindowsPath
from types import NoneType
from uuid import UUID

__all__ = ["LEAVES", "field_names", "flaw"]

LEAVES: frozenset[type] = frozenset(
    {
        NoneType,
        bool,
        int,
        float,
        str,
        bytes,
        Decimal,
        UUID,
        datetime,
        date,
        time,
        timedelta,
        type(Path()),
        PurePosixPath,
        PureWindowsPath,
    }
)

_ABSENT = object()

REMEMBERED = 4096
_known: dict[type, tuple[str, ...] | None] = {}


def field_names(kind: type) -> tuple[str, ...] | None:
    """The fields of a frozen, hashable dataclass; None for any other class.

    A plain subclass of a frozen dataclass does not qualify: its instances accept new attributes.
    """
    try:
        return _known[kind]
    except KeyError:
        pass
    if len(_known) >= REMEMBERED:  # classes created at run time must not accumulate
        _known.clear()
    params = kind.__dict__.get("__dataclass_params__")
    frozen = params is not None and params.frozen and kind.__hash__ is not None
    names = tuple(one.name for one in fields(kind)) if frozen and is_dataclass(kind) else None
    _known[kind] = names
    return names


def flaw(value: object) -> str | None:
    """Where a value is mutable, as in ".tags holds a list"; None if it is immutable."""
    try:
        return _flaw(value)
    except RecursionError:
        return " is nested too deeply"


def _flaw(value: object) -> str | None:
    kind = type(value)
    if kind in LEAVES:
        return None
    names = field_names(kind)
    if names is not None:
        # Without slots there may be more attributes than fields, such as cached properties.
        for name in (*names, *getattr(value, "__dict__", ())):
            found = _flaw(getattr(value, name, _ABSENT))
            if found is not None:
                return f".{name}{found}"
        return None
    if isinstance(value, tuple) and kind is tuple:
        for index, item in enumerate(value):
            found = _flaw(item)
            if found is not None:
                return f"[{index}]{found}"
        return None
    if isinstance(value, frozenset) and kind is frozenset:
        return next((found for item in value if (found := _flaw(item))), None)
    if isinstance(value, Enum):
        return _flaw(value.value)
    if value is _ABSENT:
        return " was never set"
    return f" holds a {'mutable ' if is_dataclass(kind) else ''}{kind.__qualname__}"
