"""The life of a job: QUEUED → RUNNING → DONE | FAILED.

Each move is one conditional statement fenced by runner and revision: it happens, or it does not and
nothing is written. A claim is a lease; an expired one can be taken over.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.jobs.room import room, sql
from longhouse.jobs.types import (
    PRIORITIES,
    ClaimJob,
    CompleteJob,
    CreateJob,
    Job,
    JobEvent,
    JobMoved,
    ReportJob,
)
from longhouse.kernel.errors import Conflict, UnknownId
from longhouse.kernel.refs import seq_ref
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["claim_job", "complete_job", "create_job", "report_job"]

TTL_MS = (1_000, 300_000)


@room.command(
    "jobs.create",
    op="create",
    writes=True,
    example=CreateJob(title="Find the slow query", prompt="Profile the search page."),
)
def create_job(tx: Tx, req: CreateJob) -> JobMoved:
    """Queue a job for a runner."""
    job_id = f"JOB-{tx.count('job'):03d}"
    priority = "MEDIUM" if req.priority == "normal" else req.priority.upper()
    spec = {
        **(req.meta or {}),
        "executor": req.executor,
        "executor_profile": req.executor_profile,
        "expected_artifacts": req.expected_artifacts,
    }
    event = _event(tx, job_id, "created", {"message": req.title})
    row = tx.one(
        sql.job_add, job_id=job_id, title=req.title, kind=req.kind, priority=PRIORITIES[priority],
        prompt=req.prompt, spec=msgspec.json.encode(spec).decode(), task_id=req.task,
        anchor_id=req.anchor, seq=event.seq, now=tx.now_ms,
    )  # fmt: skip
    return _moved(row, event)


@room.command(
    "jobs.claim",
    writes=True,
    example=ClaimJob(job="JOB-001", runner_id="runner-1"),
)
def claim_job(tx: Tx, req: ClaimJob) -> JobMoved:
    """Take a queued job, or with allow_stale one whose claim has expired."""
    before = _existing(tx, req.job)
    kind = "claimed" if before["status"] == "QUEUED" else "reclaimed"
    meta = {"previous_runner_id": before["runner_id"], "reason": "ttl_expired"}
    seq = tx.seqs(1)
    row = tx.one(
        sql.job_claim, job_id=req.job, runner_id=req.runner_id, now=tx.now_ms, seq=seq,
        expires=_expiry(tx, req.lease_ttl_ms), allow_stale=int(req.allow_stale),
    )  # fmt: skip
    if row is None:
        raise Conflict(
            f"job: {req.job} is {before['status']} and cannot be claimed",
            recovery="claim another job, or after the lease has run out with allow_stale=true",
        )
    data: dict[str, Any] = {"message": f"{kind} by {req.runner_id}"}
    if kind == "reclaimed":
        data["meta"] = meta
    return _moved(row, _event(tx, req.job, kind, data, seq=seq))


@room.command(
    "jobs.report",
    writes=True,
    example=ReportJob(job="JOB-001", runner_id="runner-1", claim_revision=1, message="half done"),
)
def report_job(tx: Tx, req: ReportJob) -> JobMoved:
    """Report progress on a claimed job and renew its claim."""
    seq = tx.seqs(1)
    row = tx.one(
        sql.job_report, job_id=req.job, runner_id=req.runner_id, revision=req.claim_revision,
        expires=_expiry(tx, req.lease_ttl_ms), now=tx.now_ms, seq=seq,
    )  # fmt: skip
    if row is None:
        raise _lost(tx, req.job, req.runner_id, req.claim_revision)
    data: dict[str, Any] = {"message": req.message, "refs": req.refs, "meta": req.meta or {}}
    if req.percent is not None:
        data["percent"] = req.percent
    return _moved(row, _event(tx, req.job, req.kind, data, seq=seq))


@room.command(
    "jobs.complete",
    writes=True,
    example=CompleteJob(
        job="JOB-001", runner_id="runner-1", claim_revision=1, status="DONE",
        summary="The index was missing.", refs=["notes@3"],
    ),
)  # fmt: skip
def complete_job(tx: Tx, req: CompleteJob) -> JobMoved:
    """End a claimed job as DONE or FAILED."""
    seq = tx.seqs(1)
    row = tx.one(
        sql.job_complete, job_id=req.job, runner_id=req.runner_id, revision=req.claim_revision,
        status=req.status, summary=req.summary, refs=msgspec.json.encode(req.refs).decode(),
        now=tx.now_ms, seq=seq,
    )  # fmt: skip
    if row is None:
        raise _lost(tx, req.job, req.runner_id, req.claim_revision)
    kind = {"DONE": "completed", "FAILED": "failed"}[req.status]
    data = {"message": req.summary or req.status.lower(), "refs": req.refs}
    return _moved(row, _event(tx, req.job, kind, data, seq=seq))


def _existing(tx: Tx, job_id: str) -> Row:
    if row := tx.one(sql.job_by_id, job_id=job_id):
        return row
    raise UnknownId(f"job: there is no {job_id}", recovery="list jobs with jobs.list")


def _expiry(tx: Tx, ttl_ms: int) -> int:
    low, high = TTL_MS
    return tx.now_ms + min(max(ttl_ms, low), high)


def _lost(tx: Tx, job_id: str, runner_id: str, revision: int) -> Conflict:
    row = _existing(tx, job_id)
    return Conflict(
        f"job: {job_id} is {row['status']} at revision {row['revision']} with runner "
        f"{row['runner_id']!r}; {runner_id!r} at revision {revision} does not hold it",
        recovery="stop working on it: the claim was lost or the job has ended",
    )


def _event(
    tx: Tx, job_id: str, kind: str, data: dict[str, Any], *, seq: int | None = None
) -> JobEvent:
    seq = tx.append("jobs", job_id, kind, data, seq=seq)
    return JobEvent(ref=seq_ref(job_id, seq), seq=seq, ts_ms=tx.now_ms, kind=kind, **data)


def _moved(row: Row | None, event: JobEvent) -> JobMoved:
    assert row is not None
    return JobMoved(job=Job.from_row(row), event=event)
