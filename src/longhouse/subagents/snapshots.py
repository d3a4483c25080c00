"""The state of a session at one moment, as a value.

A snapshot is deeply immutable, so it can be shared, compared, hashed, digested, and written to and
read from JSON.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, is_dataclass
from datetime import UTC, datetime
from types import MappingProxyType
from typing import Any

from longhouse.subagents.codec import (
    ClassResolver,
    decode_fields,
    encode_fields,
    identifier,
)
from longhouse.subagents.errors import (
    SliceValueError,
    SnapshotRestoreError,
    SnapshotSerializationError,
)
from longhouse.subagents.slices import check_keys, check_values

__all__ = ["Snapshot"]

VERSION = "1"

Slices = Mapping[type[Any], tuple[Any, ...]]


@dataclass(slots=True, frozen=True)
class Snapshot:
    """The slices, by type, at `created_at`; a naive time is taken as UTC."""

    created_at: datetime
    slices: Slices

    def __post_init__(self) -> None:
        if self.created_at.tzinfo is None:
            object.__setattr__(self, "created_at", self.created_at.replace(tzinfo=UTC))
        slices = {kind: tuple(values) for kind, values in self.slices.items()}
        check_keys(slices)
        for kind, values in slices.items():
            try:
                check_values(kind, values)
            except SliceValueError as error:
                raise SnapshotSerializationError(
                    f"Unable to serialize session slices: {error}"
                ) from error
        object.__setattr__(self, "slices", MappingProxyType(slices))

    @classmethod
    def of_session(cls, created_at: datetime, slices: dict[type[Any], tuple[Any, ...]]) -> Snapshot:
        """For sessions only: the values are already checked, and the dict is never changed."""
        check_keys(slices)
        snapshot = cls.__new__(cls)
        object.__setattr__(snapshot, "created_at", created_at)
        object.__setattr__(snapshot, "slices", MappingProxyType(slices))
        return snapshot

    def __hash__(self) -> int:
        return hash((self.created_at, tuple(self._by_identifier())))

    def _by_identifier(self) -> list[tuple[str, tuple[Any, ...]]]:
        return sorted(
            ((identifier(kind), values) for kind, values in self.slices.items()),
            key=lambda entry: entry[0],
        )

    def to_json(self) -> str:
        return _dumps(
            lambda: {
                "version": VERSION,
                "created_at": self.created_at.isoformat(),
                "slices": self._plain_slices(),
            }
        )

    def digest(self) -> str:
        """SHA-256 of the state alone, without the time."""
        return hashlib.sha256(_dumps(self._plain_slices).encode()).hexdigest()

    def _plain_slices(self) -> list[dict[str, object]]:
        entries: list[dict[str, object]] = []
        for kind, values in self.slices.items():
            item_types = {type(value) for value in values}
            if len(item_types) > 1:
                names = ", ".join(sorted(identifier(one) for one in item_types))
                raise SnapshotSerializationError(
                    f"Unable to serialize session slices: slice {identifier(kind)} mixes {names}; "
                    "keep one type in a slice"
                )
            item_type = next(iter(item_types), kind)
            entries.append(
                {
                    "slice_type": identifier(kind),
                    "item_type": identifier(item_type),
                    "items": [encode_fields(value) for value in values],
                }
            )
        return sorted(entries, key=lambda entry: str(entry["slice_type"]))

    @classmethod
    def from_json(cls, text: str | bytes, *, types: Iterable[type] = ()) -> Snapshot:
        """Read what `to_json` wrote; classes come from `types` and from modules already loaded."""
        resolve = ClassResolver(types)
        try:
            data = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise SnapshotRestoreError(f"The snapshot is not JSON: {error}") from error
        if not isinstance(data, dict):
            raise SnapshotRestoreError("The snapshot must be a JSON object.")
        if data.get("version") != VERSION:
            raise SnapshotRestoreError(
                f"The snapshot has version {data.get('version')!r}; this library reads {VERSION!r}."
            )
        try:
            created_at = datetime.fromisoformat(data["created_at"])
        except (KeyError, TypeError, ValueError) as error:
            raise SnapshotRestoreError("created_at must be an ISO 8601 time.") from error
        entries = data.get("slices")
        if not isinstance(entries, list):
            raise SnapshotRestoreError("slices must be a list.")
        slices: dict[type[Any], tuple[Any, ...]] = {}
        for index, entry in enumerate(entries):
            kind, values = _read_slice(index, entry, resolve)
            if kind in slices:
                raise SnapshotRestoreError(f"slices[{index}] repeats {identifier(kind)}.")
            slices[kind] = values
        try:
            return cls(created_at, slices)
        except SnapshotSerializationError as error:
            raise SnapshotRestoreError(str(error)) from error


def _read_slice(
    index: int, entry: object, resolve: ClassResolver
) -> tuple[type[Any], tuple[Any, ...]]:
    where = f"slices[{index}]"
    if not isinstance(entry, dict):
        raise SnapshotRestoreError(f"{where} must be an object.")
    kinds: list[type] = []
    for key in ("slice_type", "item_type"):
        name = entry.get(key)
        if not isinstance(name, str):
            raise SnapshotRestoreError(f"{where}.{key} must be a string.")
        try:
            kind = resolve(name)
        except ValueError as error:
            raise SnapshotRestoreError(f"{where}.{key}: {error}.") from error
        if not is_dataclass(kind):
            raise SnapshotRestoreError(f"{where}.{key}: {name!r} is not a dataclass.")
        kinds.append(kind)
    items = entry.get("items")
    if not isinstance(items, list):
        raise SnapshotRestoreError(f"{where}.items must be a list.")
    slice_type, item_type = kinds
    values: list[object] = []
    for position, item in enumerate(items):
        try:
            values.append(decode_fields(item_type, item, resolve))
        except Exception as error:  # the class's constructor may raise anything
            raise SnapshotRestoreError(f"{where}.items[{position}]: {error}.") from error
    return slice_type, tuple(values)


def _dumps(make: Callable[[], object]) -> str:
    try:
        return json.dumps(make(), sort_keys=True, separators=(",", ":"), allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise SnapshotSerializationError(f"Unable to serialize session slices: {error}") from error
