"""Values on PostgreSQL as they are on SQLite: whole numbers are 64 bits wide, text is text.

Values travel as text and the server finds their types in the statement, so that one statement is
prepared once whatever its values are. Sums come back as whole numbers, conditions as 1 and 0.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from longhouse.kernel.errors import InvalidInput

__all__ = ["dump", "loader"]

_BOOL, _NUMERIC, _WHOLE = 16, 1700, (20, 21, 23)


def dump(value: str | int | None) -> bytes | None:
    """A value as the server reads it."""
    if value is None:
        return None
    if not isinstance(value, str):
        return b"%d" % value
    if "\0" in value:  # the server would take it for the end
        raise InvalidInput("text must not contain the character NUL", recovery="leave it out")
    return value.encode()


def loader(oid: int) -> Callable[[bytes], Any]:
    """What makes a value of a column of that type; what is not named here is text."""
    return _LOADERS.get(oid, bytes.decode)


_LOADERS: dict[int, Callable[[bytes], Any]] = {
    **dict.fromkeys((*_WHOLE, _NUMERIC), int),
    _BOOL: lambda data: int(data == b"t"),
}
