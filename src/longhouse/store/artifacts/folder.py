"""Artifacts in a folder: the default with SQLite, and on many hosts that share a file system.

`blobs/ab/abcd…` is one file per digest, `growing/` has the logs, `staging/` what is being written.
A file appears under its digest complete, by a rename that also replaces damaged bytes.
"""

from __future__ import annotations

import fcntl
import os
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

from longhouse.kernel.errors import StoreError
from longhouse.store.artifacts.blobs import (
    Blob,
    LogBytes,
    LogWriter,
    StoredBlob,
    Tally,
    bytes_missing,
)
from longhouse.store.artifacts.copying import copied
from longhouse.store.artifacts.disk import Dir, OpenFile, disk_errors, write_all
from longhouse.store.artifacts.growing import Gap, GrowingLog, open_growing, read_gap, steady

__all__ = ["FolderBlobs", "FolderLogs", "FolderPlace"]

_OPEN_FILES = 64
_DIGEST = re.compile(r"[0-9a-f]{64}\Z")
_GOING = ".going"
_COMING = ".coming"
_KILLED_S = 3600


class FolderPlace:
    """One folder with sealed bytes and growing logs."""

    def __init__(self, root: Path) -> None:
        self.path = root
        with disk_errors("artifacts"):
            self._folder = Dir.root(root)
            self.staging = self._folder.sub("staging")
            self.growing = self._folder.sub("growing")
            self.blobs = FolderBlobs(self._folder.sub("blobs"), self.staging)
        self.logs = FolderLogs(self.growing, self.blobs)

    @contextmanager
    def lock(self, *, alone: bool) -> Iterator[None]:
        with disk_errors("artifacts"):
            file = self._folder.open("sweep.lock", os.O_RDWR | os.O_CREAT)
            fcntl.flock(file.fd, fcntl.LOCK_EX if alone else fcntl.LOCK_SH)
        try:
            yield
        finally:
            fcntl.flock(file.fd, fcntl.LOCK_UN)

    def sweep(self, before_ms: int) -> None:
        with disk_errors("artifacts"):
            _remove_old(self.staging, before_ms, keep=set())


class FolderBlobs:
    """`blobs/ab/abcd…`, one file per digest."""

    def __init__(self, root: Dir, staging: Dir) -> None:
        self._root, self._staging = root, staging
        self._open: dict[str, OpenFile] = {}
        self._staged = 0

    def stage(
        self, chunks: Iterable[bytes], *, now_ms: int, digest: str | None, most: int | None
    ) -> Blob:
        tally = Tally(digest, most)
        self._staged += 1
        name = f"{os.getpid()}-{id(self):x}-{self._staged}"
        try:
            with disk_errors("an artifact"):
                file = self._staging.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL)
                for chunk in chunks:
                    tally.add(chunk)
                    write_all(file.fd, chunk)
                blob = tally.blob()
                os.fsync(file.fd)
                self.put(blob, self._staging, name, now_ms)
        finally:
            self._staging.remove(name)
        return blob

    def put(self, blob: Blob, folder: Dir, name: str, now_ms: int) -> None:
        """Give a finished, synced file its digest; it replaces a file that may be damaged."""
        with disk_errors("an artifact"):
            shard = self._root.sub(blob.digest[:2])
            source = folder.open(name)
            os.utime(source.fd, ns=(now_ms * 1_000_000,) * 2)
            self._staged += 1
            coming = f"{blob.digest}.{os.getpid()}-{id(self):x}-{self._staged}{_COMING}"
            try:
                folder.link(name, shard, coming)
                shard.rename(coming, blob.digest)
            finally:
                shard.remove(coming)
            shard.sync()
            self._open.pop(blob.digest, None)

    def get(self, digest: str, offset: int, length: int) -> bytes:
        file = self._open.get(digest)
        if file is None or os.fstat(file.fd).st_nlink == 0:  # replaced or removed since
            file = self._opened(digest)
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
                if name.endswith(_COMING):
                    self._forget(shard, name)
                if not _DIGEST.match(digest):
                    continue
                if name != digest:
                    self._come_back(shard, digest)
                with suppress(FileNotFoundError):
                    found = shard.stat(digest)
                    yield StoredBlob(digest, found.st_size, _touched_ms(found))

    def _opened(self, digest: str) -> OpenFile:
        with disk_errors("an artifact"):
            try:
                file = self._find(digest)
            except FileNotFoundError:
                raise bytes_missing(digest) from None
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
    def _forget(shard: Dir, name: str) -> None:
        """Remove a second name that a killed put left an hour ago or earlier."""
        with suppress(FileNotFoundError):
            if time.time() - shard.stat(name).st_ctime > _KILLED_S:
                shard.remove(name)

    @staticmethod
    def _come_back(shard: Dir, digest: str) -> None:
        """Restore a blob that an interrupted sweep left aside; the next sweep checks it again."""
        with suppress(FileExistsError, FileNotFoundError):
            shard.link(digest + _GOING, shard, digest)
        shard.remove(digest + _GOING)


class FolderLogs:
    """`growing/`, one file per log, and one for the gap that its cap cut out."""

    def __init__(self, folder: Dir, blobs: FolderBlobs) -> None:
        self._folder, self._blobs = folder, blobs

    def open(self, name: str, *, cap: int | None) -> GrowingLog:
        return GrowingLog(self._folder, name, cap=cap)

    def look(self, name: str) -> LogBytes | None:
        try:
            file, gap = open_growing(self._folder, name)
        except FileNotFoundError:
            return None
        return LogBytes(steady(file, gap, lambda: read_gap(self._folder, name)), file.size(), gap)

    def held(self, names: Sequence[str]) -> Mapping[str, int]:
        found = {name: self.look(name) for name in names}
        return {
            name: log.size - (log.gap.bytes if log.gap else 0) if log else 0
            for name, log in found.items()
        }

    def finish(self, log: LogWriter, *, now_ms: int, shared: bool) -> tuple[Blob, int, Gap | None]:
        """A log that cannot grow any more is linked; anything else is copied."""
        assert isinstance(log, GrowingLog)
        if shared or log.is_cut:
            look = partial(self.look, log.name)
            return copied(look, self._blobs, cap=log.cap, now_ms=now_ms)
        log.sync()
        blob = Blob(*log.digest())
        self._blobs.put(blob, self._folder, log.name, now_ms)
        return blob, blob.size, None

    def sweep(self, growing: set[str], before_ms: int) -> int:
        keep = growing | {f"{name}.gap" for name in growing}
        with disk_errors("artifacts"):
            return _remove_old(self._folder, before_ms, keep=keep)


def _remove_old(folder: Dir, before_ms: int, *, keep: set[str]) -> int:
    gone = 0
    for name in folder.names():
        if name in keep:
            continue
        with suppress(FileNotFoundError):
            if _touched_ms(folder.stat(name)) <= before_ms:
                gone += folder.remove(name) and name.endswith(".log")
    return gone


def _touched_ms(found: os.stat_result) -> int:
    return found.st_mtime_ns // 1_000_000
