"""A block of a file in memory, and fast searching in it.

`bytearray.find` takes three times as long as the C library's `memmem`, and counting newlines takes
as long as finding; over an archive, that is most of a search. So `memmem` is used if available.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["BLOCK", "Buffer"]

BLOCK = 1 << 20
_SAMPLE = 4 << 10
_LONG_LINES = 8
"""Up to this many newlines in a sample, finding them one by one is faster than counting."""


def _memmem() -> Callable[..., int | None] | None:
    try:
        found: Any = ctypes.CDLL(None).memmem
    except (AttributeError, OSError, TypeError):
        return None  # the platform lacks it
    found.restype = ctypes.c_void_p
    found.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t]
    made: Callable[..., int | None] = found
    return made


_MEMMEM = _memmem()


class Buffer:
    """A reusable block of bytes; only `grow` changes its size."""

    def __init__(self, size: int = BLOCK) -> None:
        self._hold(bytearray(size))

    def _hold(self, data: bytearray) -> None:
        self.data = data
        self._exported = (ctypes.c_char * len(data)).from_buffer(data)  # pins its address
        self._address = ctypes.addressof(self._exported)

    def grow(self) -> None:
        """Double the size and keep the content."""
        self._hold(self.data + bytes(len(self.data)))

    def find(self, needle: bytes, start: int, end: int) -> int:
        """The first position of the needle between `start` and `end`, or -1."""
        if _MEMMEM is None or not needle or start >= end:
            return self.data.find(needle, start, end)
        at = _MEMMEM(self._address + start, end - start, needle, len(needle))
        return -1 if at is None else at - self._address

    def lines_with(self, needle: bytes, end: int) -> Iterator[tuple[int, int]]:
        """The start and end of each line that contains the needle; of every line if it is empty."""
        at = 0
        while at < end:
            hit = self.find(needle, at, end)
            if hit < 0:
                return
            begin = self.data.rfind(b"\n", 0, hit) + 1 if needle else at
            stop = self.data.find(b"\n", hit, end)
            stop = end if stop < 0 else stop
            yield begin, stop
            at = stop + 1

    def newlines(self, start: int, end: int) -> int:
        """The number of newlines between two positions."""
        find = self.data.find
        if self.data.count(b"\n", start, min(end, start + _SAMPLE)) > _LONG_LINES:
            return self.data.count(b"\n", start, end)
        found, at = 0, find(b"\n", start, end)
        while at >= 0:
            found, at = found + 1, find(b"\n", at + 1, end)
        return found
