"""Reads an artifact by the offsets of its stream: ranges of bytes, ranges of lines, tails.

A gap left by a cap is skipped and reported, never filled. Memory use is constant: lines are counted
a block at a time, and the counts are kept, so that a later read starts near its place.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from longhouse.kernel.effort import spend
from longhouse.kernel.secret_shapes import LONGEST
from longhouse.store.artifacts.growing import Gap
from longhouse.store.artifacts.text import split_start, whole

__all__ = ["ArtifactView", "LineCounts", "Piece", "Pread", "nearby"]

Pread = Callable[[int, int], bytes]
"""(offset, length) -> bytes, in offsets of the stored bytes."""

_BLOCK = 1 << 18
_LONGEST = 4
_AROUND = LONGEST + 2 * _LONGEST


class Piece(NamedTuple):
    """Some bytes: where they begin, how much was skipped to get there, where to continue."""

    data: bytes
    offset: int
    next_offset: int
    skipped: int = 0
    first_line: int | None = None


class LineCounts:
    """How many lines end before each block of a stream, as far as it has been read."""

    __slots__ = ("before",)

    def __init__(self) -> None:
        self.before: list[int] = [0]


class ArtifactView:
    """A stream of `size` bytes, of which those in `gap` are gone.

    Lines after the gap have numbers only if the lines in it were `counted` before they were cut.
    """

    __slots__ = ("_compact", "_counted", "_counts", "_pread", "gap", "size")

    def __init__(
        self,
        pread: Pread,
        size: int,
        gap: Gap | None = None,
        *,
        compact: bool = True,
        counted: bool = True,
        counts: LineCounts | None = None,
    ) -> None:
        self._pread = pread
        self.size = size
        self.gap = gap if gap and gap.bytes else None
        self._compact = compact
        self._counted = counted
        self._counts = counts or LineCounts()

    def read(self, offset: int, length: int) -> Piece:
        """Up to `length` bytes; a read stops at the gap, and the next one begins after it."""
        gap, asked = self.gap, offset
        if gap and gap.at <= offset < gap.end:
            offset = gap.end
        length = min(length, self.size - offset)
        if gap and offset < gap.at:
            length = min(length, gap.at - offset)
        if length <= 0:
            return Piece(b"", min(offset, self.size), min(offset, self.size), 0)
        spend(length)
        at = offset - gap.bytes if gap and self._compact and offset >= gap.end else offset
        data = self._pread(at, length)
        return Piece(data, offset, offset + len(data), offset - asked)

    def text(self, offset: int, length: int) -> Piece:
        """The same, beginning and ending at whole characters; always makes progress."""
        piece = self.read(offset, length + 2 * _LONGEST)
        data, start = piece.data, 0
        if piece.offset and not piece.skipped:
            floor = self.gap.end if self.gap and piece.offset >= self.gap.end else 0
            begin = max(floor, piece.offset - _LONGEST)
            start = split_start(self.read(begin, piece.offset - begin).data, data)
        end = len(data)
        if end > length or not self._is_edge(piece.next_offset):
            end = max(start + _first_char(data[start:]), whole(data[:length]))
        return piece._replace(
            data=data[start:end], offset=piece.offset + start, next_offset=piece.offset + end
        )

    def tail(self, length: int) -> Piece:
        """The last bytes, starting at a whole character."""
        return self.text(max(0, self.size - length), length)

    def lines(self, first: int, count: int, max_bytes: int) -> Piece:
        """Lines from `first` (counted from 1), at most `max_bytes`, cut between characters.

        For a line inside the gap, reading starts at the first byte after the gap and `skipped` says
        so; `first_line` is then None if the number of lines in the gap is unknown.
        """
        at, number, skipped = self._start_of(first)
        end = self._end_of(at, count, max_bytes)
        piece = self.text(at, end - at) if end > at else Piece(b"", at, at)
        return piece._replace(skipped=piece.skipped or skipped, first_line=number)

    def last_lines(self, count: int, max_bytes: int) -> Piece:
        """The last lines, as many as fit; an unfinished line counts as one."""
        floor = self.gap.end if self.gap else 0
        low = max(floor, self.size - max_bytes)
        found = 0
        at = self.size
        while at > low:
            begin = max(low, at - _BLOCK)
            data = self.read(begin, at - begin).data
            cut = len(data) - 1 if at == self.size and data.endswith(b"\n") else len(data)
            while (cut := data.rfind(b"\n", 0, cut)) >= 0:
                found += 1
                if found == count:
                    start = begin + cut + 1
                    return self.text(start, self.size - start)
            at = begin
        return self.text(low, self.size - low)

    def _is_edge(self, offset: int) -> bool:
        return offset >= self.size or bool(self.gap and offset == self.gap.at)

    def _start_of(self, line: int) -> tuple[int, int | None, int]:
        """Where a line begins, its number, and how much was skipped to get there."""
        at, ended = self._near(line - 1)
        while ended < line - 1 and at < self.size:
            if self.gap and at == self.gap.at:
                if not self._counted or ended + self.gap.lines >= line - 1:
                    break
                at, ended = self.gap.end, ended + self.gap.lines
                continue
            data = self.read(at, _BLOCK).data
            lines = data.count(b"\n")
            if ended + lines >= line - 1:
                cut = 0
                for _ in range(line - 1 - ended):
                    cut = data.index(b"\n", cut) + 1
                at, ended = at + cut, line - 1
                break
            at, ended = at + len(data), ended + lines
        if self.gap and at == self.gap.at:
            number = ended + self.gap.lines + 1 if self._counted else None
            return self.gap.end, number, self.gap.bytes
        return at, ended + 1, 0

    def _near(self, ended: int) -> tuple[int, int]:
        """The last block start before which fewer than `ended` lines end, or the first block."""
        import bisect

        before = self._counts.before
        last = (self.gap.at if self.gap else self.size) // _BLOCK
        while before[-1] < ended and len(before) <= last:
            at = (len(before) - 1) * _BLOCK
            before.append(before[-1] + self.read(at, _BLOCK).data.count(b"\n"))
        index = max(0, bisect.bisect_left(before, ended) - 1)
        return index * _BLOCK, before[index]

    def _end_of(self, at: int, count: int, max_bytes: int) -> int:
        """Where the `count`-th line from `at` ends, at most `max_bytes` later."""
        end = at
        for data in self._from(at, max_bytes):
            cut = -1
            while count and (cut := data.find(b"\n", cut + 1)) >= 0:
                count -= 1
                if not count:
                    return end + cut + 1
            end += len(data)
        return end

    def _from(self, at: int, length: int) -> Iterator[bytes]:
        stop = min(at + length, self.size)
        while at < stop and (data := self.read(at, min(_BLOCK, stop - at)).data):
            yield data
            at += len(data)
            if self.gap and at == self.gap.at:
                return


def nearby(pread: Pread, start: int, end: int) -> Pread:
    """Reads a little more on both sides, and answers later reads nearby from that.

    A window of text is read with as much around it as the longest secret takes.
    """
    at, held = start, b""

    def read(offset: int, length: int) -> bytes:
        nonlocal at, held
        if length > _BLOCK:
            return pread(offset, length)
        if not at <= offset <= offset + length <= at + len(held):
            begin = max(start, offset - _AROUND)
            at, held = begin, pread(begin, min(end, offset + length + _AROUND) - begin)
        return held[offset - at : offset - at + length]

    return read


def _first_char(data: bytes) -> int:
    """The length of the first character; 1 for an invalid byte, 0 for no data."""
    for length in range(1, min(_LONGEST, len(data)) + 1):
        try:
            data[:length].decode()
        except UnicodeDecodeError:
            continue
        return length
    return min(1, len(data))
