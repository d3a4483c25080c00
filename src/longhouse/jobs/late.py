"""Writes under a lost claim: refused, and recorded as an event of the job.

The event is written once per lost claim, however much the former holder still sends, so refusals
cannot fill the log. It changes nothing else: the job's status, attention and age stay the same.
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
    """Refuse a write by a runner that does not hold the claim; record the first one."""
    error = lost(tx, job, runner_id, revision)
    if not _is_news(tx, job, runner_id, revision):
        raise error
    return Refused(error, (), lambda after: _keep(after, job, runner_id, revision, wanted, error))


def _is_news(tx: Tx, job: str, runner_id: str, revision: int) -> bool:
    """Whether this claim was taken from its holder and no late write was recorded yet."""
    rows = tx.all(log_sql.log_of_subject_before, subject=job, before=_ENDLESS, limit=_LOOK_BACK)
    taken = False
    for event in (LogRow.from_row(one) for one in rows if one["stream"] == STREAM):
        data, meta = event.data, event.data.get("meta", {})
        if event.kind == "refused" and meta.get("late_claim") == [runner_id, revision]:
            return False
        if data["revision"] == revision + 1:  # the oldest of these ended the claim
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
