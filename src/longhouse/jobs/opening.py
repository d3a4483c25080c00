"""What `open` finds in this room: `JOB-…`."""

from __future__ import annotations

import re

from longhouse.jobs.room import room, sql
from longhouse.jobs.types import Job, JobEvent, JobOpened
from longhouse.kernel.errors import UnknownId
from longhouse.store.tx import LogRow, Tx
from longhouse.store.tx import sql as log_sql

__all__ = ["open_job"]


@room.opens(r"JOB-[0-9]{3,}", "a job, like JOB-001")
def open_job(tx: Tx, req: object, match: re.Match[str]) -> JobOpened:
    """A job with its newest events; the prompt only on request."""
    row = tx.one(sql.job_by_id, job_id=match[0])
    if row is None:
        raise UnknownId(f"id: there is no {match[0]}", recovery="list jobs with jobs.list")
    limit: int = getattr(req, "limit", 10)
    events = tx.all(log_sql.log_of_subject_before, subject=match[0], before=2**62, limit=limit + 1)
    return JobOpened(
        kind="job",
        id=match[0],
        job=Job.from_row(row),
        prompt=row["prompt"] if getattr(req, "include_drafts", False) else None,
        events=[JobEvent.from_log(LogRow.from_row(e)) for e in events[:limit]],
        has_more_events=len(events) > limit,
    )
