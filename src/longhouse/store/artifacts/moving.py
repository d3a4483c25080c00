"""Moves artifacts from a folder into the store's database, while the house keeps running.

Each file is copied in a transaction that counts only if the bytes have their digest, so a move may
be killed at any point and run again: it continues with what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

from longhouse.kernel.errors import Conflict, InvalidInput
from longhouse.kernel.values import Value
from longhouse.store.artifacts.blobs import LogBytes, StoredBlob
from longhouse.store.artifacts.database import DatabasePlace
from longhouse.store.artifacts.disk import CHUNK
from longhouse.store.artifacts.folder import FolderPlace
from longhouse.store.artifacts.keeper import log_name
from longhouse.store.artifacts.room import sql
from longhouse.store.database import Database
from longhouse.store.tx import Call, Tx

__all__ = ["MovedIn", "move_in"]


class MovedIn(Value, frozen=True, kw_only=True):
    """What a move did: files copied, there already, belonging to no artifact, and damaged."""

    moved: int
    bytes: int
    already: int
    unused: int
    logs: int
    removed: int
    damaged: list[str]


def move_in(db: Database, folder: Path, call: Call, *, remove: bool = False) -> MovedIn:
    """Copy every artifact's bytes from `folder` into the database; `remove` then deletes files."""
    if db.engine.local:
        raise InvalidInput(
            "this store is on SQLite, which keeps its artifacts in a folder; nothing was moved",
            recovery="set LONGHOUSE_DB to a PostgreSQL database to move artifacts into it",
        )
    if not (folder / "blobs").is_dir():
        raise InvalidInput(
            f"{folder} is not a folder of artifacts; nothing was moved",
            recovery="name the folder that LONGHOUSE_ARTIFACTS was set to: it contains blobs/",
        )
    source, target = FolderPlace(folder), DatabasePlace(db.engine)  # type: ignore[arg-type]
    moved = size = already = unused = removed = 0
    damaged: list[str] = []
    with source.lock(alone=False):
        for blob in source.blobs.list():
            if not db.read("", partial(_is_used, blob.digest), call):
                unused += 1
                continue
            if target.blobs.size(blob.digest) == blob.size:
                already += 1
            elif _copied(source, target, blob, db.time(call)):
                moved, size = moved + 1, size + blob.size
            else:
                damaged.append(blob.digest)
                continue
            if remove:
                removed += source.blobs.delete(blob.digest, untouched_since_ms=blob.touched_ms)
        logs = sum(_logs(db, source, target, name, call) for name in db.workspaces())
    return MovedIn(
        moved=moved,
        bytes=size,
        already=already,
        unused=unused,
        logs=logs,
        removed=removed,
        damaged=damaged,
    )


def _is_used(digest: str, tx: Tx) -> bool:
    return tx.one(sql.digest_is_used, digest=digest) is not None


def _copied(source: FolderPlace, target: DatabasePlace, blob: StoredBlob, now_ms: int) -> bool:
    """Copy the bytes; False if they no longer have their digest."""

    def chunks() -> Iterator[bytes]:
        for at in range(0, blob.size, CHUNK):
            yield source.blobs.get(blob.digest, at, min(CHUNK, blob.size - at))

    try:
        target.blobs.stage(chunks(), now_ms=now_ms, digest=blob.digest, most=None)
    except Conflict:
        return False
    return True


def _logs(
    db: Database, source: FolderPlace, target: DatabasePlace, workspace: str, call: Call
) -> int:
    """Copy the logs that still grow; a runner that goes on sending one continues where it ends."""
    count = 0
    for name, cap in db.read(workspace, _growing, call):
        found = source.logs.look(name)
        if found is not None and _copy_log(found, target, name, cap):
            count += 1
    return count


def _copy_log(found: LogBytes, target: DatabasePlace, name: str, cap: int | None) -> bool:
    log, gap = target.logs.open(name, cap=cap), found.gap
    begun = at = log.size()
    while at < found.size:
        if gap and gap.at <= at < gap.end:
            after = log.extend(at, b"", skip_to=gap.end)
            wanted = gap.end
        else:
            stop = gap.at if gap and at < gap.at else found.size
            data = found.pread(at, min(CHUNK, stop - at))
            after, wanted = log.extend(at, data), at + len(data)
        if after != wanted or after <= at:
            break  # its runner is sending it
        at = after
    return at > begun


def _growing(tx: Tx) -> list[tuple[str, int | None]]:
    rows = tx.all(sql.artifacts_growing)
    return [(log_name(tx.ws, row["handle"]), row["cap"]) for row in rows]
