"""The seam that a database engine implements; internal, small, held by one conformance suite.

An engine hands out connections. A connection runs named queries inside one transaction at a time.
Everything above (group commit, seq, log, rooms) is the same on every engine.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, Protocol

from longhouse.store.queries import Query

__all__ = ["Connection", "Engine", "Params", "Row"]

Row = dict[str, Any]
Params = Mapping[str, Any]


class Connection(Protocol):
    """One database connection, used by one thread at a time."""

    def rows(self, query: Query, params: Params) -> list[Row]: ...

    def many(self, query: Query, params: Sequence[Params]) -> None: ...

    def begin(self, *, write: bool) -> None: ...

    def commit(self) -> None: ...

    def rollback(self) -> None: ...

    def savepoint(self) -> None: ...

    def release(self) -> None: ...

    def rollback_to_savepoint(self) -> None: ...


class Engine(Protocol):
    """A database that holds one store."""

    name: str

    def lane(self, workspace: str) -> str:
        """Writers of one lane are grouped into one commit; lanes do not wait for each other."""

    def writer(self, lane: str) -> AbstractContextManager[Connection]:
        """A connection for one write transaction, gated so that writers take turns."""

    def reader(self) -> AbstractContextManager[Connection]:
        """A connection for one read transaction."""

    def schema_version(self) -> int: ...

    def size_bytes(self) -> int: ...

    def close(self) -> None: ...
