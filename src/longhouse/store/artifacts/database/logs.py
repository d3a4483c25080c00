"""Growing logs in the database: every host appends to them and reads them while they grow.

A log is a row and a body. An append locks the row, so that of two writers at one offset one wins.
At the cap, chunks in the middle are removed in the transaction that records the gap. Sealing copies
nothing: the digest gets the log's body; should the log grow after all, it first copies the body.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

from longhouse.kernel.errors import StoreBusy
from longhouse.store.artifacts.blobs import Blob, LogBytes, Logs, LogWriter
from longhouse.store.artifacts.copying import copied, count_lines, kept
from longhouse.store.artifacts.database.blobs import DatabaseBlobs, publish
from longhouse.store.artifacts.database.chunks import CHUNK, ByteConnection, Chunks, add
from longhouse.store.artifacts.database.room import sql
from longhouse.store.artifacts.disk import sha256
from longhouse.store.artifacts.growing import Gap, cut_for, is_cut, is_due, middle_of

__all__ = ["DatabaseLog", "DatabaseLogs"]

_PAGE = 500
_HASHES = 64


class _Row(NamedTuple):
    """A log as the database has it."""

    body: int
    size: int
    gap: Gap | None
    shared: bool

    @classmethod
    def of(cls, row: Mapping[str, Any]) -> _Row:
        gap = Gap(row["gap_at"], row["gap_bytes"], row["gap_lines"]) if row["gap_bytes"] else None
        return cls(row["body"], row["size"], gap, bool(row["shared"]))


class DatabaseLog:
    """The writer's end of one log."""

    def __init__(self, logs: DatabaseLogs, name: str, cap: int | None) -> None:
        self.name, self.cap = name, cap
        self._logs = logs

    def size(self) -> int:
        row = self._logs.row(self.name)
        return row.size if row else 0

    def append(self, data: bytes) -> int:
        at = self.size()
        if self.extend(at, data) != at + len(data):
            raise StoreBusy("another writer appended to this log at the same time")
        return at

    def skip(self, to: int) -> None:
        self.extend(self.size(), b"", skip_to=to)

    def extend(self, offset: int, data: bytes, *, skip_to: int | None = None) -> int:
        return self._logs.extend(self, offset, data, skip_to)


class DatabaseLogs:
    """Logs in the table `artifact_logs`; those of an `older` folder are still read."""

    def __init__(self, chunks: Chunks, blobs: DatabaseBlobs, older: Logs | None = None) -> None:
        self._chunks, self._blobs, self._older = chunks, blobs, older
        self._hashes: dict[str, tuple[int, Any]] = {}

    def open(self, name: str, *, cap: int | None) -> DatabaseLog:
        return DatabaseLog(self, name, cap)

    def row(self, name: str) -> _Row | None:
        rows = self._chunks.read(lambda c: c.rows(sql.log_one, {"name": name}))
        return _Row.of(rows[0]) if rows else None

    def look(self, name: str) -> LogBytes | None:
        log = self.row(name)
        if log is None:
            return self._older.look(name) if self._older is not None else None
        return LogBytes(self._pread(name, log), log.size, log.gap)

    def held(self, names: Sequence[str]) -> Mapping[str, int]:
        if not names:
            return {}
        found = {name: size for name, size, _ in self._all()}
        missing = [name for name in names if name not in found]
        older = self._older.held(missing) if self._older is not None and missing else {}
        return {name: found.get(name, older.get(name, 0)) for name in names}

    def extend(self, log: DatabaseLog, offset: int, data: bytes, skip_to: int | None) -> int:
        """Append if the log ends there; returns its size."""
        hashed = self._hashes.pop(log.name, None)
        size = self._chunks.write(
            partial(self._extended, log=log, offset=offset, data=data, skip_to=skip_to)
        )
        if size == offset + len(data) and skip_to is None:
            self._hash(log.name, offset, data, hashed)
        return size

    def finish(self, log: LogWriter, *, now_ms: int, shared: bool) -> tuple[Blob, int, Gap | None]:
        """The bytes so far; those of a log that goes on growing are copied, as it has them then."""
        row = self.row(log.name)
        if row is None or shared or is_cut(log.cap, row.size, row.gap):
            return copied(partial(self.look, log.name), self._blobs, cap=log.cap, now_ms=now_ms)
        blob = Blob(self._digest(log.name, row), row.size)
        self._chunks.write(partial(_share, name=log.name, blob=blob, now_ms=now_ms))
        return blob, row.size, None

    def sweep(self, growing: set[str], before_ms: int) -> int:
        gone = 0
        for name, _, touched_ms in self._all():
            if name not in growing and touched_ms <= before_ms:
                binds = {"name": name, "since": before_ms}
                gone += len(self._chunks.write(lambda c, b=binds: c.rows(sql.log_remove, b)))  # type: ignore[misc]
        return gone

    def _all(self) -> Iterator[tuple[str, int, int]]:
        """Every log: its name, the bytes it holds, and when it last changed."""
        after = ""
        while rows := self._chunks.read(
            lambda c, a=after: c.rows(sql.logs_after, {"after": a, "limit": _PAGE})  # type: ignore[misc]
        ):
            for row in rows:
                yield row["name"], row["size"] - row["gap_bytes"], row["touched_ms"]
            after = rows[-1]["name"]

    def _extended(
        self,
        connection: ByteConnection,
        *,
        log: DatabaseLog,
        offset: int,
        data: bytes,
        skip_to: int | None,
    ) -> int:
        connection.relax()  # the write that reports these bytes commits after it
        now = connection.now_ms()
        row = _locked(connection, log.name, now)
        if row.size != offset:
            return row.size
        if row.shared:
            row = _copied(connection, row, now)
        _write(connection, row.body, offset, data)
        row = row._replace(size=offset + len(data))
        if is_due(log.cap, row.size, row.gap):
            row = self._cut(connection, log, row)
        if skip_to is not None and skip_to > row.size:
            row = _skipped(connection, row, skip_to, log.cap or 0)
        _set(connection, log.name, row, now)
        return row.size

    def _cut(self, connection: ByteConnection, log: DatabaseLog, row: _Row) -> _Row:
        lines = partial(count_lines, partial(_read, connection, row.body))
        gap = cut_for(log.cap, row.size, row.gap, lines)
        assert gap is not None
        first, after = -(-gap.at // CHUNK), gap.end // CHUNK
        connection.run(sql.chunks_remove, {"body": row.body, "first": first, "after": after})
        return row._replace(gap=gap)

    def _pread(self, name: str, log: _Row) -> Callable[[int, int], bytes]:
        def pread(offset: int, length: int) -> bytes:
            data = self._range(log.body, offset, length)
            now = self.row(name) if log.gap or len(data) < length else log
            gap = now.gap if now else None
            if gap and gap != log.gap and offset < gap.end and gap.at < offset + length:
                raise StoreBusy("the middle of this log was cut out while it was being read")
            return data

        return pread

    def _range(self, body: int, offset: int, length: int) -> bytes:
        return self._chunks.range(sql.chunks_of, {"body": body}, offset, length) or b""

    def _digest(self, name: str, row: _Row) -> str:
        size, known = self._hashes.pop(name, (0, None))
        if known is None or size != row.size:
            known = sha256()
            for chunk in kept(LogBytes(self._pread(name, row), row.size, None), None):
                known.update(chunk)
        return str(known.hexdigest())

    def _hash(self, name: str, offset: int, data: bytes, known: tuple[int, Any] | None) -> None:
        """Hash what this process appends, so that sealing need not read it all again."""
        if offset == 0:
            known = (0, sha256())
        if known is None or known[0] != offset:
            return
        known[1].update(data)
        while len(self._hashes) >= _HASHES:
            self._hashes.pop(next(iter(self._hashes)), None)
        self._hashes[name] = (offset + len(data), known[1])


def _locked(connection: ByteConnection, name: str, now: int) -> _Row:
    rows = connection.rows(sql.log_lock, {"name": name})
    if not rows:
        body = connection.rows(sql.body_make, {"now": now})[0]["body"]
        connection.rows(sql.log_add, {"name": name, "body": body, "now": now})
        rows = connection.rows(sql.log_lock, {"name": name})
    return _Row.of(rows[0])


def _set(connection: ByteConnection, name: str, row: _Row, now: int) -> None:
    gap = row.gap or Gap(0, 0, 0)
    connection.run(
        sql.log_set,
        {
            "name": name,
            "body": row.body,
            "size": row.size,
            "gap_at": gap.at,
            "gap_bytes": gap.bytes,
            "gap_lines": gap.lines,
            "shared": int(row.shared),
            "now": now,
        },
    )


def _share(connection: ByteConnection, *, name: str, blob: Blob, now_ms: int) -> None:
    """Give the log's body its digest, if the log is still what was hashed."""
    rows = connection.rows(sql.log_lock, {"name": name})
    row = _Row.of(rows[0]) if rows else None
    if row is None or row.size != blob.size or row.gap:
        raise StoreBusy("the log grew while it was being sealed")
    _set(connection, name, row._replace(shared=True), now_ms)
    publish(connection, blob, row.body, now_ms)


def _copied(connection: ByteConnection, row: _Row, now: int) -> _Row:
    """A body of its own for a log whose body a blob has too."""
    body = connection.rows(sql.body_make, {"now": now})[0]["body"]
    binds = {"body": row.body, "to": body, "first": 0, "after": row.size // CHUNK + 1}
    connection.run(sql.chunks_copy, binds)
    return row._replace(body=body, shared=False)


def _write(connection: ByteConnection, body: int, offset: int, data: bytes) -> None:
    """Fill the last chunk, then add more."""
    n, used = divmod(offset, CHUNK)
    if used and data:
        head, data = data[: CHUNK - used], data[CHUNK - used :]
        connection.run(sql.chunk_fill, {"body": body, "n": n, "data": head})
        n += 1
    if data:
        add(connection, body, n, [data])


def _skipped(connection: ByteConnection, row: _Row, to: int, cap: int) -> _Row:
    """Continue at `to`; the chunk that the gap ends in begins with zeros, which nobody reads."""
    n, used = divmod(to, CHUNK)
    if row.size // CHUNK == n:
        _write(connection, row.body, row.size, bytes(to - row.size))
    else:
        _write(connection, row.body, n * CHUNK, bytes(used))
    at = middle_of(cap, row.size, row.gap)
    return row._replace(size=to, gap=Gap(at, to - at, row.gap.lines if row.gap else 0))


def _read(connection: ByteConnection, body: int, offset: int, length: int) -> bytes:
    first, last = offset // CHUNK, (offset + length - 1) // CHUNK
    found = connection.blocks(sql.chunks_of, {"body": body, "first": first, "last": last})
    begin = offset - first * CHUNK
    return b"".join(found)[begin : begin + length]
