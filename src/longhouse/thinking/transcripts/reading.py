"""Reading files in windows and blocks: flat memory however large a file or a line is.

A file is read up to the size it had when it was opened; what is written meanwhile is not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

__all__ = ["HEAD", "Budget", "Found", "lines_with", "window"]

HEAD = 256 << 10
BLOCK = 1 << 20
LONGEST_LINE = 16 << 20


class Budget:
    """How many bytes may still be read."""

    def __init__(self, total: int) -> None:
        self.left = total
        self.read = 0
        self.truncated = False

    def take(self, wanted: int) -> int:
        """As much of it as is left; being short is remembered."""
        given = min(wanted, self.left)
        self.truncated = self.truncated or given < wanted
        self.left -= given
        self.read += given
        return given

    def give_back(self, count: int) -> None:
        """What was read will be read again and counts once."""
        count = min(count, self.read)
        self.left += count
        self.read -= count


class Found(NamedTuple):
    """A line with where it begins and its number, counted from 1."""

    byte: int
    number: int
    line: bytes


def window(file: BinaryIO, start: int, length: int, budget: Budget) -> bytes:
    """Bytes of a file, as many as the budget has."""
    file.seek(start)
    wanted = budget.take(length)
    parts = []
    while wanted > 0 and (part := file.read(wanted)):
        parts.append(part)
        wanted -= len(part)
    return b"".join(parts)


def lines_with(file: BinaryIO, size: int, needle: bytes, budget: Budget) -> Iterator[Found]:
    """The lines that hold the bytes, in order; every line where there are none to look for.

    A line longer than the longest is passed over: no message is that long.
    """
    file.seek(0)
    carry = b""
    start, number, left = 0, 1, size
    while left > 0:
        wanted = budget.take(min(BLOCK, left))
        block = file.read(wanted) if wanted else b""
        if not block:
            break
        left -= len(block)
        data = carry + block if carry else block
        end = data.rfind(b"\n") + 1 if left > 0 else len(data)
        if end == 0 and len(data) > LONGEST_LINE:
            carry = b""
            start += len(data)
            continue
        yield from _in(data, end, needle, start, number)
        if end:
            number += data.count(b"\n", 0, end)
            start += end
        carry = data[end:]


def _in(data: bytes, end: int, needle: bytes, start: int, number: int) -> Iterator[Found]:
    """The lines of a block that hold the bytes."""
    at = counted = 0
    while at < end:
        hit = data.find(needle, at, end)
        if hit < 0:
            return
        begin = data.rfind(b"\n", 0, hit) + 1 if needle else at
        stop = data.find(b"\n", hit, end)
        stop = end if stop < 0 else stop
        number += data.count(b"\n", counted, begin)
        counted = begin
        yield Found(start + begin, number, data[begin:stop])
        at = stop + 1
