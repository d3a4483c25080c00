"""`jobs.wait`: wait up to 25 seconds for events of jobs, or for work to claim.

It reads the store rather than a message stream, so nothing that happens before or between calls is
missed. Clients time out slow calls, so it always answers in time, with a cursor to continue from.
"""

from __future__ import annotations

import msgspec

from longhouse.jobs.claim_queue import Chooser
from longhouse.jobs.claiming import is_full
from longhouse.jobs.reading import events_since
from longhouse.jobs.records import STREAM, existing
from longhouse.jobs.room import room, sql
from longhouse.jobs.states import ENDED
from longhouse.jobs.types.jobs import Claimable, News, Waited, WaitJobs
from longhouse.jobs.values import Job, job_id
from longhouse.kernel.budget import Clip, Pop
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.lines import clip
from longhouse.store.engine import Row
from longhouse.store.tx import Concern, Tx, Wait

__all__ = ["wait_jobs"]


@room.command(
    "jobs.wait",
    also="await poll join block watch~",
    example=WaitJobs(job="JOB-001", until="end", timeout_ms=0),
    trim=[
        Clip("events.message", 400),
        Clip("jobs.summary", 80),
        Pop("events", leave=1, cursor="seq"),
    ],
)
def wait_jobs(tx: Tx, req: WaitJobs) -> Waited | Wait:
    """Wait for events of jobs or, with runner_id, for work that this runner may claim."""
    wanted = list(dict.fromkeys([*([req.job] if req.job else []), *req.jobs]))
    if bool(wanted) == bool(req.runner_id):
        raise InvalidInput(
            "jobs.wait: pass either job (or jobs), or runner_id",
            recovery="job=JOB-001 waits for its events, runner_id=… for work to claim",
        )
    if req.runner_id:
        return _for_work(tx, req, req.runner_id)
    return _for_news(tx, req, [existing(tx, job) for job in wanted])


def _for_news(tx: Tx, req: WaitJobs, rows: list[Row]) -> Waited | Wait:
    after = tx.last_seq() if req.after_seq is None else req.after_seq
    if req.until == "end":
        there = all(row["status"] in ENDED for row in rows)
    else:
        there = any(row["last_seq"] > after for row in rows)
    answer = _answer(tx, req, rows, after, timed_out=not there)
    again = msgspec.structs.replace(req, after_seq=after)  # "now" stays the time of the first read
    on = Concern(subjects=tuple(job_id(row["n"]) for row in rows))
    return answer if there else Wait(answer, req.timeout_ms, again, on=on)


def _for_work(tx: Tx, req: WaitJobs, runner_id: str) -> Waited | Wait:
    chooser = Chooser(tx, runner_id)
    pick = chooser.next(queued=not is_full(tx), allow_stale=req.allow_stale, looking=True)
    seq = tx.last_seq()
    if pick is not None:
        job = Job.from_row(existing(tx, job_id(pick.n)))
        return Waited(
            timed_out=False,
            events=[],
            count=0,
            has_more=False,
            cursor=seq,
            next_cursor=seq,
            claimable=Claimable(
                id=job.id, status=job.status, title=job.title, priority=job.priority
            ),
        )
    nothing = Waited(
        timed_out=True, events=[], count=0, has_more=False, cursor=seq, next_cursor=seq
    )
    # Work can become claimable by the passage of time alone, so answer early when that is due.
    times = [chooser.due_ms]
    if req.allow_stale:
        times.append(tx.value(sql.next_expiry, now=tx.now_ms))
    quiet_ms = min((at - tx.now_ms for at in times if at and at > tx.now_ms), default=25_000)
    return Wait(nothing, min(req.timeout_ms, quiet_ms), on=Concern(streams=(STREAM,)))


def _answer(tx: Tx, req: WaitJobs, rows: list[Row], after: int, *, timed_out: bool) -> Waited:
    """The events after the cursor; if they exceed the limit, `next_cursor` stops at the last."""
    jobs = [Job.from_row(row) for row in rows]
    events = []
    more = False
    for job in jobs:
        some, left = events_since(tx, job.id, after, req.limit)
        events += some
        more = more or left
    events.sort(key=lambda event: event.seq)
    more = more or len(events) > req.limit
    events = events[: req.limit]
    seen = events[-1].seq if more and events else max(after, *(row["last_seq"] for row in rows))
    return Waited(
        timed_out=timed_out,
        jobs=[
            News(
                id=job.id,
                status=job.status,
                ref=job.last_ref,
                summary=clip(job.summary, 400) if job.summary else None,
            )
            for job in jobs
        ],
        events=events,
        count=len(events),
        has_more=more,
        cursor=after,
        next_cursor=seen,
    )
