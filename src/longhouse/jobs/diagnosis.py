"""Inconsistencies between runners and jobs, found from stored facts and never guessed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from longhouse.jobs import runners
from longhouse.jobs.room import sql
from longhouse.jobs.routing import Need
from longhouse.jobs.types.radar import RadarIssue
from longhouse.jobs.values import RunnerLease, job_id, job_number
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = [
    "MOST_ISSUES",
    "diagnose",
]

MOST_ISSUES = 20


def diagnose(tx: Tx, leases: Sequence[RunnerLease], jobs: Sequence[Row]) -> list[RadarIssue]:
    """The inconsistencies among these active leases and these jobs; errors first."""
    found = [issue for lease in leases for issue in _of_lease(tx, lease)]
    named = Counter(lease.active_job_id for lease in leases if lease.active_job_id)
    found += [
        RadarIssue(severity="error", kind="duplicate_active_job", job_id=job)
        for job, count in sorted(named.items())
        if count > 1
    ]
    found += [issue for row in jobs if row["status"] == "RUNNING" for issue in _of_job(tx, row)]
    there = {one.as_it_is for one in runners.present(tx) if one.offer.takes_jobs}
    found += [
        RadarIssue(severity="error", kind="job_declined_by_all", job_id=job_id(row["n"]))
        for row in jobs
        if there and row["status"] == "QUEUED" and not row["changes"]
        if there.issubset(Need.from_route(row["route"]).declined)
    ]
    return sorted(found, key=lambda i: (i.severity, i.kind, i.runner_id or "", i.job_id or ""))


def _of_lease(tx: Tx, lease: RunnerLease) -> list[RadarIssue]:
    def issue(kind: str) -> RadarIssue:
        return RadarIssue(
            severity="error", kind=kind, runner_id=lease.runner_id, job_id=lease.active_job_id
        )

    if lease.active_job_id is None:
        return [issue("live_missing_active_job")] if lease.status == "live" else []
    found = [issue("idle_has_active_job")] if lease.status == "idle" else []
    row = tx.one(sql.job_one, n=job_number(lease.active_job_id))
    if row is None:
        return [*found, issue("active_job_unknown")]
    if row["status"] != "RUNNING":
        return [*found, issue("active_job_not_running")]
    if row["runner_id"] != lease.runner_id:
        return [*found, issue("job_runner_mismatch")]
    return found


def _of_job(tx: Tx, row: Row) -> list[RadarIssue]:
    """The job's claim has expired, or only its runner's lease has."""
    lease = tx.one(sql.lease_one, runner_id=row["runner_id"])
    if row["claim_expires_at_ms"] <= tx.now_ms:
        kind = "job_claim_expired"
    elif lease is not None and lease["lease_expires_at_ms"] <= tx.now_ms:
        kind = "job_runner_offline"
    else:
        return []
    runner_id = row["runner_id"] if lease else None
    return [RadarIssue(severity="stale", kind=kind, runner_id=runner_id, job_id=job_id(row["n"]))]
