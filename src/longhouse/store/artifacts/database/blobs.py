"""Sealed bytes in the database, by SHA-256.

A put writes a body in transactions of a few mebibytes; the last one makes it visible under its
digest. Bytes that are still in a folder from before are read there (`older`).
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from typing import Self

from longhouse.kernel.errors import StoreBusy
from longhouse.store.artifacts.blobs import Blob, Blobs, StoredBlob, Tally, bytes_missing
from longhouse.store.artifacts.database.chunks import (
    BATCH,
    CHUNK,
    ByteConnection,
    Chunks,
    add,
    sliced,
)
from longhouse.store.artifacts.database.room import sql

__all__ = ["DatabaseBlobs"]

_BATCH = BATCH // CHUNK * CHUNK
_AT_ONCE = 2
"""How many batches of one put are on their way: a server writes each with one of its processors."""
_PAGE = 500


class DatabaseBlobs:
    """Blobs in the tables `artifact_blobs`, `artifact_bodies` and `artifact_chunks`."""

    def __init__(self, chunks: Chunks, older: Blobs | None = None) -> None:
        self._chunks = chunks
        self._older = older

    def stage(
        self, chunks: Iterable[bytes], *, now_ms: int, digest: str | None, most: int | None
    ) -> Blob:
        tally = Tally(digest, most)
        began = time.monotonic()
        body: int | None = None
        n = 0
        batch = b""
        with _Beside() as beside:
            for block in sliced(_counted(chunks, tally), _BATCH):
                if batch:
                    body = beside.first()
                    now = now_ms + int((time.monotonic() - began) * 1000)
                    more = partial(_more, body=body, n=n, data=batch, now=now)
                    beside.start(partial(self._chunks.write, more))
                    n += len(batch) // CHUNK
                batch = block
            beside.wait()
            body = beside.first()
        blob = tally.blob()
        if body is None and self._is_same(blob, batch, now_ms):
            return blob
        now = now_ms + int((time.monotonic() - began) * 1000)
        self._chunks.write(
            partial(_last, blob=blob, body=body, n=n, data=batch, now=now, stamp=now_ms)
        )
        return blob

    def get(self, digest: str, offset: int, length: int) -> bytes:
        if length <= 0:
            return b""
        data = self._chunks.range(sql.chunks_of_blob, {"digest": digest}, offset, length)
        if data is not None and len(data) == length:
            return data
        size = self._size(digest)
        if size is None and self._older is not None:
            return self._older.get(digest, offset, length)
        data = data or b""
        if size is None or len(data) < max(0, min(length, size - offset)):
            raise bytes_missing(digest)
        return data

    def size(self, digest: str) -> int | None:
        size = self._size(digest)
        return self._older.size(digest) if size is None and self._older is not None else size

    def touch(self, digest: str, now_ms: int) -> None:
        self._chunks.write(lambda c: c.run(sql.blob_touch, {"digest": digest, "now": now_ms}))

    def delete(self, digest: str, *, untouched_since_ms: int) -> bool:
        binds = {"digest": digest, "since": untouched_since_ms}
        return bool(self._chunks.write(lambda c: c.rows(sql.blob_remove, binds)))

    def list(self) -> Iterator[StoredBlob]:
        after = ""
        while rows := self._chunks.read(partial(_page, after=after)):
            yield from rows
            after = rows[-1].digest

    def _size(self, digest: str) -> int | None:
        rows = self._chunks.read(lambda c: c.rows(sql.blob_one, {"digest": digest}))
        return int(rows[0]["size"]) if rows else None

    def _is_same(self, blob: Blob, data: bytes, now_ms: int) -> bool:
        """Whether exactly these bytes are stored already; then they are only made new."""
        if self._size(blob.digest) != blob.size:
            return False
        stored = self._chunks.range(
            sql.chunks_of_blob, {"digest": blob.digest}, 0, max(1, blob.size)
        )
        if (stored or b"") != data:
            return False
        self.touch(blob.digest, now_ms)
        return self._size(blob.digest) == blob.size


class _Beside:
    """Writes batches in threads while the next one is read and hashed; the first makes the body."""

    def __init__(self) -> None:
        self._pool: ThreadPoolExecutor | None = None
        self._first: Future[int] | None = None
        self._begun: list[Future[int]] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_why: object) -> None:
        if self._pool is not None:
            self._pool.shutdown()

    def start(self, write: Callable[[], int]) -> None:
        self._pool = self._pool or ThreadPoolExecutor(_AT_ONCE, "artifact-bytes")
        while len(self._begun) >= _AT_ONCE:
            self._begun.pop(0).result()
        self._begun.append(self._pool.submit(write))
        self._first = self._first or self._begun[0]

    def first(self) -> int | None:
        """The body, once it is made; None if nothing was written."""
        return self._first.result() if self._first else None

    def wait(self) -> None:
        for written in self._begun:
            written.result()


def publish(connection: ByteConnection, blob: Blob, body: int, now_ms: int) -> None:
    """Make a complete body the bytes of a digest."""
    binds = {"digest": blob.digest, "body": body, "size": blob.size, "now": now_ms}
    connection.run(sql.blob_put, binds)


def _more(connection: ByteConnection, *, body: int | None, n: int, data: bytes, now: int) -> int:
    """Write a batch; only the last commit of a put needs to wait for the disk."""
    connection.relax()
    if body is None:
        body = _begun(connection, None, now)
        add(connection, body, n, [data])
        return body
    add(connection, body, n, [data])
    return _begun(connection, body, now)  # last, since it locks out the other batches


def _last(
    connection: ByteConnection,
    *,
    blob: Blob,
    body: int | None,
    n: int,
    data: bytes,
    now: int,
    stamp: int,
) -> None:
    body = _begun(connection, body, now)
    if data:
        add(connection, body, n, [data])
    publish(connection, blob, body, stamp)


def _begun(connection: ByteConnection, body: int | None, now: int) -> int:
    """A new body, or the one of the batches before, unless a sweep has taken it."""
    if body is None:
        return int(connection.rows(sql.body_make, {"now": now})[0]["body"])
    if not connection.rows(sql.body_renew, {"body": body, "now": now}):
        raise StoreBusy("the bytes took so long to arrive that their beginning was swept")
    return body


def _counted(chunks: Iterable[bytes], tally: Tally) -> Iterator[bytes]:
    for chunk in chunks:
        tally.add(chunk)
        yield chunk


def _page(connection: ByteConnection, *, after: str) -> list[StoredBlob]:
    rows = connection.rows(sql.blobs_after, {"after": after, "limit": _PAGE})
    return [StoredBlob(row["digest"], row["size"], row["touched_ms"]) for row in rows]
