"""The interface of a place for bytes: sealed ones by SHA-256 (`Blobs`), growing logs (`Logs`).

There are two places, a folder and the store's database, and one conformance suite over both. An
object store needs only `Blobs`; its growing logs can stay in the database. Every place guarantees:
a digest that exists is complete; a repeated `stage` replaces whatever bytes the digest had, and,
like `touch`, makes the blob new; `delete` never removes a blob that became new after the caller
judged it garbage; a killed `stage` leaves only garbage, which `sweep` removes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from longhouse.kernel.errors import BytesLost, Conflict
from longhouse.store.artifacts.disk import sha256
from longhouse.store.artifacts.growing import Gap

__all__ = [
    "Blob",
    "Blobs",
    "BytesPlace",
    "LogBytes",
    "LogWriter",
    "Logs",
    "QuotaExceeded",
    "StoredBlob",
    "Tally",
    "bytes_missing",
]


class Blob(NamedTuple):
    """Stored bytes: their digest and length."""

    digest: str
    size: int


class StoredBlob(NamedTuple):
    """A blob as a sweep sees it."""

    digest: str
    size: int
    touched_ms: int


class LogBytes(NamedTuple):
    """What a reader sees of a growing log: (offset, length) -> bytes, its size and its gap."""

    pread: Callable[[int, int], bytes]
    size: int
    gap: Gap | None


class QuotaExceeded(Conflict):
    """The workspace's artifact quota is used up."""

    code = "QUOTA_EXCEEDED"
    fix = "let some expire (`longhouse artifact sweep`), or raise LONGHOUSE_ARTIFACT_QUOTA_MB"


def bytes_missing(digest: str) -> BytesLost:
    """The row of an artifact is there, its bytes are not; repeating the call cannot help."""
    return BytesLost(f"the bytes of artifact:{digest[:12]} are missing")


class Tally:
    """Counts and hashes bytes on their way in; refuses more than `most`, or another digest."""

    def __init__(self, digest: str | None, most: int | None) -> None:
        self._hash = sha256()
        self._digest, self._most = digest, most
        self.size = 0

    def add(self, chunk: bytes) -> None:
        """Called before the bytes are written."""
        self.size += len(chunk)
        if self._most is not None and self.size > self._most:
            raise QuotaExceeded(f"the quota has only {self._most} bytes left")
        self._hash.update(chunk)

    def blob(self) -> Blob:
        found = self._hash.hexdigest()
        if self._digest not in (None, found):
            raise Conflict(f"digest: the bytes have digest {found}, not {self._digest}")
        return Blob(found, self.size)


class Blobs(Protocol):
    def stage(
        self, chunks: Iterable[bytes], *, now_ms: int, digest: str | None, most: int | None
    ) -> Blob:
        """Store bytes under their digest; a refused or failed attempt leaves nothing visible."""

    def get(self, digest: str, offset: int, length: int) -> bytes:
        """Up to `length` bytes from `offset`; fewer only at the end. BytesLost if none exist."""

    def size(self, digest: str) -> int | None:
        """The length in bytes, or None if there is no such blob."""

    def touch(self, digest: str, now_ms: int) -> None:
        """Make the blob new, if it exists."""

    def delete(self, digest: str, *, untouched_since_ms: int) -> bool:
        """Remove the blob, unless it was put or touched after that time."""

    def list(self) -> Iterator[StoredBlob]: ...


class LogWriter(Protocol):
    """The writer's end of a growing log."""

    name: str
    cap: int | None

    def size(self) -> int: ...

    def append(self, data: bytes) -> int:
        """Append and return the offset at which the bytes begin."""

    def extend(self, offset: int, data: bytes, *, skip_to: int | None = None) -> int:
        """Append if the log ends at `offset`, and skip bytes that were lost; returns its size.

        Atomic, also between hosts: of two writers at one offset, one appends.
        """


class Logs(Protocol):
    def open(self, name: str, *, cap: int | None) -> LogWriter: ...

    def look(self, name: str) -> LogBytes | None:
        """What a reader sees now, or None if no byte was ever written."""

    def held(self, names: Sequence[str]) -> Mapping[str, int]:
        """How many bytes of each log are stored, without its gap."""

    def finish(self, log: LogWriter, *, now_ms: int, shared: bool) -> tuple[Blob, int, Gap | None]:
        """Put a log's bytes under their digest: what to seal. It can be repeated, and the log may
        still grow: with `shared` it certainly does. Its readers keep it until a sweep."""

    def sweep(self, growing: set[str], before_ms: int) -> int:
        """Remove logs that no longer grow and have not changed since then; returns how many."""


class BytesPlace(Protocol):
    """Where the bytes of a store's artifacts are."""

    @property
    def blobs(self) -> Blobs: ...

    @property
    def logs(self) -> Logs: ...

    def lock(self, *, alone: bool) -> AbstractContextManager[None]:
        """Backups and exports share it; the sweep needs it alone."""

    def sweep(self, before_ms: int) -> None:
        """Remove what killed writers left before then."""
