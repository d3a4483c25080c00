"""What a manager may do with a job: answer, steer, cancel, requeue.

Whoever created the job may answer and cancel it, too.
"""

from __future__ import annotations

from longhouse.jobs.completion_proof import drop_unknown, known_refs, proofs, salvage
from longhouse.jobs.dependencies import dependencies_of, tell_dependents
from longhouse.jobs.leading import must_lead
from longhouse.jobs.records import existing, record
from longhouse.jobs.room import room, sql
from longhouse.jobs.routing import Need
from longhouse.jobs.types.jobs import CancelJob, MessageJob, Moved, OpenJob, RequeueJob
from longhouse.jobs.values import Job, job_number
from longhouse.kernel.errors import Conflict, Suggestion
from longhouse.kernel.registry import Role
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["JobThread", "cancel_job", "message_job", "requeue_job"]


@room.command(
    "jobs.message",
    also="reply answer send tell steer comment execution.resume.session",
    writes=True,
    additive=True,
    example=MessageJob(job="JOB-001", message="Use the staging database."),
)
def message_job(tx: Tx, req: MessageJob) -> Moved:
    """Answer or steer a queued or running job; its agent gets the message in the next slice."""
    before = existing(tx, req.job)
    must_lead(tx, before, "answer")
    refs = known_refs(tx, req.refs) or drop_unknown(tx, salvage(req.message))
    proof = bool(proofs(tx, refs, req.job))
    seq = tx.seqs(1)
    row = tx.one(sql.job_message, n=before["n"], proof=int(proof), seq=seq, now=tx.now_ms)
    if row is None:
        raise _ended(req.job, before, "cannot receive messages")
    event = record(tx, row, "manager", req.message, seq=seq, refs=refs, proof=proof)
    return Moved(job=Job.from_row(row), event=event)


@room.provides("processes.job_thread")
class JobThread:
    """How the processes room notifies a job; this does not count as the manager's answer."""

    def check(self, tx: Tx, who: str) -> None:
        before = existing(tx, who)
        if before["status"] not in ("QUEUED", "RUNNING"):
            raise _ended(who, before, "cannot receive messages")

    def tell(self, tx: Tx, who: str, sender: str, text: str, about: str) -> str:
        self.check(tx, who)
        seq = tx.seqs(1)
        row = tx.one(sql.job_woken, n=job_number(who), seq=seq, now=tx.now_ms)
        assert row is not None
        meta = {"rule": sender, "task_id": about}
        return record(tx, row, "woken", text, seq=seq, refs=[about], meta=meta).ref


@room.command(
    "jobs.cancel",
    also="stop kill abort delete remove terminate",
    writes=True,
    destructive=True,
    example=CancelJob(job="JOB-001", reason="no longer needed"),
)
def cancel_job(tx: Tx, req: CancelJob) -> Moved:
    """Cancel a queued or running job; its runner can no longer report on it."""
    before = existing(tx, req.job)
    must_lead(tx, before, "cancel")
    seq = tx.seqs(1)
    row = tx.one(sql.job_cancel, n=before["n"], summary=req.reason, seq=seq, now=tx.now_ms)
    if row is None:
        raise _ended(req.job, before, "cannot be canceled")
    event = record(tx, row, "canceled", req.reason or "canceled", seq=seq)
    tell_dependents(tx, row)
    return Moved(job=Job.from_row(row), event=event)


@room.command(
    "jobs.requeue",
    also="retry restart rerun resume again",
    writes=True,
    role=Role.MANAGER,
    example=RequeueJob(job="JOB-001", reason="the database is back"),
)
def requeue_job(tx: Tx, req: RequeueJob) -> Moved:
    """Run a finished job again, or reoffer a queued one that was declined or delayed."""
    before = existing(tx, req.job)
    deps = dependencies_of(tx, before["n"])
    refs = known_refs(tx, req.refs)
    need = Need.from_route(before["route"])
    seq = tx.seqs(1)
    row = tx.one(
        sql.job_requeue,
        n=before["n"],
        route=need.afresh().route(),
        offer=int(bool(need.declined or before["not_before_ms"])),
        waits=deps.waits,
        error_seq=seq if deps.lost else 0,
        seq=seq,
        now=tx.now_ms,
    )
    if row is None:
        raise Conflict(
            f"job: {req.job} is {before['status']}; only a finished job can run again",
            recovery="cancel it first" if before["status"] == "RUNNING" else "it is already queued",
            suggest=[Suggestion(OpenJob(job=req.job), "see its current state")],
        )
    event = record(
        tx, row, "requeued", req.reason or "requeued", seq=seq, refs=refs, error=bool(deps.lost)
    )
    tell_dependents(tx, row)
    return Moved(job=Job.from_row(row), event=event)


def _ended(job: str, row: Row, what: str) -> Conflict:
    return Conflict(
        f"job: {job} has finished as {row['status']} and {what}",
        recovery="run it again with jobs.requeue, or create another job",
        suggest=[Suggestion(RequeueJob(job=job), "run it again")],
    )
