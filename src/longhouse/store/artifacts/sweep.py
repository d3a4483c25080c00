"""Garbage collection: removes expired rows, then bytes without a row; never anything referenced.

Two phases make it safe while the house is running. Rows are judged in a write transaction of their
workspace, which excludes anyone who is about to refer to one. Bytes are judged only after an hour
without a change, and removed only if that still holds: storing the same bytes again makes them new,
and so does removing a row, so that a backup has an hour to copy the bytes of the rows it has.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import islice
from typing import NamedTuple

from longhouse.kernel.contributions import Holder
from longhouse.store.artifacts.disk import disk_errors
from longhouse.store.artifacts.keeper import Artifacts, artifacts_of, log_name
from longhouse.store.artifacts.room import room, sql
from longhouse.store.database import Database
from longhouse.store.tx import Call, Tx

__all__ = ["GRACE_MS", "Swept", "expire", "sweep", "sweep_bytes"]

GRACE_MS = 3_600_000
_PAGE = 500


class Swept(NamedTuple):
    """What a sweep removed."""

    rows: int = 0
    blobs: int = 0
    bytes: int = 0
    logs: int = 0


def sweep(
    db: Database,
    artifacts: Artifacts,
    holders: Sequence[Holder],
    call: Call,
    *,
    grace_ms: int = GRACE_MS,
) -> Swept:
    """Sweep every workspace and then the bytes; several sweeps may run at once."""
    rows = sum(db.write(name, lambda tx: expire(tx, holders), call) for name in db.workspaces())
    return sweep_bytes(db, artifacts, call, grace_ms=grace_ms)._replace(rows=rows)


def sweep_bytes(
    db: Database, artifacts: Artifacts, call: Call, *, grace_ms: int = GRACE_MS
) -> Swept:
    """Remove bytes that no row has had for an hour; waits for backups and exports."""
    before = db.time(call) - grace_ms
    with artifacts.alone():
        blobs, size = _blobs(db, artifacts, call, before)
        logs = _logs(db, artifacts, db.workspaces(), call, before)
    return Swept(0, blobs, size, logs)


@room.tidies
def sweep_unused(db: Database, call: Call) -> None:
    """Remove bytes that no row refers to any more."""
    sweep_bytes(db, artifacts_of(call), call)


@room.every(600)
def expire_artifacts(tx: Tx) -> None:
    """Remove expired rows that no room refers to; `sweep_unused` later removes their bytes."""
    expire(tx, tx.facts.registry.holders)


def _used(low: str, high: str, tx: Tx) -> set[str]:
    return {row["digest"] for row in tx.all(sql.digests_used, low=low, high=high)}


def expire(tx: Tx, holders: Sequence[Holder]) -> int:
    """Remove this workspace's expired rows that no room refers to; returns how many."""
    expired = tx.all(sql.artifacts_expired, now=tx.now_ms)
    if not expired:
        return 0
    held = {ref.removeprefix("artifact:") for holder in holders for ref in holder(tx)}
    gone = 0
    for row in expired:
        if row["digest"] in held or row["handle"] in held:
            continue
        if (removed := tx.one(sql.artifact_remove, handle=row["handle"])) is not None:
            artifacts_of(tx).blobs.touch(row["digest"], tx.now_ms)
            tx.run(sql.usage_give, bytes=removed["stored"])
            tx.append("artifacts", row["handle"], "expired", {"digest": row["digest"]})
            gone += 1
    return gone


def _blobs(db: Database, artifacts: Artifacts, call: Call, before: int) -> tuple[int, int]:
    count = size = 0
    with disk_errors("artifacts"):
        old = (blob for blob in artifacts.blobs.list() if blob.touched_ms <= before)
        while page := list(islice(old, _PAGE)):
            digests = [blob.digest for blob in page]
            used = db.read("", partial(_used, min(digests), max(digests)), call)
            for blob in page:
                if blob.digest not in used and artifacts.blobs.delete(
                    blob.digest, untouched_since_ms=before
                ):
                    count, size = count + 1, size + blob.size
    return count, size


def _logs(db: Database, artifacts: Artifacts, names: list[str], call: Call, before: int) -> int:
    """Remove sealed logs, whose bytes now have a digest, and what killed writers left."""
    growing: set[str] = set()
    for name in names:
        growing |= db.read(name, _growing, call)
    gone = artifacts.logs.sweep(growing, before)
    artifacts.place.sweep(before)
    return gone


def _growing(tx: Tx) -> set[str]:
    return {log_name(tx.ws, row["handle"]) for row in tx.all(sql.artifacts_growing)}
