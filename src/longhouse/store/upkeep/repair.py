"""`longhouse verify --repair`: repairs what can be derived or found again, and names what cannot.

The bytes of artifacts come from a backup, the count of used bytes from the rows, search indexes
from the texts. Rows that contradict the log cannot be repaired: nobody knows which of the two is
right.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.registry import Registry
from longhouse.store.artifacts.blobs import Blob
from longhouse.store.artifacts.keeper import Artifacts
from longhouse.store.artifacts.room import sql as artifact_sql
from longhouse.store.database import Database
from longhouse.store.tx import Call, Tx
from longhouse.store.upkeep.exporting import chunks_of, is_whole
from longhouse.store.upkeep.tables import unhurried

__all__ = ["Repair", "repair"]


class Repair(NamedTuple):
    """One thing that was repaired, or that could not be."""

    done: bool
    message: str


def repair(
    db: Database, artifacts: Artifacts, registry: Registry, call: Call, source: Path | None
) -> list[Repair]:
    """Repair every workspace; `source` is a backup with the right bytes of artifacts."""
    if source and not (source / "artifacts").is_dir():
        raise InvalidInput(
            f"--from: {source} is not a backup",
            recovery="name a folder made by `longhouse backup`",
        )
    kept = Artifacts(source / "artifacts") if source else None
    made: list[Repair] = []
    for name in sorted(db.workspaces()):
        damaged = db.read(name, lambda tx: _damaged(tx, artifacts), call)
        made += [_bytes(name, artifacts, kept, blob, db.time(call)) for blob in damaged]
        if db.write(name, _recount, call):
            made.append(Repair(True, f"{name}: the bytes counted against the quota"))

        def index(tx: Tx) -> None:
            for rebuild in registry.rebuilders:
                rebuild(tx)

        db.write(name, index, call)
        made.append(Repair(True, f"{name}: the search index, built again"))
    return made


def _damaged(tx: Tx, artifacts: Artifacts) -> list[Blob]:
    unhurried(tx)
    found, after = [], ""
    while rows := tx.all(artifact_sql.artifacts_stored, after=after, limit=500):
        after = rows[-1]["digest"]
        blobs = (Blob(row["digest"], row["stored"]) for row in rows)
        found += [
            blob
            for blob in blobs
            if artifacts.blobs.size(blob.digest) != blob.size or not is_whole(artifacts, blob)
        ]
    return found


def _bytes(
    workspace: str, artifacts: Artifacts, kept: Artifacts | None, blob: Blob, now_ms: int
) -> Repair:
    what = f"{workspace}: artifact:{blob.digest[:12]}"
    if kept is None:
        return Repair(False, f"{what}: name a backup with --from, or add the same file again")
    if kept.blobs.size(blob.digest) != blob.size or not is_whole(kept, blob):
        return Repair(False, f"{what}: this backup does not have its bytes either")
    artifacts.stage(chunks_of(kept, blob), now_ms=now_ms)
    return Repair(True, f"{what}: its bytes, from the backup")


def _recount(tx: Tx) -> bool:
    counted, kept = tx.value(artifact_sql.usage_counted), tx.value(artifact_sql.usage_now)
    if int(counted) == int(kept or 0):
        return False
    tx.run(artifact_sql.usage_recount)
    return True
