"""What the holder of a claim may do: report on the job, and finish it.

Both statements are fenced by `(runner_id, claim_revision)` and the caller's token, so a runner that
lost its claim, or never had it, can change nothing. The runner's agent may report on the job, but
may neither finish it nor write the runner's notes. A heartbeat renews the claim in place and leaves
no event.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.jobs.changes import held
from longhouse.jobs.completion_proof import drop_unknown, known_refs, proofs, salvage
from longhouse.jobs.dependencies import dependencies_of, tell_dependents
from longhouse.jobs.holding import holder_of, holdings
from longhouse.jobs.late import too_late
from longhouse.jobs.records import checked_meta, existing, expiry, record
from longhouse.jobs.room import room, sql
from longhouse.jobs.types.jobs import AskManager, CompleteJob, Moved, Reported, ReportJob, WaitJobs
from longhouse.jobs.usage import note_use
from longhouse.jobs.values import HELD_MS, Job, JobUsage, job_id, job_number
from longhouse.kernel.delegation import RESERVED_KINDS
from longhouse.kernel.errors import InvalidInput, Suggestion
from longhouse.kernel.lines import clip
from longhouse.kernel.values import Draft
from longhouse.memory.types.documents import CommitNote
from longhouse.store.engine import Row
from longhouse.store.tx import Asking, Refused, Tx
from longhouse.work import ProofRequired

__all__ = ["ask_manager", "complete_job", "report_job", "used_columns"]

MAX_BACKOFF_MS = 3_600_000


@room.command(
    "jobs.report",
    also="progress heartbeat checkpoint renew",
    writes=True,
    additive=True,
    example=ReportJob(job="JOB-001", runner_id="runner-1", claim_revision=1, message="half done"),
)
def report_job(tx: Tx, req: ReportJob) -> Asking[Reported | Refused]:
    """Report on a claimed job and renew its claim; kind=question asks the manager."""
    if req.kind in RESERVED_KINDS:
        raise InvalidInput(
            f"kind: {req.kind!r} is reserved for the server",
            recovery="use progress, checkpoint, question, proof_gate, error or heartbeat",
        )
    fence: dict[str, Any] = {
        "n": job_number(req.job),
        "runner_id": req.runner_id,
        "revision": req.claim_revision,
        "owner": tx.by.owner,
        "identity": tx.by.identity,
        "expires": expiry(tx.now_ms, req.lease_ttl_ms),
        "percent": req.percent,
        "now": tx.now_ms,
        "runtime": _runtime(tx, req.job, req.meta),
        **used_columns(req.usage),
    }
    if req.kind == "heartbeat":
        rows = yield tx.ask(sql.job_heartbeat, **fence)
        if not rows:
            return too_late(tx, req.job, req.runner_id, req.claim_revision, "a heartbeat")
        note_use(tx, fence["n"], req.usage)
        _alive(tx, rows[0])
        return Reported(job=Job.from_row(rows[0]), event=None)
    refs = known_refs(tx, req.refs)
    proof = req.kind == "checkpoint" and bool(proofs(tx, refs, req.job))
    seq = tx.seqs(1)
    tells = not (req.meta or req.usage or req.changed)
    more = {"kind": req.kind, "proof": int(proof), "tells": int(tells)}
    rows = yield tx.ask(sql.job_report, **fence, **more, seq=seq)
    if not rows:
        return too_late(tx, req.job, req.runner_id, req.claim_revision, _name_of(req.kind))
    note_use(tx, fence["n"], req.usage)
    _alive(tx, rows[0])
    if req.changed:
        row = existing(tx, req.job)
        who = holder_of(tx, row, row["claim_agent"])
        holdings(tx).changed(tx, who, req.changed, applied=False)
    event = record(
        tx,
        rows[0],
        req.kind,
        req.message,
        seq=seq,
        refs=refs,
        meta=req.meta,
        percent=req.percent,
        proof=proof,
    )
    return Reported(job=Job.from_row(rows[0]), event=event)


@room.command(
    "jobs.question",
    also="ask clarify",
    writes=True,
    additive=True,
    example=AskManager(
        job="JOB-001", runner_id="runner-1", claim_revision=1, message="Which store do you mean?"
    ),
)
def ask_manager(tx: Tx, req: AskManager) -> Asking[Reported | Refused]:
    """Ask the manager about a claimed job; the same as jobs.report kind=question."""
    reported = yield from report_job(
        tx,
        ReportJob(
            job=req.job,
            runner_id=req.runner_id,
            claim_revision=req.claim_revision,
            message=req.message,
            kind="question",
            refs=req.refs,
        ),
    )
    if isinstance(reported, Refused):
        return reported
    assert reported.event is not None
    answer = WaitJobs(job=req.job, after_seq=reported.event.seq)
    tx.suggest(answer, "wait for the answer", priority="medium")
    return reported


@room.command(
    "jobs.complete",
    also="finish done end close resolve fail",
    writes=True,
    example=CompleteJob(
        job="JOB-001",
        runner_id="runner-1",
        claim_revision=1,
        status="DONE",
        summary="The index was missing. CMD: pytest -q tests/search",
    ),
)
def complete_job(tx: Tx, req: CompleteJob) -> Asking[Moved | Refused]:
    """Finish a claimed job as DONE or FAILED; a failure is retried until the last attempt."""
    refs = known_refs(tx, req.refs)
    if req.status == "FAILED" and req.changes is not None:
        raise InvalidInput(
            "changes: only a job that is DONE can have pending changes; fix: status=DONE",
            recovery="leave changes out: a failed job keeps its worktree",
        )
    if req.status == "FAILED":
        return _fail(tx, req, refs)
    if not refs:
        refs = drop_unknown(tx, salvage(req.summary or ""))
    proved = bool(proofs(tx, refs, req.job))
    ending = _ending(tx, req, refs, proved=proved)
    if req.changes is None:
        rows = yield tx.ask(sql.job_end, **ending)
    else:
        rows = yield tx.ask(sql.job_hold, **ending, changes=req.changes, held=HELD_MS)
    if not rows:
        if unproved := _unproved(tx, req):
            raise unproved
        return too_late(tx, req.job, req.runner_id, req.claim_revision, "a completion")
    if not proved:
        tx.warn(
            "PROOF_WEAK",
            f"{req.job} finished without a ref that shows what was done",
            "record the results with vcs.notes.commit and pass their refs",
        )
    note_use(tx, ending["n"], req.usage)
    row, seq = rows[0], ending["seq"]
    kind, said = ("completed", _said(req, "done")) if req.changes is None else held(row)
    event = record(tx, row, kind, said, seq=seq, refs=refs, meta=req.meta)
    tell_dependents(tx, row)
    return Moved(job=Job.from_row(row), event=event)


def _fail(tx: Tx, req: CompleteJob, refs: list[str]) -> Moved | Refused:
    ending = _ending(tx, req, refs)
    row, seq = tx.one(sql.job_end, **ending), ending["seq"]
    if row is not None:
        note_use(tx, row["n"], req.usage)
        event = record(tx, row, "failed", _said(req, "failed"), seq=seq, refs=refs, meta=req.meta)
        tell_dependents(tx, row)
        return Moved(job=Job.from_row(row), event=event)
    before = existing(tx, req.job)
    wait_ms = min(before["retry_backoff_ms"] * 2 ** before["failures"], MAX_BACKOFF_MS)
    row = tx.one(
        sql.job_retry,
        n=before["n"],
        runner_id=req.runner_id,
        revision=req.claim_revision,
        owner=tx.by.owner,
        identity=tx.by.identity,
        not_before_ms=tx.now_ms + wait_ms if wait_ms else 0,
        summary=req.summary,
        waits=dependencies_of(tx, before["n"]).waits,
        runtime=_runtime(tx, req.job, req.meta),
        seq=seq,
        now=tx.now_ms,
        **used_columns(req.usage),
    )
    if row is None:
        return too_late(tx, req.job, req.runner_id, req.claim_revision, "a completion")
    note_use(tx, row["n"], req.usage)
    meta = {
        **(req.meta or {}),
        "failures": row["failures"],
        "max_attempts": row["max_attempts"],
        "not_before_ms": row["not_before_ms"],
        "previous_runner_id": req.runner_id,
    }
    event = record(tx, row, "retrying", _said(req, "failed"), seq=seq, refs=refs, meta=meta)
    return Moved(job=Job.from_row(row), event=event)


def _ending(tx: Tx, req: CompleteJob, refs: list[str], *, proved: bool = True) -> dict[str, Any]:
    return {
        "n": job_number(req.job),
        "runner_id": req.runner_id,
        "revision": req.claim_revision,
        "owner": tx.by.owner,
        "identity": tx.by.identity,
        "status": req.status,
        "failed": int(req.status == "FAILED"),
        "proved": int(proved),
        "summary": req.summary,
        "refs": msgspec.json.encode(refs).decode(),
        "runtime": _runtime(tx, req.job, req.meta),
        "now": tx.now_ms,
        "seq": tx.seqs(1),
        **used_columns(req.usage),
    }


def _unproved(tx: Tx, req: CompleteJob) -> ProofRequired | None:
    """The refusal if the claim holds but proof is missing; None if the claim does not hold."""
    row = existing(tx, req.job)
    holds = row["status"] == "RUNNING" and row["runner_id"] == req.runner_id
    holds = holds and tx.by.owns(row["claim_owner"], row["claim_identity"])
    if not (holds and row["revision"] == req.claim_revision and row["require_proof"]):
        return None
    said = req.summary
    note = CommitNote(content=said) if said else Draft(CommitNote, {}, ["content"])
    return ProofRequired(
        f"refs: {req.job} needs a ref that opens something other than the job itself to be DONE",
        recovery="record the result, then repeat with refs=[<its ref>]",
        suggest=[Suggestion(note, "record the result; its ref is the proof")],
    )


def _runtime(tx: Tx, job: str, meta: dict[str, Any] | None) -> str | None:
    """The job's runtime notes with `meta` merged in (null removes a key); None for no change.

    The spec is stored separately and does not change. A session is marked with the token that wrote
    it and shown only to callers with that token (`jobs.records.own_runtime`).
    """
    if not meta:
        return None
    if isinstance(meta.get("session"), dict):
        meta = {**meta, "session": {**meta["session"], "written_by": tx.by.owner}}
    merged = {**msgspec.json.decode(existing(tx, job)["runtime"]), **meta}
    kept = checked_meta({key: value for key, value in merged.items() if value is not None})
    return msgspec.json.encode(kept).decode()


def _alive(tx: Tx, row: Row) -> None:
    """A report is also a sign of life from the job itself and renews its reservations."""
    if row["in_crew"]:
        holdings(tx).renew(tx, job_id(row["n"]))


def used_columns(usage: JobUsage | None) -> dict[str, int]:
    """The usage as increments for a job's columns."""
    used = usage or JobUsage()
    return {
        "input_tokens": used.input_tokens,
        "output_tokens": used.output_tokens,
        "cost_microusd": used.cost_microusd,
        "uncosted": used.uncosted,
    }


def _name_of(kind: str) -> str:
    return "a question" if kind == "question" else f"a report of {kind}"


def _said(req: CompleteJob, otherwise: str) -> str:
    return clip(req.summary, 400) if req.summary else otherwise
