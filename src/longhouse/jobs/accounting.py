"""`jobs.account`: counts the usage of a slice whose claim is gone, exactly once.

Its runner was killed, or the job was canceled or reclaimed while an agent worked. Tokens were spent
and there is a transcript, but a report under the lost claim would be refused.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.jobs.completion_proof import drop_unknown
from longhouse.jobs.records import existing, record
from longhouse.jobs.reporting import used_columns
from longhouse.jobs.room import room, sql
from longhouse.jobs.types.jobs import AccountSlice, Reported
from longhouse.jobs.usage import note_use
from longhouse.jobs.values import Job
from longhouse.kernel.errors import Forbidden
from longhouse.store.tx import Tx

__all__ = ["account_slice"]


@room.command(
    "jobs.account",
    also="recover.slice",
    writes=True,
    additive=True,
    example=AccountSlice(job="JOB-001", claim_revision=1, slice=1),
)
def account_slice(tx: Tx, req: AccountSlice) -> Reported:
    """Count the usage of a slice whose runner died or lost the claim, and keep its transcript."""
    before = existing(tx, req.job)
    if not tx.by.leads and not tx.by.owns(before["claim_owner"], before["claim_identity"]):
        raise Forbidden(
            f"job: {req.job} was not claimed with this token; only its runner may report its usage",
            recovery="leave it to a runner on that store: it recovers such slices automatically",
        )
    counted: Any = msgspec.json.decode(before["runtime"]).get("counted")
    known = isinstance(counted, list) and counted[:1] == [req.claim_revision]
    if known and counted[1] >= req.slice:
        return Reported(job=Job.from_row(before), event=None)
    refs, seq = drop_unknown(tx, req.refs), tx.seqs(1)
    row = tx.one(sql.job_account, n=before["n"], seq=seq, now=tx.now_ms, **used_columns(req.usage))
    assert row is not None
    note_use(tx, row["n"], req.usage)
    said = f"runner: slice {req.slice} lost its runner or its claim; its output was kept"
    event = record(tx, row, "slice_recovered", said, seq=seq, refs=refs)
    return Reported(job=Job.from_row(row), event=event)
