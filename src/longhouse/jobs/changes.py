"""Changes that wait: a job that is done, but whose worktree's changes do not go into the work tree.

The job is no runner's any more and nobody claims it; it needs someone (`!`) until its changes are
in the work tree, or given up. Files are changed by `longhouse job apply` on the machine that has
them; this room records what became of them.
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

__all__ = ["HELD_MS", "apply_changes", "apply_line", "held"]

HELD_MS = 2**53
"""Before this time nobody claims a job whose changes wait."""

DROPPED = "Its changes were dropped."


def apply_line(job: str) -> str:
    """The command line that takes the changes of a job."""
    return f"longhouse job apply {job}"


def held(row: Row) -> tuple[str, str]:
    """The event of a job whose changes wait: its kind, and what to do about it."""
    line = apply_line(job_id(row["n"]))
    why = clip(row["changes"], 600)
    return "changes_wait", f"{why}. Take them: {line}. Or drop them: {line} --drop"


@room.command(
    "jobs.apply",
    also="land drop.changes",
    writes=True,
    example=ApplyChanges(job="JOB-001"),
)
def apply_changes(tx: Tx, req: ApplyChanges) -> Moved:
    """Say that the changes that a job waits with were taken or dropped; that ends the job."""
    before = existing(tx, req.job)
    if not tx.by.leads and before["claim_owner"] != tx.by.owner:
        raise Forbidden(
            f"job: what becomes of the changes of {req.job} is for its runner or a manager to say",
            recovery=f"ask whoever leads to run: {apply_line(req.job)}",
        )
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
            f"job: {req.job} is {before['status']} and has no changes that wait",
            recovery="nothing is to be done",
            suggest=[Suggestion(OpenJob(job=req.job), "see how it stands")],
        )
    kind, said = ("failed", DROPPED) if dropped else ("completed", "Its changes were taken.")
    event = record(tx, row, kind, req.reason or said, seq=seq)
    if req.changed and not dropped:
        who = holder_of(tx, before, before["claim_agent"])
        holdings(tx).changed(tx, who, req.changed, applied=True)
    tell_dependents(tx, row)
    return Moved(job=Job.from_row(row), event=event)
