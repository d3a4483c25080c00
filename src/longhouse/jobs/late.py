"""A write under a claim that was lost: refused, and kept as a row of the job.

The row is written once for each lost claim, whatever its former holder still sends, so nobody can
fill the log with refusals. It says nothing about the job but that it happened: status, attention
and age stay as they were.
"""

from __future__ import annotations

from longhouse.jobs.records import STREAM, existing, lost, record
from longhouse.jobs.room import sql
from longhouse.kernel.errors import LonghouseError
from longhouse.store.tx import LogRow, Refused, Tx
from longhouse.store.tx import sql as log_sql

__all__ = ["too_late"]

_TAKEN = ("reclaimed", "canceled")
_LOOK_BACK = 200
_ENDLESS = 1 << 62


def too_late(tx: Tx, job: str, runner_id: str, revision: int, wanted: str) -> Refused:
    """Refuse what a runner wants to write without holding the claim."""
    error = lost(tx, job, runner_id, revision)
    if not _is_news(tx, job, runner_id, revision):
        raise error
    return Refused(error, (), lambda after: _keep(after, job, runner_id, revision, wanted, error))


def _is_news(tx: Tx, job: str, runner_id: str, revision: int) -> bool:
    """Whether this claim was taken from its holder, and nothing was told about it yet."""
    rows = tx.all(log_sql.log_of_subject_before, subject=job, before=_ENDLESS, limit=_LOOK_BACK)
    taken = False
    for event in (LogRow.from_row(one) for one in rows if one["stream"] == STREAM):
        data, meta = event.data, event.data.get("meta", {})
        if event.kind == "refused" and meta.get("late_claim") == [runner_id, revision]:
            return False
        if data["revision"] == revision + 1:  # the oldest of these is what ended the claim
            taken = event.kind in _TAKEN or meta.get("reason") == "ttl_expired"
        elif data["revision"] == revision:
            return taken and data.get("runner_id") == runner_id
    return False


def _keep(
    tx: Tx, job: str, runner_id: str, revision: int, wanted: str, error: LonghouseError
) -> None:
    seq = tx.seqs(1)
    row = tx.one(sql.job_refused, n=existing(tx, job)["n"], seq=seq)
    assert row is not None
    meta = {"late_claim": [runner_id, revision], "wanted": wanted}
    said = f"{wanted} by {runner_id} under the lost claim {revision} was refused: {error.code}"
    record(tx, row, "refused", said, seq=seq, meta=meta)
