"""Converts values so that PostgreSQL behaves like SQLite: 64-bit integers, and text.

Values are sent as text, and the server infers their types from the statement, so each statement is
prepared once whatever its values. Sums come back as integers, conditions as 1 and 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from psycopg.pq.abc import PGresult

from longhouse.kernel.errors import InvalidInput
from longhouse.store.engine import Row

__all__ = ["Column", "columns_of", "dump", "loader", "rows_of"]

Column = tuple[int, str, Callable[[bytes], Any]]

_BOOL, _BYTES, _NUMERIC, _WHOLE = 16, 17, 1700, (20, 21, 23)


def dump(value: str | int | bytes | None) -> bytes | None:
    """A value in the server's text format."""
    if value is None:
        return None
    if isinstance(value, bytes):
        return b"\\x" + value.hex().encode()
    if not isinstance(value, str):
        return b"%d" % value
    if "\0" in value:  # the server would read it as the end of the value
        raise InvalidInput("text must not contain NUL characters", recovery="remove them")
    return value.encode()


def loader(oid: int) -> Callable[[bytes], Any]:
    """The conversion for columns of that type; types not listed here are text."""
    return _LOADERS.get(oid, bytes.decode)


_LOADERS: dict[int, Callable[[bytes], Any]] = {
    **dict.fromkeys((*_WHOLE, _NUMERIC), int),
    _BYTES: lambda data: bytes.fromhex(data[2:].decode()),
    _BOOL: lambda data: int(data == b"t"),
}


def columns_of(result: PGresult) -> list[Column]:
    return [
        (index, (result.fname(index) or b"").decode(), loader(result.ftype(index)))
        for index in range(result.nfields)
    ]


def rows_of(result: PGresult, columns: list[Column]) -> list[Row]:
    value = result.get_value
    return [
        {
            name: None if (data := value(row, index)) is None else load(data)
            for index, name, load in columns
        }
        for row in range(result.ntuples)
    ]
