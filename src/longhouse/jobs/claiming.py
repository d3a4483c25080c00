"""Claims: a job is held by one runner at a time, under a lease, and only by one that may run it.

A claim is one conditional statement and is bound to the token that made it: `runner_id` and
`revision` identify the claim, but no other token can use them. Only the agent that the runner names
in the claim may also report on it. A job can be taken from its runner only after the lease expires.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.jobs.claim_queue import LOOK_AT, Chooser
from longhouse.jobs.dependencies import dependencies_of
from longhouse.jobs.facts import JobFacts
from longhouse.jobs.holding import holder_of, holdings
from longhouse.jobs.late import too_late
from longhouse.jobs.records import LONGEST_MS, existing, expiry, record
from longhouse.jobs.room import room, sql
from longhouse.jobs.routing import Need, Offer, RunnerCandidate
from longhouse.jobs.types.jobs import Claimed, ClaimJob, Moved, ReleaseJob, WaitJobs
from longhouse.jobs.values import HELD_MS, Job, job_id
from longhouse.kernel.budget import Drop
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.errors import Conflict, Suggestion
from longhouse.store.engine import Row
from longhouse.store.projects import require_bound
from longhouse.store.tx import Asking, LogRow, Refused, Tx
from longhouse.store.tx import sql as log_sql

__all__ = ["LAPSED_MS", "RoutingRefused", "claim_job", "is_full", "release_job"]

FILES_WAIT_MS = 60_000
"""How long a job waits for its files before it is offered again."""

LAPSED_MS = 60_000
"""How long an expired claim is left alone, for its holder to renew or another runner to take."""


class RoutingRefused(Conflict):
    """This runner may not run that job."""

    code = "ROUTING_REFUSED"


@room.command(
    "jobs.claim",
    also="take grab accept pull start pick next dequeue",
    writes=True,
    additive=True,
    example=ClaimJob(job="JOB-001", runner_id="runner-1"),
    trim=[Drop("job.meta")],
)
def claim_job(tx: Tx, req: ClaimJob) -> Asking[Claimed]:
    """Claim a job or, without `job`, the next one that this runner may run."""
    if req.projects is not None or req.agent_digest:  # a program will work on it, somewhere
        require_bound(tx, req.projects)
    chooser = Chooser(tx, req.runner_id)
    before = _named(tx, req, req.job, chooser) if req.job else _next(tx, req, chooser)
    while before is not None and (why := hold_back(tx, before)):
        if req.job:
            tx.warn("FILES_HELD", f"{req.job} waits: {why}", "ask the holder, or wait")
        chooser = Chooser(tx, req.runner_id)
        before = None if req.job else _next(tx, req, chooser)
    if before is None:
        chooser.leave_the_rest()
        tx.suggest(WaitJobs(runner_id=req.runner_id), "wait for work that this runner may run")
        return Claimed(job=None, event=None)
    seq = tx.seqs(1)
    taking = tx.ask(
        sql.job_claim,
        n=before["n"],
        runner_id=req.runner_id,
        owner=tx.by.owner,
        identity=tx.by.identity if tx.by.agent else None,
        agent=req.agent_digest,
        now=tx.now_ms,
        seq=seq,
        expires=expiry(tx.now_ms, req.lease_ttl_ms),
        allow_stale=int(req.allow_stale),
        in_crew=int(bool(req.agent_digest) or Need.from_route(before["route"]).paths),
    )
    chooser.leave_the_rest(req.job)
    rows = yield taking
    if not rows:
        raise _taken(tx, req, existing(tx, job_id(before["n"])))
    row = rows[0]
    if row["in_crew"]:
        holdings(tx).take(tx, holder_of(tx, row, req.agent_digest or tx.by.owner))
    if before["status"] == "QUEUED":
        event = record(tx, row, "claimed", f"claimed by {req.runner_id}", seq=seq)
    else:
        meta = {"previous_runner_id": before["runner_id"], "reason": "ttl_expired"}
        message = f"reclaimed by {req.runner_id}: the lease of {before['runner_id']} expired"
        event = record(tx, row, "reclaimed", message, seq=seq, meta=meta)
    return Claimed(job=Job.from_row(row, meta=msgspec.json.decode(row["meta"])), event=event)


@room.command(
    "jobs.release",
    also="unclaim jobs.give.back decline return",
    writes=True,
    example=ReleaseJob(
        job="JOB-001", runner_id="runner-1", claim_revision=1, reason="shutting down"
    ),
)
def release_job(tx: Tx, req: ReleaseJob) -> Moved | Refused:
    """Return a claimed job to the queue, with a reason."""
    before = existing(tx, req.job)
    need = Need.from_route(before["route"])
    if req.decline:
        lease = tx.one(sql.lease_one, runner_id=req.runner_id)
        since_ms = lease["since_ms"] if lease else 0
        need = need.declined_by(
            RunnerCandidate(runner_id=req.runner_id, offer=Offer(), since_ms=since_ms)
        )
    meta = {"runner_id": req.runner_id, "declined": req.decline}
    claim = {
        "n": before["n"],
        "runner_id": req.runner_id,
        "revision": req.claim_revision,
        "claim_owner": tx.by.owner,
        "claim_identity": tx.by.identity,
    }
    moved = _release(tx, claim, need, req.reason, meta)
    if moved is None:
        return too_late(tx, req.job, req.runner_id, req.claim_revision, "a release")
    return moved


def hold_back(tx: Tx, before: Row) -> str | None:
    """Delay a job whose files are held by others and return by whom; None if it can run."""
    need = Need.from_route(before["route"])
    if not need.paths:
        return None
    row = existing(tx, job_id(before["n"]))
    if row["not_before_ms"] >= HELD_MS:
        return None  # never claimable: a delay would end that
    found = holdings(tx).obstacles(tx, holder_of(tx, row))
    if not found:
        return None
    why = "; ".join(found)
    if row["status"] == "RUNNING":
        meta = {"runner_id": row["runner_id"], "declined": False, "reason": "ttl_expired"}
        _release(tx, row, need, f"returned to the queue: {why}", meta)
    until = tx.now_ms + FILES_WAIT_MS
    last = tx.one(log_sql.log_one, seq=row["last_seq"])
    if last is not None and LogRow.from_row(last).data.get("message") == why:
        tx.run(sql.job_wait_again, n=row["n"], until=until)
        return why
    seq = tx.seqs(1)
    blocked = tx.one(sql.job_block, n=row["n"], until=until, seq=seq, now=tx.now_ms)
    assert blocked is not None
    record(tx, blocked, "blocked", why, seq=seq, error=True)
    return why


@room.clamps
def clamp_leases(tx: Tx) -> None:
    """No claim and no runner's lease lasts longer than the longest that can be asked for."""
    longest = tx.now_ms + LONGEST_MS
    tx.run(sql.claims_clamp, longest=longest)
    tx.run(sql.leases_clamp, longest=longest)


@room.every(10)
def take_back(tx: Tx) -> None:
    """Requeue jobs whose claim expired a while ago and that no runner has reclaimed."""
    before = tx.now_ms - LAPSED_MS
    for row in tx.all(sql.claim_expired, now=before, limit=LOOK_AT):
        job = existing(tx, job_id(row["n"]))
        holder = job["runner_id"]
        message = f"returned to the queue: the lease of {holder} expired"
        meta = {"runner_id": holder, "declined": False, "reason": "ttl_expired"}
        need = Need.from_route(row["route"])
        _release(tx, job, need, message, meta)


def _release(tx: Tx, claim: Row, need: Need, message: str, meta: dict[str, Any]) -> Moved | None:
    """Return a claimed job to the queue; None if the claim does not hold."""
    deps = dependencies_of(tx, claim["n"])
    seq = tx.seqs(1)
    row = tx.one(
        sql.job_release,
        n=claim["n"],
        runner_id=claim["runner_id"],
        revision=claim["revision"],
        owner=claim["claim_owner"],
        identity=claim["claim_identity"],
        route=need.route(),
        waits=deps.waits,
        lost=int(bool(deps.lost)),
        seq=seq,
        now=tx.now_ms,
    )
    if row is None:
        return None
    event = record(tx, row, "released", message, seq=seq, meta=meta, error=bool(deps.lost))
    return Moved(job=Job.from_row(row), event=event)


def _named(tx: Tx, req: ClaimJob, job: str, chooser: Chooser) -> Row:
    """The requested job, if this runner may claim it."""
    row = existing(tx, job)
    if reason := chooser.refusal(row["route"]):
        raise RoutingRefused(
            f"job: {job} cannot run on this runner: {reason}",
            recovery="claim without job= to get one that it may run",
            suggest=[Suggestion(_any(req), "claim the next job that this runner may run")],
        )
    if row["status"] == "QUEUED" and is_full(tx):
        raise _full(tx, req)
    return row


def _next(tx: Tx, req: ClaimJob, chooser: Chooser) -> Row | None:
    """The next job for this runner; at the running limit, only a job whose claim expired."""
    full = is_full(tx)
    pick = chooser.next(queued=not full, allow_stale=req.allow_stale)
    if pick is None:
        if full:
            raise _full(tx, req)
        return None
    if pick.status == "QUEUED":
        return {"n": pick.n, "status": "QUEUED", "route": pick.route}
    return existing(tx, job_id(pick.n))


def _any(req: ClaimJob) -> ClaimJob:
    return ClaimJob(runner_id=req.runner_id, allow_stale=req.allow_stale)


def is_full(tx: Tx) -> bool:
    """Whether the workspace runs as many jobs as `jobs_max_running` allows."""
    limit: int = tx.facts.of(JobFacts).max_running
    return bool(limit) and tx.value(sql.count_up_to, status="RUNNING", limit=limit) >= limit


def _full(tx: Tx, req: ClaimJob) -> Conflict:
    return Conflict(
        f"{tx.facts.of(JobFacts).max_running} jobs are running, the most jobs_max_running allows",
        recovery="wait until one has finished, or raise the setting jobs_max_running",
        suggest=[Suggestion(WaitJobs(runner_id=req.runner_id), "wait for work")],
    )


def _taken(tx: Tx, req: ClaimJob, row: Row) -> Conflict:
    """The refusal that explains why a claim failed."""
    job = job_id(row["n"])
    recovery = "claim another job"
    if row["status"] == "RUNNING":
        until = rfc3339(row["claim_expires_at_ms"])
        if row["claim_expires_at_ms"] > tx.now_ms:
            state = f"is held by {row['runner_id']!r} until {until}"
        else:
            state = f"was held by {row['runner_id']!r}, whose lease expired at {until}"
            recovery = "repeat with allow_stale=true to take it over"
    elif row["changes"]:
        state = "is done, but its changes have not been applied"
        recovery = f"apply or drop them: longhouse job apply {job}"
    elif row["status"] == "QUEUED" and row["not_before_ms"] >= HELD_MS:
        state = "came from elsewhere and is held until a manager releases it"
        recovery = f"ask a manager to run: longhouse release {job}"
    elif row["status"] == "QUEUED" and row["waits"]:
        others = "1 other job" if row["waits"] == 1 else f"{row['waits']} other jobs"
        state = f"waits for {others}"
    elif row["status"] == "QUEUED":
        state = f"may not start before {rfc3339(row['not_before_ms'])}"
    else:
        state = f"has finished as {row['status']}"
    return Conflict(
        f"job: {job} {state}",
        recovery=recovery,
        suggest=[Suggestion(_any(req), "claim the next job that this runner may run")],
    )
