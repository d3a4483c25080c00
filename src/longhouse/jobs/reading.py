"""Reading jobs: lists, one job with its newest events, and its events after a cursor."""

from __future__ import annotations

from typing import NamedTuple

import msgspec

from longhouse.jobs.dependencies import dependencies_of
from longhouse.jobs.holding import held_by
from longhouse.jobs.leading import may_lead
from longhouse.jobs.records import existing, own_runtime
from longhouse.jobs.room import room, sql
from longhouse.jobs.types.jobs import JobList, JobTail, JobView, ListJobs, OpenJob, TailJob
from longhouse.jobs.values import Job, JobEvent, JobUsage, attention_of, job_id, job_number
from longhouse.jobs.waiting import Prospects
from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.delegation import RESERVED_KINDS
from longhouse.kernel.lines import clip
from longhouse.store.engine import Row
from longhouse.store.tx import LogRow, Tx
from longhouse.store.tx import sql as log_sql

__all__ = [
    "ENDLESS",
    "ActiveJob",
    "active_job_of",
    "events_before",
    "events_since",
    "list_jobs",
    "open_job",
    "tail_job",
    "usage_of_task",
]

ENDLESS = 2**62


def list_lines(result: dict) -> list[str]:  # type: ignore[type-arg]
    """`jobs count=n …`, then one line per job."""
    more = " has_more=true" if result["has_more"] else ""
    rows = []
    for job in result["jobs"]:
        links = [f"{key}={job[f'{key}_id']}" for key in ("task", "anchor") if job.get(f"{key}_id")]
        rows.append(" | ".join([f"{job['id']} ({job['status']}) {clip(job['title'], 80)}", *links]))
    if result.get("next_cursor"):
        rows.append(f"MORE: cursor={result['next_cursor']}")
    return [f"jobs count={result['count']}{more}", *rows]


@room.command(
    "jobs.list",
    also=(
        "ls all search query queue pending:status=QUEUED queued:status=QUEUED "
        "running:status=RUNNING failed:status=FAILED"
    ),
    op="list",
    example=ListJobs(status="QUEUED"),
    lines=list_lines,
    trim=[Clip("jobs.summary", 80), Pop("jobs", leave=1, cursor="id"), Drop("usage")],
)
def list_jobs(tx: Tx, req: ListJobs) -> JobList:
    """List jobs, newest first; with status=QUEUED, oldest first."""
    rows = _page(tx, req)
    shown = rows[: req.limit]
    more = len(rows) > req.limit
    return JobList(
        jobs=[Job.from_row(row) for row in shown],
        count=len(shown),
        has_more=more,
        cursor=req.cursor,
        next_cursor=job_id(shown[-1]["n"]) if more else None,
        usage=usage_of_task(tx, req.task) if req.task else None,
    )


def open_lines(result: dict) -> list[str]:  # type: ignore[type-arg]
    job = result["job"]
    marker = result["attention"].get("marker")
    head = f"{job['id']} ({job['status']}{marker or ''}) {clip(job['title'], 80)}"
    rows = [_event_line(event) for event in result["events"]]
    if waiting := result.get("waiting"):
        fix = f"; {waiting['fix']}" if waiting.get("fix") else ""
        rows.insert(0, f"waits: {waiting['why']}{fix}")
    if result["has_more_events"] and result["events"]:
        rows.append(f"MORE: before_seq={result['events'][-1]['seq']}")
    return [f"{head} | open id={job['last_ref']}", *rows]


@room.command(
    "jobs.open",
    also="show get view read status info result describe",
    op="open",
    profile="audit",
    example=OpenJob(job="JOB-001"),
    lines=open_lines,
    trim=[
        Clip("events.message", 160),
        Pop("events", leave=1),
        Drop("runtime"),
        Drop("meta"),
        Drop("job.meta"),
        Clip("job.summary", 160),
        Drop("prompt"),
    ],
)
def open_job(tx: Tx, req: OpenJob) -> JobView:
    """Read a job and its last events; prompt and meta on request."""
    row = existing(tx, req.job)
    limit = req.max_events if req.include_events else 0
    events, more = events_before(tx, req.job, req.before_seq or ENDLESS, limit)
    spec = tx.one(sql.spec_of, n=row["n"]) if req.include_prompt or req.include_meta else None
    meta = msgspec.json.decode(spec["meta"]) if spec and req.include_meta else None
    return JobView(
        job=Job.from_row(row, meta=meta),
        attention=attention_of(row, tx.now_ms),
        after=[job_id(n) for n in dependencies_of(tx, row["n"]).numbers],
        holds=held_by(tx, row),
        waiting=Prospects(tx).why(row),
        yours=may_lead(tx, row),
        prompt=spec["prompt"] if spec and req.include_prompt else None,
        prompt_chars=int(tx.value(sql.spec_size, n=row["n"])),
        meta=meta,
        runtime=own_runtime(tx, row) if req.include_meta else None,
        events=events,
        count=len(events),
        has_more_events=more,
    )


def tail_lines(result: dict) -> list[str]:  # type: ignore[type-arg]
    head = f"{result['job_id']} ({result['status']}) events count={result['count']}"
    more = [f"MORE: after_seq={result['next_cursor']}"] if result["has_more"] else []
    return [head, *(_event_line(event) for event in result["events"]), *more]


@room.command(
    "jobs.tail",
    also="logs log events follow history output stdout",
    example=TailJob(job="JOB-001"),
    lines=tail_lines,
    trim=[
        Clip("events.message", 400),
        Pop("events", leave=1, cursor="seq"),
        Clip("events.message", 80),
    ],
)
def tail_job(tx: Tx, req: TailJob) -> JobTail:
    """Read a job's events after a cursor, without gaps or repeats."""
    row = existing(tx, req.job)
    events, more = events_since(tx, req.job, req.after_seq, req.limit)
    return JobTail(
        job_id=req.job,
        status=row["status"],
        events=events,
        count=len(events),
        has_more=more,
        cursor=req.after_seq,
        next_cursor=events[-1].seq if events else req.after_seq,
    )


def events_before(tx: Tx, job: str, before: int, limit: int) -> tuple[list[JobEvent], bool]:
    """The newest events before a seq, newest first, and whether there are older ones."""
    rows = tx.all(log_sql.log_of_subject_before, subject=job, before=before, limit=limit + 1)
    return [JobEvent.from_log(LogRow.from_row(row)) for row in rows[:limit]], len(rows) > limit


def events_since(tx: Tx, job: str, after: int, limit: int) -> tuple[list[JobEvent], bool]:
    """The oldest events after a seq, oldest first, and whether there are newer ones."""
    rows = tx.all(log_sql.log_of_subject_after, subject=job, after=after, limit=limit + 1)
    return [JobEvent.from_log(LogRow.from_row(row)) for row in rows[:limit]], len(rows) > limit


def usage_of_task(tx: Tx, task: str) -> JobUsage | None:
    """What all jobs of a task have used; None if that is zero."""
    row = tx.one(sql.usage_of_task, task=task)
    return JobUsage.from_row(row) if row else None


class ActiveJob(NamedTuple):
    """The job that represents a task where only one is shown.

    `said` is its open question, else the last thing its agent said.
    """

    job: Job
    marker: str | None
    said: str | None


def active_job_of(tx: Tx, task: str) -> ActiveJob | None:
    """The unfinished job that represents a task: a running one before a queued one."""
    row = tx.one(sql.active_of_task, task=task)
    if row is None:
        return None
    attention = attention_of(row, tx.now_ms)
    seq = row["last_question_seq"] if attention.needs_manager else row["last_seq"]
    event = tx.one(log_sql.log_one, seq=seq)
    told = event is not None and event["kind"] not in RESERVED_KINDS
    said = JobEvent.from_log(LogRow.from_row(event)).message if event and told else None
    return ActiveJob(Job.from_row(row), attention.marker, said)


def _page(tx: Tx, req: ListJobs) -> list[Row]:
    most = req.limit + 1
    before = job_number(req.cursor) if req.cursor else ENDLESS
    if req.task:
        return tx.all(
            sql.jobs_newest_of_task,
            task=req.task,
            anchor=req.anchor,
            status=req.status,
            before=before,
            limit=most,
        )
    if req.anchor:
        return tx.all(
            sql.jobs_newest_of_anchor,
            anchor=req.anchor,
            status=req.status,
            before=before,
            limit=most,
        )
    if req.status == "QUEUED":
        after = job_number(req.cursor) if req.cursor else 0
        return tx.all(sql.jobs_oldest_of_status, status=req.status, after=after, limit=most)
    if req.status:
        return tx.all(sql.jobs_newest_of_status, status=req.status, before=before, limit=most)
    return tx.all(sql.jobs_newest, before=before, limit=most)


def _event_line(event: dict) -> str:  # type: ignore[type-arg]
    refs = f" | refs: {', '.join(event['refs'][:3])}" if event.get("refs") else ""
    return f"- {event['ref']} {event['kind']}: {clip(event.get('message') or '', 160)}{refs}"
