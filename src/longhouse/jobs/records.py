"""How this room finds jobs and writes their events: every change of a job passes through here.

An event is a log row of stream `jobs` whose subject is the job, so `JOB-007@45` is a log ref. What
an event does to state and attention is in its data, so that the row is a fold of its events; what
`percent` was reached before is told again, so that the newest event says it. An event of a job that
serves a task is told to the task, too: its delta, trace and conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from longhouse.jobs.holding import ENDS, holdings
from longhouse.jobs.room import sql
from longhouse.jobs.types.jobs import ListJobs, OpenJob
from longhouse.jobs.values import JobEvent, job_id, job_number
from longhouse.kernel.errors import Conflict, InvalidInput, Suggestion, UnknownId
from longhouse.kernel.lines import clip
from longhouse.kernel.refs import seq_ref
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work.targets import known_target

__all__ = [
    "MAX_META",
    "STREAM",
    "checked_meta",
    "existing",
    "expiry",
    "lost",
    "own_runtime",
    "record",
]

STREAM = "jobs"
MAX_META = 16_000
_TTL_MS = (1_000, 300_000)


def existing(tx: Tx, job: str) -> Row:
    """The row of that job, or UnknownId."""
    if row := tx.one(sql.job_one, n=job_number(job)):
        return row
    raise UnknownId(
        f"job: there is no {job}",
        recovery="list jobs with jobs.list",
        suggest=[Suggestion(ListJobs(), "see which jobs there are")],
    )


def expiry(now_ms: int, ttl_ms: int) -> int:
    """When a lease of that length ends; asked for too short or too long, it is clamped."""
    low, high = _TTL_MS
    return now_ms + min(max(ttl_ms, low), high)


def record(
    tx: Tx,
    row: Row,
    kind: str,
    message: str,
    *,
    seq: int,
    refs: list[str] | None = None,
    meta: Mapping[str, Any] | None = None,
    percent: int | None = None,
    proof: bool = False,
    error: bool = False,
) -> JobEvent:
    """Append the event that says how the row came to be as it is."""
    optional = {
        "refs": refs or None,
        "meta": dict(meta) if meta else None,
        "percent": percent,
        "reached": row["percent"] if percent is None else None,
        "proof": proof or None,
        "error": error or None,
        "runner_id": row["runner_id"],
    }
    data: dict[str, Any] = {"message": message, "status": row["status"]}
    data["revision"] = row["revision"]
    data.update((name, value) for name, value in optional.items() if value is not None)
    job = job_id(row["n"])
    tx.append(STREAM, job, kind, data, seq=seq)
    if row["in_crew"] and kind in ENDS:
        holdings(tx).end(tx, job)
    if row["task_id"] and known_target(tx, row["task_id"]):
        told = {"job": job, "ref": seq_ref(job, seq), "status": row["status"]}
        said = {**told, "note": clip(message, 200)} if message else told
        from longhouse.work.events import happened  # reading a job does not need it

        happened(tx, row["task_id"], f"job_{kind}", said, counted=False)
    if refs:
        from longhouse.thinking.citing import cite  # most events have none

        cite(tx, seq_ref(job, seq), "job", refs, seq)
    return JobEvent(
        ref=seq_ref(job, seq),
        seq=seq,
        ts_ms=tx.ts_ms,
        kind=kind,
        by=tx.actor,
        message=message,
        percent=percent,
        refs=refs or [],
        meta=data.get("meta", {}),
    )


def lost(tx: Tx, job: str, runner_id: str, revision: int) -> Conflict:
    """What to tell a runner that writes without holding the claim."""
    row = existing(tx, job)
    holder = f" and held by {row['runner_id']!r}" if row["status"] == "RUNNING" else ""
    same = row["status"] == "RUNNING" and row["runner_id"] == runner_id
    if same and row["revision"] == revision and row["claim_agent"] == tx.by.owner:
        return Conflict(
            f"job: the agent that works on {job} may only tell how it goes; usage, meta, "
            f"changed files, heartbeats and its end come from the runner {runner_id!r}",
            recovery="call jobs.report with kind and message alone; end with your final answer",
            suggest=[Suggestion(OpenJob(job=job), "see how it stands")],
        )
    if same and row["revision"] == revision:
        return Conflict(
            f"job: {job} was claimed by {runner_id!r} under another token; a claim belongs to the "
            "token that made it",
            recovery="claim another job, or use the token that made the claim",
            suggest=[Suggestion(OpenJob(job=job), "see what became of it")],
        )
    return Conflict(
        f"job: {job} is {row['status']} at revision {row['revision']}{holder}; "
        f"{runner_id!r} at revision {revision} does not hold its claim",
        recovery="stop working on it: the claim was lost or the job has ended",
        suggest=[Suggestion(OpenJob(job=job), "see what became of it")],
    )


def own_runtime(tx: Tx, row: Row) -> dict[str, Any]:
    """A job's runtime notes, with an executor's session only for the token that wrote it.

    Whoever resumes a session runs in what it holds, so nobody may choose one for somebody else.
    """
    notes: dict[str, Any] = msgspec.json.decode(row["runtime"])
    session = notes.get("session")
    if not isinstance(session, dict) or session.pop("written_by", None) != tx.by.owner:
        notes.pop("session", None)
    return notes


def checked_meta(meta: Mapping[str, Any] | None, field: str = "meta") -> dict[str, Any]:
    """The caller's own object, refused when it is too large to keep beside a job."""
    size = len(msgspec.json.encode(meta)) if meta else 0
    if size > MAX_META:
        raise InvalidInput(
            f"{field}: {size} bytes, at most {MAX_META}",
            recovery="keep large things in a document and pass its ref",
        )
    return dict(meta or {})
