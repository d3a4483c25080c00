"""The ledger's maintenance loop, its check for `verify`, and the artifacts it keeps."""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.ledger.room import room, sql
from longhouse.ledger.types import ref_of
from longhouse.store.tx import LogRow, Tx
from longhouse.store.tx import sql as log_sql

__all__ = ["LONGEST_MS", "STREAM", "differences", "kept_snapshots", "note_interruptions"]

STREAM = "subagents"
LONGEST_MS = 300_000
"""The longest lease."""
_PAGE = 500


@room.every(15)
def note_interruptions(tx: Tx) -> None:
    """Record expired leases as interruptions; reads treat them as interrupted even before this."""
    while rows := tx.all(sql.subagents_lapsed, now=tx.now_ms, limit=_PAGE):
        for row in rows:
            if tx.one(sql.subagent_interrupt, n=row["n"], now=tx.now_ms, seq=tx.last_seq() + 1):
                data = {"status": "interrupted", "lease_expired_at_ms": row["lease_expires_at_ms"]}
                tx.append(STREAM, ref_of(row["n"]), "interrupted", data)


@room.clamps
def clamp_leases(tx: Tx) -> None:
    """No lease lasts longer than the longest that can be asked for."""
    tx.run(sql.leases_clamp, longest=tx.now_ms + LONGEST_MS)


@room.check("every subagent matches its events")
def differences(tx: Tx) -> Iterator[str]:
    """Compare every subagent with its last event."""
    before = 2**62
    while rows := tx.all(sql.subagents_newest, before=before, limit=_PAGE):
        before = rows[-1]["n"]
        for row in rows:
            last = _last_event(tx, ref_of(row["n"]))
            told = (last.data["status"], last.seq, last.kind == "interrupted") if last else None
            if told != (row["status"], row["last_seq"], bool(row["presumed"])):
                said = f"{told[0]} at {told[1]}" if told else "unknown"
                yield (
                    f"{ref_of(row['n'])} is {row['status']} at {row['last_seq']}, but the log says "
                    f"{said}"
                )


@room.holds_artifacts
def kept_snapshots(tx: Tx) -> Iterator[str]:
    """The stored snapshots that subagents started from."""
    for row in tx.all(sql.subagents_snapshots):
        yield row["snapshot"]


def _last_event(tx: Tx, ref: str) -> LogRow | None:
    rows = tx.all(log_sql.log_of_subject_before, subject=ref, before=2**62, limit=1)
    return LogRow.from_row(rows[0]) if rows else None
