"""One stream of a task on disk: its program writes the file, the host follows, hashes and caps it.

An offset always counts the bytes the program wrote. Above the cap, the head and the tail are kept
and the middle is punched out of the file. The gap is recorded first (`NAME.gap`), so that a reader
can tell its zeros from the program's output.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import Any

from longhouse.kernel.private_files import open_private, read_private, write_private
from longhouse.runner.host import sparse_files
from longhouse.runner.host.hashing import AT_A_TIME, Hasher

__all__ = ["LEAST_CAP", "Log", "gap_of"]

BLOCK = 4096
LEAST_CAP = 4 * BLOCK
STEP = 4 << 20
"""How much space is freed at a time."""
FLOOD_STEP = 128 << 20
"""A larger step for a log that grows fast: its program waits while space is freed."""
TURN = 16 << 20
MUCH = 1 << 20
"""More than this is hashed outside the host's loop."""

_buffer = memoryview(bytearray(AT_A_TIME))


def gap_of(folder: Path, stream: str) -> tuple[int, int] | None:
    """The offsets of the gap; read it after the data, since it is recorded before it is made."""
    try:
        start, stop = read_private(folder / f"{stream}.gap").split()
    except FileNotFoundError:
        return None
    return int(start), int(stop)


class Log:
    """`NAME.log` in a task's folder; about `cap` bytes of it are kept, or all of it if 0."""

    def __init__(self, folder: Path, stream: str, cap: int, hasher: Hasher) -> None:
        self.stream = stream
        self._hasher = hasher
        self._beside = False
        """Whether the hasher, and not the loop, owns the digest at the moment."""
        self._folder = folder
        self._path = folder / f"{stream}.log"
        self._fd = open_private(self._path, os.O_RDWR | os.O_CREAT)
        self._cap = max(cap, LEAST_CAP) if cap else 0
        self._head = self._cap // 2 // BLOCK * BLOCK
        self._digest: Any = hashlib.sha256()
        self._hashed = self._looked = 0
        self.trouble: str | None = None
        """What is wrong with the record of this stream."""
        gap = gap_of(folder, stream)
        self._gap = gap or (self._head, self._head)
        if gap:
            self._digest = None  # an earlier host has already punched out bytes
            self._hashed = gap[1]

    def writer(self) -> int:
        """A descriptor for the child."""
        return open_private(self._path, os.O_WRONLY | os.O_APPEND)

    @property
    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def follow(self) -> bool:
        """Process what was written; True while some of it is still being hashed."""
        size, looked = self.size, self._looked
        self._looked = size
        if not self._beside:
            if size < self._hashed:
                self.note_trouble("the program truncated its own output")
                self._digest, self._hashed = None, size
            if size - self._hashed > MUCH:
                self._beside = True
                self._hasher.add(self._take_turn)
            else:
                self._hash_to(size, _buffer)
        self._keep_within(FLOOD_STEP if size - looked > MUCH else STEP)
        return self._beside

    def seal(self) -> dict[str, Any]:
        """The final facts once everything was followed; bytes written later are not part of it."""
        self._keep_within(BLOCK)
        size, (start, stop) = self._hashed, self._gap
        digest = self._digest.hexdigest() if self._digest else None
        stored = digest if stop == start else self._stored_digest(size)
        return {
            "bytes": size,
            "stored": size - (stop - start),
            "sha256": digest,
            "stored_sha256": stored or self._stored_digest(size),
            "gap": {"from": start, "to": stop} if stop > start else None,
            "trouble": self.trouble,
        }

    def close(self) -> None:
        os.close(self._fd)

    def _take_turn(self, buffer: memoryview) -> bool:
        """The hasher's work: hash the next part; True if there is more."""
        more = False
        try:
            self._hash_to(min(self.size, self._hashed + TURN), buffer)
            more = self._hashed < self.size
        except Exception as error:  # otherwise the task would wait for the digest forever
            self.note_trouble(f"it could not be hashed: {error}")
            self._digest = None
        self._beside = more  # from here on the loop may have added it again
        return more

    def _hash_to(self, stop: int, buffer: memoryview) -> None:
        while self._hashed < stop:
            if self._digest is None:
                self._hashed = stop
                break
            try:
                read = os.preadv(self._fd, [buffer[: stop - self._hashed]], self._hashed)
            except OSError as error:
                self.note_trouble(f"it could not be read: {error.strerror}")
                self._digest = None
                continue
            if not read:
                break  # truncated in the meantime
            self._digest.update(buffer[:read])
            self._hashed += read

    def _keep_within(self, step: int) -> None:
        """Free the space between head and tail, once it amounts to `step`."""
        start, stop = self._gap
        tail_from = (self._hashed - (self._cap - self._head)) // BLOCK * BLOCK
        if not self._cap or tail_from - stop < step:
            return
        told = f"{start} {tail_from}\n".encode()
        try:
            write_private(self._folder / f"{self.stream}.gap", told)
            if not sparse_files.punch(self._fd, stop, tail_from):
                self._cap = 0
                (self._folder / f"{self.stream}.gap").unlink()
                self.note_trouble("the file system cannot punch holes into files; all is kept")
                return
        except OSError as error:
            self.note_trouble(f"the cap could not be applied: {error.strerror}")
            return
        self._gap = start, tail_from

    def _stored_digest(self, size: int) -> str:
        digest = hashlib.sha256()
        for start, stop in ((0, self._gap[0]), (self._gap[1], size)):
            while start < stop:
                read = os.preadv(self._fd, [_buffer[: stop - start]], start)
                if not read:
                    break
                digest.update(_buffer[:read])
                start += read
        return digest.hexdigest()

    def note_trouble(self, what: str) -> None:
        """Record what is wrong; the first problem counts."""
        self.trouble = self.trouble or what
