"""A growing log: bytes are appended, a cap keeps its head and tail, and finishing it seals it.

Offsets are those of the whole stream and never move: at the cap, the middle is punched out of the
file. The gap is recorded first, so a crash can leave bytes that are declared gone, but no hole that
reads as data; after a power cut, opening the log looks for holes. The sealed bytes depend only on
the stream and the cap, not on timing. Writers take turns (`extend`).
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from longhouse.kernel.errors import StoreBusy
from longhouse.store.artifacts.disk import Dir, OpenFile, disk_errors, sha256, write_all
from longhouse.store.artifacts.punch import punch

__all__ = [
    "Gap",
    "GrowingLog",
    "cut_for",
    "is_cut",
    "is_due",
    "middle_of",
    "open_growing",
    "read_gap",
    "record_gap",
    "steady",
]

_STEP = 1 << 16
_RECORDS = 256


class Gap(NamedTuple):
    """What a cap cut out of a stream: where it starts, and how much it was."""

    at: int
    bytes: int
    lines: int

    @property
    def end(self) -> int:
        return self.at + self.bytes


def is_due(cap: int | None, size: int, gap: Gap | None) -> bool:
    """Whether to widen the gap: once half a cap has accumulated, so that this happens rarely."""
    if cap is None:
        return False
    return size - (gap.bytes if gap else 0) >= cap + max(cap // 2, _STEP)


def is_cut(cap: int | None, size: int, gap: Gap | None) -> bool:
    """Whether some bytes are gone, or would be at the log's end."""
    return gap is not None or (cap is not None and size > cap)


def middle_of(cap: int, size: int, gap: Gap | None) -> int:
    """Where the head ends: at half the cap, or earlier if the head is shorter."""
    return min(cap // 2, gap.at) if gap else min(cap // 2, size)


def cut_for(
    cap: int | None, size: int, gap: Gap | None, lines: Callable[[int, int], int]
) -> Gap | None:
    """The gap that keeps half the cap from the start, and the rest of the cap from the end.

    `lines` counts the lines that end between two offsets.
    """
    if cap is None or size <= cap:
        return gap
    at = middle_of(cap, size, gap)
    known = gap or Gap(at, 0, 0)
    end = max(known.end, size - (cap - at))
    return Gap(at, end - at, known.lines + lines(known.end, end))


class GrowingLog:
    """The one writer's view of a log."""

    def __init__(self, folder: Dir, name: str, *, cap: int | None = None) -> None:
        self.name = name
        self.cap = cap
        self._folder = folder
        with disk_errors("a log"):
            self._file = folder.open(name, os.O_RDWR | os.O_CREAT | os.O_APPEND)
            folder.sync()
        self.gap = self._found_gap(read_gap(folder, name))
        self._hash = sha256()
        self._hashed = 0

    def size(self) -> int:
        return self._file.size()

    def append(self, data: bytes | memoryview) -> int:
        """Append and return the offset at which the bytes begin."""
        at = self._file.size()
        with disk_errors("the end of a log"):
            write_all(self._file.fd, data)
        if self._hashed == at and self.gap is None:
            self._hash.update(data)
            self._hashed = at + len(data)
        self._keep_cap(at + len(data))
        return at

    def extend(self, offset: int, data: bytes, *, skip_to: int | None = None) -> int:
        """Append if the log ends at `offset`; returns its size. Locked against other writers."""
        with disk_errors("a log"):
            fcntl.flock(self._file.fd, fcntl.LOCK_EX)
        try:
            if self.size() == offset:
                self.append(data)
                if skip_to is not None and skip_to > self.size():
                    self.skip(skip_to)
            return self.size()
        finally:
            fcntl.flock(self._file.fd, fcntl.LOCK_UN)

    def skip(self, to: int) -> None:
        """Continue at a later offset; everything between the head and it is gone."""
        assert self.cap is not None
        at = middle_of(self.cap, self._file.size(), self.gap)
        self.gap = Gap(at, to - at, self.gap.lines if self.gap else 0)
        self._write_gap(self.gap)
        with disk_errors("a log"):
            os.ftruncate(self._file.fd, to)
        punch(self._file.fd, at, to)

    def sync(self) -> None:
        """Flush to disk; after this the bytes survive a power cut."""
        with disk_errors("a log"):
            os.fsync(self._file.fd)

    @property
    def is_cut(self) -> bool:
        """Whether not all of its bytes would stay if it ended now."""
        return is_cut(self.cap, self.size(), self.gap)

    def digest(self) -> tuple[str, int]:
        """The digest of a log that nothing was cut from, and its length."""
        size = self._file.size()
        self._hash_to(size)
        return self._hash.hexdigest(), size

    def _hash_to(self, size: int) -> None:
        for chunk in self._file.chunks(self._hashed, size):
            self._hash.update(chunk)
            self._hashed += len(chunk)

    def _keep_cap(self, size: int) -> None:
        """Widen the gap once half a cap has accumulated after it, so that this happens rarely."""
        if is_due(self.cap, size, self.gap):
            before, self.gap = self.gap, self._final_gap(size)
            assert self.gap is not None
            self._write_gap(self.gap)
            punch(self._file.fd, before.end if before else self.gap.at, self.gap.end)

    def _final_gap(self, size: int) -> Gap | None:
        """The gap that keeps half the cap from the start, and the rest of the cap from the end."""
        return cut_for(
            self.cap,
            size,
            self.gap,
            lambda start, end: sum(c.count(b"\n") for c in self._file.chunks(start, end)),
        )

    def _write_gap(self, gap: Gap) -> None:
        with disk_errors("a log"):
            record_gap(self._folder, self.name, gap)

    def _found_gap(self, known: Gap | None) -> Gap | None:
        """The recorded gap, widened if the file has a larger hole, whose lines are unknown."""
        size = self._file.size()
        if self.cap is None or size <= self.cap:
            return known
        try:
            hole = os.lseek(self._file.fd, self.cap // 2, os.SEEK_HOLE)
            end = os.lseek(self._file.fd, hole, os.SEEK_DATA) if hole < size else 0
        except OSError:
            return known
        if end <= (known.end if known else self.cap // 2):
            return known
        at = min(self.cap // 2, known.at) if known else self.cap // 2
        found = Gap(at, end - at, known.lines if known else 0)
        self._write_gap(found)
        return found


def open_growing(folder: Dir, name: str) -> tuple[OpenFile, Gap | None]:
    """A reader's view: the file, and its gap so far. Gaps only grow."""
    file = folder.open(name)
    return file, read_gap(folder, name)


def steady(
    file: OpenFile, gap: Gap | None, gap_now: Callable[[], Gap | None]
) -> Callable[[int, int], bytes]:
    """A `pread` for a log that had this gap; StoreBusy if what it reads is being cut out.

    It checks the gap after reading the bytes, because the gap is recorded before they are removed.
    """

    def pread(offset: int, length: int) -> bytes:
        data = os.pread(file.fd, length, offset)
        now = gap_now()
        if now != gap and now and offset < now.end and now.at < offset + length:
            raise StoreBusy("the middle of this log was cut out while it was being read")
        return data

    return pread


def record_gap(folder: Dir, name: str, gap: Gap) -> None:
    """Append a line to the gap's file; its last complete line is the current gap."""
    file = folder.open(f"{name}.gap", os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    write_all(file.fd, msgspec.json.encode(gap) + b"\n")


def read_gap(folder: Dir, name: str) -> Gap | None:
    try:
        file = folder.open(f"{name}.gap")
    except FileNotFoundError:
        return None
    tail = os.pread(file.fd, _RECORDS, max(0, file.size() - _RECORDS))
    whole = tail.rpartition(b"\n")[0].rpartition(b"\n")[2]
    return msgspec.json.decode(whole, type=Gap) if whole else None
