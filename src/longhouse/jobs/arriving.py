"""Jobs that an import or a restored backup brought: unclaimed, and held until released.

A job that runs again costs money and acts, so it waits for a manager (`jobs.requeue`, `longhouse
release`). Claims, runners and executor sessions of another store mean nothing here.
"""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from longhouse.jobs.dependencies import dependencies_of
from longhouse.jobs.records import record
from longhouse.jobs.room import room, sql
from longhouse.jobs.values import HELD_MS, job_id
from longhouse.kernel.contributions import Arrival, HeldBack
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["arrive"]

_PAGE = 200


@room.arrives
def arrive(tx: Tx, arrival: Arrival) -> Iterator[HeldBack]:
    """End every claim, and hold what is queued."""
    after = 0
    while rows := tx.all(sql.jobs_unfinished, after=after, limit=_PAGE):
        after = rows[-1]["n"]
        for row in rows:
            if _settle(tx, row, arrival) and arrival.hold:
                yield HeldBack("job", job_id(row["n"]), row["title"])
    tx.run(sql.jobs_keep_waiting, held=HELD_MS)
    tx.run(sql.leases_forget, before=2**62)
    if arrival.foreign:
        tx.run(sql.claims_of_nobody)
        _drop_sessions(tx)


def _settle(tx: Tx, row: Row, arrival: Arrival) -> bool:
    """Return an unfinished job to the queue, held or not; False if it was left as it was."""
    if row["status"] == "QUEUED" and (row["changes"] is not None or not arrival.hold):
        return False
    deps = dependencies_of(tx, row["n"])
    seq = tx.seqs(1)
    moved = tx.one(
        sql.job_arrive,
        n=row["n"],
        waits=deps.waits,
        not_before_ms=HELD_MS if arrival.hold else 0,
        held=int(arrival.hold),
        seq=seq,
        now=tx.now_ms,
    )
    assert moved is not None
    if not arrival.hold:
        record(tx, moved, "released", f"{arrival.how}: its runner is elsewhere", seq=seq)
        return True
    line = f"longhouse release {job_id(row['n'])}"
    said = f"{arrival.how}, and held until a manager releases it: {line}"
    record(tx, moved, "held", said, seq=seq)
    return True


def _drop_sessions(tx: Tx) -> None:
    """Forget executor sessions: resuming one runs with what it holds, and its writer is unknown."""
    after = 0
    while rows := tx.all(sql.jobs_with_session, after=after, limit=_PAGE):
        after = rows[-1]["n"]
        for row in rows:
            notes = msgspec.json.decode(row["runtime"])
            if isinstance(notes, dict) and notes.pop("session", None) is not None:
                tx.run(sql.job_runtime, n=row["n"], runtime=msgspec.json.encode(notes).decode())
