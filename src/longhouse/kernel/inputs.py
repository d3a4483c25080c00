"""The values accepted at all: JSON that both databases can store, of bounded depth.

Checked once per call, before any type is decoded, so that no room has to handle lone surrogates,
NUL characters, integers beyond 64 bits, or a thousand nested lists.
"""

from __future__ import annotations

import re
from typing import Any

from longhouse.kernel.effort import spend
from longhouse.kernel.errors import InvalidInput

__all__ = ["MAX_DEPTH", "asks_for_lines", "check_json", "from_base64", "is_too_deep"]

MAX_DEPTH = 32
_TEXT_DEPTH = 2 * MAX_DEPTH
"""The deepest nesting of JSON text that is parsed: arguments, and the messages around them."""
_STRINGS = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"?', re.DOTALL)
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_AT_ONCE = 256
"""How many values are checked between two pauses, in places where work is paced."""
_LOW, _HIGH = -(2**63), 2**63


def from_base64(field: str, text: str) -> bytes:
    """Decode a base64 argument strictly; the error names the argument."""
    import binascii

    try:
        return binascii.a2b_base64(text, strict_mode=True)
    except ValueError as error:
        raise InvalidInput(f"{field}: not base64: {error}; fix: {field}=aGkK") from None


def is_too_deep(data: bytes) -> bool:
    """Whether JSON text nests deeper than any call needs, determined without parsing it.

    Each pass removes the innermost brackets. Brackets that remain after one pass per permitted
    level are nested too deep, or do not match.
    """
    if data.count(b"[") + data.count(b"{") <= _TEXT_DEPTH:
        return False
    brackets = _STRINGS.sub(b"", data).translate(None, _NOT_BRACKETS)
    for _ in range(_TEXT_DEPTH):
        brackets = brackets.replace(b"[]", b"").replace(b"{}", b"")
    return bool(brackets)


def check_json(args: dict[Any, Any]) -> bool:
    """Refuse any value that could not be stored and returned unchanged; the error says where.

    True if some text is only white space, which is for its type to judge.
    """
    return _check(args, "", 0)


def asks_for_lines(arguments: Any) -> bool:
    """Whether the call asks for `fmt=lines`, at the top level or in `args`."""
    if not isinstance(arguments, dict):
        return False
    inner = arguments.get("args")
    inner = inner if isinstance(inner, dict) else {}
    return "lines" in (arguments.get("fmt"), inner.get("fmt"))


def _check(value: Any, where: str, depth: int) -> bool:
    """Whether the value has a blank text."""
    kind, blank = type(value), False
    if kind is str:
        _check_text(value, where)
        return value.isspace()  # type: ignore[no-any-return]
    if value is None or kind is bool:
        return False
    if kind is int:
        if not _LOW <= value < _HIGH:
            raise _wrong(where, "a whole number of at most 64 bits", "1")
    elif kind is float:
        if value != value or value in (float("inf"), float("-inf")):
            raise _wrong(where, "a finite number", "1.5")
    elif depth >= MAX_DEPTH:
        top = where.partition(".")[0].partition("[")[0]
        raise _wrong(top, f"at most {MAX_DEPTH} levels of nesting", "{}")
    elif isinstance(value, dict):
        for index, (key, inner) in enumerate(value.items()):
            if index % _AT_ONCE == _AT_ONCE - 1:
                spend(_AT_ONCE)
            if type(key) is not str:
                raise _wrong(where, "names that are text", '{"name": "value"}')
            if not key.isascii() or "\x00" in key:
                _check_text(key, where)
            if type(inner) is str and inner.isascii() and "\x00" not in inner:  # most are
                blank |= inner.isspace()
            elif inner is not None:
                blank |= _check(inner, f"{where}.{key[:80]}" if where else key[:80], depth + 1)
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            if index % _AT_ONCE == _AT_ONCE - 1:
                spend(_AT_ONCE)
            blank |= _check(inner, f"{where}[{index}]", depth + 1)
    else:
        raise _wrong(where, "a JSON value", '"text"')
    return blank


def _check_text(text: str, where: str) -> None:
    if "\x00" in text:
        raise _wrong(where, "text without NUL characters", '"text"')
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise _wrong(where, "valid Unicode, without lone surrogates", '"text"') from None


def _wrong(where: str, shape: str, example: str) -> InvalidInput:
    field = where[:120] or "args"
    return InvalidInput(
        f"{field}: expected {shape}; fix: {field}={example}",
        recovery=f"{field}={example}",
        hints=[{"kind": "type", "field": field, "expected": shape}],
    )
