"""Pending changes: the job is done, but the changes in its worktree do not apply to the work tree.

Such a job has no runner and cannot be claimed; it needs attention (`!`) until its changes are
applied or dropped. `longhouse job apply` changes the files, on the machine that has them; this room
only records the outcome.
"""

from __future__ import annotations

from longhouse.jobs.dependencies import tell_dependents
from longhouse.jobs.holding import holder_of, holdings
from longhouse.jobs.records import existing, record
from longhouse.jobs.room import room, sql
from longhouse.jobs.types.jobs import ApplyChanges, Moved, OpenJob
from longhouse.jobs.values import Job, job_id
from longhouse.kernel.errors import Conflict, Forbidden, Suggestion
from longhouse.kernel.lines import clip
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["apply_changes", "apply_line", "held"]

DROPPED = "Its changes were dropped."


def apply_line(job: str) -> str:
    """The command line that applies the changes of a job."""
    return f"longhouse job apply {job}"


def held(row: Row) -> tuple[str, str]:
    """The kind and the message of the event that records pending changes."""
    line = apply_line(job_id(row["n"]))
    why = clip(row["changes"], 600)
    return "changes_wait", f"{why}. Apply them: {line}. Or drop them: {line} --drop"


@room.command(
    "jobs.apply",
    also="land drop.changes merge",
    writes=True,
    example=ApplyChanges(job="JOB-001"),
)
def apply_changes(tx: Tx, req: ApplyChanges) -> Moved:
    """Record that a job's pending changes were applied or dropped, which finishes the job."""
    before = existing(tx, req.job)
    if not tx.by.leads and not tx.by.owns(before["claim_owner"], before["claim_identity"]):
        raise Forbidden(
            f"job: only its runner or a manager may settle the changes of {req.job}",
            recovery=f"ask a manager to run: {apply_line(req.job)}",
        ).asking("role:manager")
    dropped = req.outcome == "dropped"
    summary = f"{before['summary'] or ''}\n\n{DROPPED}".strip() if dropped else before["summary"]
    seq = tx.seqs(1)
    row = tx.one(
        sql.job_settle,
        n=before["n"],
        status="FAILED" if dropped else "DONE",
        summary=summary,
        seq=seq,
        now=tx.now_ms,
    )
    if row is None:
        raise Conflict(
            f"job: {req.job} is {before['status']} and has no pending changes",
            recovery="there is nothing to apply or drop",
            suggest=[Suggestion(OpenJob(job=req.job), "see its current state")],
        )
    kind, said = ("failed", DROPPED) if dropped else ("completed", "Its changes were applied.")
    event = record(tx, row, kind, req.reason or said, seq=seq)
    if req.changed and not dropped:
        who = holder_of(tx, before, before["claim_agent"])
        holdings(tx).changed(tx, who, req.changed, applied=True)
    tell_dependents(tx, row)
    return Moved(job=Job.from_row(row), event=event)
