"""Sealed bytes by SHA-256: the `Blobs` interface, and its default implementation in a folder.

An object store can implement the same six methods. Every implementation guarantees: a digest that
exists is complete; `touch` and a repeated `put` make the blob new; `delete` never removes a blob
that became new after the caller judged it garbage.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple, Protocol

from longhouse.kernel.errors import BytesLost, StoreError
from longhouse.store.artifacts.disk import CHUNK, Dir, OpenFile, disk_errors

__all__ = ["Blob", "Blobs", "FolderBlobs", "StoredBlob"]

_OPEN_FILES = 64
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_GOING = ".going"


class Blob(NamedTuple):
    """Bytes on disk: their digest and length."""

    digest: str
    size: int


class StoredBlob(NamedTuple):
    """A blob as a sweep sees it."""

    digest: str
    size: int
    touched_ms: int


class Blobs(Protocol):
    def put(self, blob: Blob, folder: Dir, name: str, now_ms: int) -> None:
        """Store the finished, synced local file `name`; the caller removes the original."""

    def get(self, digest: str, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`; fewer only at the end."""

    def size(self, digest: str) -> int | None:
        """The length in bytes, or None if there is no such blob."""

    def touch(self, digest: str, now_ms: int) -> None:
        """Make the blob new, if it exists."""

    def delete(self, digest: str, *, untouched_since_ms: int) -> bool:
        """Remove the blob, unless it was put or touched after that time."""

    def list(self) -> Iterator[StoredBlob]: ...


class FolderBlobs:
    """`blobs/ab/abcd…`, one file per digest."""

    def __init__(self, root: Path) -> None:
        with disk_errors("artifacts"):
            self._root = Dir.root(root).sub("blobs")
        self._open: dict[str, OpenFile] = {}

    def put(self, blob: Blob, folder: Dir, name: str, now_ms: int) -> None:
        with disk_errors("an artifact"):
            shard = self._root.sub(blob.digest[:2])
            source = folder.open(name)
            os.utime(source.fd, ns=(now_ms * 1_000_000,) * 2)
            for _ in range(3):
                if self._mend(shard, blob, source, now_ms):
                    return
                with suppress(FileExistsError):
                    folder.link(name, shard, blob.digest)
                    return
        raise StoreError("an artifact could not be stored: its file keeps changing")

    def get(self, digest: str, offset: int, length: int) -> bytes:
        file = self._open.get(digest) or self._opened(digest)
        data = os.pread(file.fd, length, offset)
        if len(data) == length or not data:
            return data
        return data + self.get(digest, offset + len(data), length - len(data))

    def size(self, digest: str) -> int | None:
        try:
            return self._find(digest).size()
        except FileNotFoundError:
            return None

    def touch(self, digest: str, now_ms: int) -> None:
        with disk_errors("an artifact"), suppress(FileNotFoundError):
            file = self._find(digest)
            os.utime(file.fd, ns=(now_ms * 1_000_000,) * 2)

    def delete(self, digest: str, *, untouched_since_ms: int) -> bool:
        """Move the file aside, check its age again, then remove it, so a concurrent put wins."""
        with disk_errors("an artifact"):
            aside = digest + _GOING
            try:
                shard = self._shard(digest)
                shard.rename(digest, aside)
            except FileNotFoundError:
                return False
            if _touched_ms(shard.stat(aside)) > untouched_since_ms:
                with suppress(FileExistsError):
                    shard.link(aside, shard, digest)
                shard.remove(aside)
                return False
            self._open.pop(digest, None)
            return shard.remove(aside)

    def list(self) -> Iterator[StoredBlob]:
        for prefix in self._root.names():
            shard = self._root.sub(prefix, make=False)
            for name in shard.names():
                digest = name.removesuffix(_GOING)
                if not _DIGEST.match(digest):
                    continue
                if name != digest:
                    self._come_back(shard, digest)
                with suppress(FileNotFoundError):
                    found = shard.stat(digest)
                    yield StoredBlob(digest, found.st_size, _touched_ms(found))

    def _mend(self, shard: Dir, blob: Blob, source: OpenFile, now_ms: int) -> bool:
        """Make an existing blob new; where its bytes differ from the right ones, write those.

        They are written in place, so that whoever has the file open reads the right ones too.
        """
        try:
            file = shard.open(blob.digest, os.O_RDWR)
            if os.fstat(file.fd).st_ino == os.fstat(source.fd).st_ino:
                return True
            if file.size() != blob.size:
                os.ftruncate(file.fd, blob.size)
            mended = False
            for at in range(0, blob.size, CHUNK):
                right = os.pread(source.fd, CHUNK, at)
                if os.pread(file.fd, CHUNK, at) != right:
                    os.pwrite(file.fd, right, at)
                    mended = True
            if mended:
                os.fsync(file.fd)
            os.utime(file.fd, ns=(now_ms * 1_000_000,) * 2)
            return shard.stat(blob.digest).st_ino == os.fstat(file.fd).st_ino
        except FileNotFoundError:
            return False

    def _opened(self, digest: str) -> OpenFile:
        with disk_errors("an artifact"):
            try:
                file = self._find(digest)
            except FileNotFoundError:
                raise BytesLost(
                    f"the bytes of artifact:{digest[:12]} are missing from the artifacts folder",
                ) from None
        while len(self._open) >= _OPEN_FILES:
            with suppress(KeyError, StopIteration, RuntimeError):
                self._open.pop(next(iter(self._open)))
        self._open[digest] = file
        return file

    def _find(self, digest: str) -> OpenFile:
        shard = self._shard(digest)
        try:
            return shard.open(digest)
        except FileNotFoundError:
            with suppress(FileNotFoundError):
                return shard.open(digest + _GOING)
            return shard.open(digest)

    def _shard(self, digest: str) -> Dir:
        if not _DIGEST.match(digest):
            raise StoreError(f"{digest[:80]!r} is not a SHA-256 digest")
        return self._root.sub(digest[:2], make=False)

    @staticmethod
    def _come_back(shard: Dir, digest: str) -> None:
        """Restore a blob that an interrupted sweep left aside; the next sweep checks it again."""
        with suppress(FileExistsError, FileNotFoundError):
            shard.link(digest + _GOING, shard, digest)
        shard.remove(digest + _GOING)


def _touched_ms(found: os.stat_result) -> int:
    return found.st_mtime_ns // 1_000_000
