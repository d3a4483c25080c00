"""Reading files in blocks, with constant memory for files and lines of any size.

A file is read up to the size it had when it was opened; later writes are not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import BinaryIO, NamedTuple

from longhouse.kernel.effort import spend
from longhouse.thinking.transcripts.buffer import Buffer
from longhouse.thinking.transcripts.messages import TranscriptHeader, header_of, is_below

__all__ = [
    "HEAD",
    "BytesLeft",
    "FoundLine",
    "beginning",
    "ending",
    "lines_with",
    "window",
]

HEAD = 256 << 10
LONGEST_LINE = 16 << 20
_GLANCE = 16 << 10


class BytesLeft:
    """How many bytes may still be read."""

    def __init__(self, total: int) -> None:
        self.left = total
        self.read = 0
        self.truncated = False

    def take(self, wanted: int) -> int:
        """Take up to `wanted` bytes; sets `truncated` if fewer are left."""
        given = min(wanted, self.left)
        self.truncated = self.truncated or given < wanted
        self.left -= given
        self.read += given
        return given

    def give_back(self, count: int) -> None:
        """Return bytes that will be read again, so that they count once."""
        count = min(count, self.read)
        self.left += count
        self.read -= count


class FoundLine(NamedTuple):
    """A line, its byte offset, and its number, counted from 1, if known."""

    byte: int
    line: bytes
    number: int | None = None


def window(file: BinaryIO, start: int, length: int, budget: BytesLeft) -> bytes:
    """Up to `length` bytes of a file, as far as the budget allows."""
    return _read(file, start, budget.take(length))


def _read(file: BinaryIO, start: int, wanted: int) -> bytes:
    file.seek(start)
    spend(wanted)
    parts = []
    while wanted > 0 and (part := file.read(wanted)):
        parts.append(part)
        wanted -= len(part)
    return b"".join(parts)


def ending(file: BinaryIO, size: int, length: int, budget: BytesLeft) -> tuple[int, bytes]:
    """The last `length` bytes of a file and where they begin; a small budget reads the newest."""
    given = budget.take(min(length, size))
    return size - given, _read(file, size - given, given)


def beginning(
    file: BinaryIO, size: int, budget: BytesLeft, prefix: str | None = None
) -> tuple[TranscriptHeader, bytes]:
    """The header of a file and the bytes read for it; reads no more than it needs."""
    head = window(file, 0, min(_GLANCE, size), budget)
    header = header_of(head, prefix)
    known = header.session.id is not None and prefix is not None and is_below(header.hints, prefix)
    if known or size <= _GLANCE:
        return header, head
    head += window(file, _GLANCE, min(HEAD, size) - _GLANCE, budget)
    return header_of(head, prefix), head


def lines_with(
    file: BinaryIO, size: int, needle: bytes, budget: BytesLeft, buffer: Buffer | None = None
) -> Iterator[FoundLine]:
    """The lines that contain `needle`, in order; every line if it is empty.

    One buffer is reused, and an incomplete line moves to its front. A line longer than LONGEST_LINE
    is skipped, because no message is that long. Newlines are counted only when a line is found, by
    reading the skipped part again.
    """
    file.seek(0)
    buffer = buffer or Buffer()
    start, number, counted, left, kept = 0, 1, 0, size, 0
    while left > 0:
        if kept == len(buffer.data):
            if kept >= LONGEST_LINE:
                start, kept = start + kept, 0
            else:
                buffer.grow()
        data = buffer.data
        wanted = budget.take(min(len(data) - kept, left))
        spend(wanted)
        with memoryview(data) as view:
            got = file.readinto(view[kept : kept + wanted]) if wanted else 0  # type: ignore[attr-defined]
        if not got:
            return
        left -= got
        filled = kept + got
        end = data.rfind(b"\n", 0, filled) + 1 if left > 0 else filled
        for begin, stop in buffer.lines_with(needle, end):
            if counted < start:
                number += _newlines_before(file, counted, start)
                file.seek(start + filled)
                counted = start
            number += buffer.newlines(counted - start, begin)
            counted = start + begin
            yield FoundLine(counted, bytes(data[begin:stop]), number)
        start += end
        kept = filled - end
        data[:kept] = data[end:filled]


def _newlines_before(file: BinaryIO, start: int, end: int) -> int:
    """The number of newlines in a range of a file."""
    file.seek(start)
    buffer, found = Buffer(), 0
    while start < end:
        with memoryview(buffer.data) as view:
            spend(min(len(buffer.data), end - start))
            got = file.readinto(view[: end - start])  # type: ignore[attr-defined]
        if not got:
            break
        found += buffer.newlines(0, got)
        start += got
    return found
