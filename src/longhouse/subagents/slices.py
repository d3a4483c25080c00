"""Checks what a slice may hold and what a snapshot may name, on every write to a session."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import is_dataclass
from typing import Any

from longhouse.subagents.errors import SliceValueError, SnapshotSerializationError
from longhouse.subagents.immutable import flaw

__all__ = ["FROZEN_HINT", "check_keys", "check_values"]

FROZEN_HINT = "a session keeps only immutable values: frozen dataclasses, tuples, frozensets"


def check_keys(slices: Iterable[object]) -> None:
    """Refuse slices that a snapshot cannot name: their keys must be dataclasses."""
    foreign = [kind for kind in slices if not (isinstance(kind, type) and is_dataclass(kind))]
    if foreign:
        names = ", ".join(sorted(getattr(kind, "__qualname__", repr(kind)) for kind in foreign))
        raise SnapshotSerializationError(
            f"Unable to serialize session slices: {names} must be dataclasses; wrap such values"
        )


def check_values(
    slice_type: type[Any], values: tuple[Any, ...], known: tuple[Any, ...] = ()
) -> None:
    """Refuse mutable values, and values other than dataclasses in a dataclass slice.

    Values in `known` were checked before and are skipped.
    """
    seen = frozenset(map(id, known))
    wants_dataclass = is_dataclass(slice_type)
    for index, value in enumerate(values):
        if id(value) in seen:
            continue
        if wants_dataclass and not is_dataclass(type(value)):
            found: str | None = "; a dataclass slice holds dataclass instances"
        else:
            found = flaw(value)
        if found is not None:
            where = f"slice {slice_type.__qualname__}, item {index}"
            raise SliceValueError(f"{where}: {type(value).__qualname__}{found}; {FROZEN_HINT}")
