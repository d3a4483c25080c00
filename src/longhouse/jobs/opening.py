"""The refs of this room that `open` resolves: `JOB-…`, `JOB-…@<seq>` and `runner:<id>`."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from longhouse.jobs.reading import ENDLESS, events_before, events_since
from longhouse.jobs.room import room, sql
from longhouse.jobs.types.jobs import Around, JobEventOpened, JobOpened, ListJobs, TailJob
from longhouse.jobs.types.radar import ShowRadar
from longhouse.jobs.types.runners import RunnerOpened
from longhouse.jobs.values import Job, JobEvent, RunnerLease, job_number
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.store.engine import Row
from longhouse.store.tx import LogRow, Tx
from longhouse.store.tx import sql as log_sql

__all__ = [
    "open_event",
    "open_job",
    "open_runner",
]

AROUND = 3
_JOB = r"JOB-(?:[0-9]{3}|[1-9][0-9]{3,14})"  # exactly one spelling per job


@room.opens("job", _JOB, "a job", "JOB-001")
def open_job(tx: Tx, req: Any, match: re.Match[str]) -> JobOpened:
    """A job with its newest events; the prompt only on request."""
    row = _existing(tx, match[0])
    events, more = events_before(tx, match[0], ENDLESS, req.limit)
    spec = tx.one(sql.spec_of, n=row["n"]) if req.include_drafts else None
    return JobOpened(
        kind="job",
        id=match[0],
        job=Job.from_row(row),
        prompt=spec["prompt"] if spec else None,
        events=events,
        has_more_events=more,
    )


@room.opens(
    "job_event", rf"(?P<job>{_JOB})@(?P<seq>[0-9]{{1,16}})", "an event of a job", "JOB-001@7"
)
def open_event(tx: Tx, req: Any, match: re.Match[str]) -> JobEventOpened:
    """One event with a few before and after it."""
    row = _existing(tx, match["job"])
    seq = int(match["seq"])
    found = tx.one(log_sql.log_one, seq=seq)
    if found is None or found["subject"] != match["job"]:
        raise UnknownId(
            f"id: {match['job']} has no event {match[0]}",
            recovery=f"read its events with jobs.tail job={match['job']}",
            suggest=[Suggestion(TailJob(job=match["job"]), "see what happened to it")],
        )
    around = min(AROUND, req.limit)
    before, older = events_before(tx, match["job"], seq, around)
    after, newer = events_since(tx, match["job"], seq, around)
    return JobEventOpened(
        kind="job_event",
        ref=match[0],
        job=Job.from_row(row),
        event=JobEvent.from_log(LogRow.from_row(found)),
        context=Around(events=[*reversed(before), *after], has_more_events=older or newer),
    )


@room.opens(
    "runner",
    r"runner:(?P<id>[A-Za-z0-9][A-Za-z0-9._:/+-]{0,127})",
    "a runner",
    "runner:r1",
    mention=None,
    proves=False,  # it names a worker, not what was done
    cites=False,
)
def open_runner(tx: Tx, req: Any, match: re.Match[str]) -> RunnerOpened:
    """A runner's lease; the runner is offline exactly when it has expired."""
    row = tx.one(sql.lease_one, runner_id=match["id"])
    if row is None:
        raise UnknownId(
            f"id: there is no runner {match['id']!r}",
            recovery="list the runners with jobs.radar",
            suggest=[Suggestion(ShowRadar(), "list the runners")],
        )
    lease = RunnerLease.from_row(row, tx.now_ms)
    return RunnerOpened(
        kind="runner",
        id=match[0],
        status=lease.status if lease.lease_active else "offline",
        lease=lease,
        meta=msgspec.json.decode(row["meta"]) or None,
    )


def _existing(tx: Tx, job: str) -> Row:
    if row := tx.one(sql.job_one, n=job_number(job)):
        return row
    raise UnknownId(
        f"id: there is no {job}",
        recovery="list jobs with jobs.list",
        suggest=[Suggestion(ListJobs(), "list the jobs")],
    )
