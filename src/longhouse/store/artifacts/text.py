"""Bytes as text: finds character boundaries, and tells text from binary data."""

from __future__ import annotations

__all__ = ["is_binary", "split_start", "whole"]

_MASKS = ((0x80, 0x00, 1), (0xE0, 0xC0, 2), (0xF0, 0xE0, 3), (0xF8, 0xF0, 4))


def whole(data: bytes) -> int:
    """The length of `data` without an incomplete character at its end.

    Bytes that can never become a character count as complete; a decoder replaces them.
    """
    for back in range(1, min(4, len(data)) + 1):
        byte = data[-back]
        if byte & 0xC0 == 0x80:
            continue
        needed = next((n for mask, lead, n in _MASKS if byte & mask == lead), 1)
        if needed > back and _may_become(data[-back:]):
            return len(data) - back
        break
    return len(data)


def split_start(before: bytes, data: bytes) -> int:
    """How many bytes at the start of `data` complete a character that began in `before`."""
    begun = before[whole(before) :]
    if not begun:
        return 0
    for count in range(1, min(3, len(data)) + 1):
        try:
            (begun + data[:count]).decode()
        except UnicodeDecodeError:
            continue
        return count
    return 0


def is_binary(data: bytes, media_type: str) -> bool:
    """Whether to show the bytes as base64: if there is a zero byte, but never for a text type."""
    return not media_type.startswith("text/") and b"\0" in data


def _may_become(begun: bytes) -> bool:
    """Whether these bytes really are the beginning of a character."""
    try:
        begun.decode()
    except UnicodeDecodeError as error:
        return error.reason == "unexpected end of data"
    return False
