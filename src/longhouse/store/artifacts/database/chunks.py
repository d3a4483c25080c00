"""Bodies: runs of chunks in the database, written in short transactions and read by range.

A chunk of 8000 bytes fills a page of PostgreSQL: a range then reads little more than it asks for,
and a put is as fast as the server can write pages. No workspace is locked while bytes move.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol, TypeVar

from longhouse.store.artifacts.database.room import sql
from longhouse.store.engine import Connection, Lost, Params
from longhouse.store.queries import Query

__all__ = ["BATCH", "CHUNK", "ByteConnection", "ByteEngine", "Chunks", "sliced"]

CHUNK = 8000
BATCH = 4 << 20
"""How many bytes one transaction writes."""
REMOVED = 4096
"""How many chunks one transaction removes."""
_COPY = b"COPY artifact_chunks (body, n, data) FROM STDIN (FORMAT binary)"
_HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
_ROW = struct.Struct(">hiqiqi")

T = TypeVar("T")


class ByteConnection(Connection, Protocol):
    def blocks(self, query: Query, params: Params) -> list[bytes]: ...

    def copy(self, statement: bytes, data: Iterable[bytes]) -> None: ...

    def relax(self) -> None: ...


class ByteEngine(Protocol):
    """A database that can hold bytes."""

    def bytes_connection(self) -> AbstractContextManager[ByteConnection]: ...

    def undisturbed(self, *, alone: bool) -> AbstractContextManager[None]: ...


class Chunks:
    """Transactions on the tables of bytes."""

    def __init__(self, engine: ByteEngine) -> None:
        self.engine = engine

    def write(self, work: Callable[[ByteConnection], T]) -> T:
        """Run `work` in a transaction, and once more if the connection broke before its commit."""

        def transaction(connection: ByteConnection) -> T:
            connection.begin(write=True)
            try:
                made = work(connection)
                connection.commit()
            except BaseException:
                connection.rollback()
                raise
            return made

        return self.read(transaction)

    def read(self, work: Callable[[ByteConnection], T]) -> T:
        for last in (False, True):
            try:
                with self.engine.bytes_connection() as connection:
                    return work(connection)
            except Lost as lost:
                if last or not lost.again:
                    raise lost.error from lost
        raise AssertionError

    def range(self, query: Query, key: Params, offset: int, length: int) -> bytes | None:
        """The bytes of a range as far as there are any; None if its first chunk is missing."""
        first, last = offset // CHUNK, (offset + length - 1) // CHUNK
        found = self.read(lambda c: c.blocks(query, {**key, "first": first, "last": last}))
        if not found:
            return None
        begin = offset - first * CHUNK
        return b"".join(found)[begin : begin + length]

    def sweep(self, before_ms: int) -> None:
        """Remove bodies that nothing points at; a killed sweep is continued by the next."""
        doomed = self.write(lambda c: c.rows(sql.bodies_doom, {"before": before_ms}))
        for row in doomed:
            body = row["body"]
            end = self.read(lambda c, b=body: c.rows(sql.body_end, {"body": b}))[0]["n"]  # type: ignore[misc]
            for first in range(0, end + 1, REMOVED):
                self.remove(body, first, first + REMOVED)
            self.write(lambda c, b=body: c.run(sql.body_remove, {"body": b}))  # type: ignore[misc]

    def remove(self, body: int, first: int, after: int) -> None:
        binds = {"body": body, "first": first, "after": after}
        self.write(lambda c: c.run(sql.chunks_remove, binds))


def add(connection: ByteConnection, body: int, n: int, blocks: Iterable[bytes]) -> int:
    """Write chunks from number `n` on; returns the next number."""
    at = n

    def rows() -> Iterator[bytes]:
        nonlocal at
        yield _HEADER
        for block in blocks:
            whole, parts = memoryview(block), list[bytes | memoryview]()
            for begin in range(0, len(block), CHUNK):
                data = whole[begin : begin + CHUNK]
                parts.append(_ROW.pack(3, 8, body, 8, at, len(data)))
                parts.append(data)
                at += 1
            yield b"".join(parts)
        yield b"\xff\xff"

    connection.copy(_COPY, rows())
    return at


def sliced(chunks: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in blocks of `size`; the last one is shorter, and may be empty."""
    held: list[memoryview] = []
    room = size
    for chunk in chunks:
        rest = memoryview(bytes(chunk))
        while len(rest) > room:
            held.append(rest[:room])
            rest = rest[room:]
            yield b"".join(held)
            held, room = [], size
        held.append(rest)
        room -= len(rest)
    yield b"".join(held)
