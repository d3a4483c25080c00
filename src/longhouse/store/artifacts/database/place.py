"""The database as the place for artifacts, and the folder that had them before, if any."""

from __future__ import annotations

from contextlib import AbstractContextManager

from longhouse.store.artifacts.blobs import BytesPlace
from longhouse.store.artifacts.database.blobs import DatabaseBlobs
from longhouse.store.artifacts.database.chunks import ByteEngine, Chunks
from longhouse.store.artifacts.database.logs import DatabaseLogs

__all__ = ["DatabasePlace"]


class DatabasePlace:
    """All bytes in the database; what is only in the `older` place is read there."""

    def __init__(self, engine: ByteEngine, older: BytesPlace | None = None) -> None:
        self._chunks = Chunks(engine)
        self.blobs = DatabaseBlobs(self._chunks, older.blobs if older else None)
        self.logs = DatabaseLogs(self._chunks, self.blobs, older.logs if older else None)

    def lock(self, *, alone: bool) -> AbstractContextManager[None]:
        return self._chunks.engine.undisturbed(alone=alone)

    def sweep(self, before_ms: int) -> None:
        self._chunks.sweep(before_ms)
