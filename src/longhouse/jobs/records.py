"""Finding jobs and recording their events: every change to a job goes through here.

An event is a log row of stream `jobs` whose subject is the job, so `JOB-007@45` is a log ref. Its
data holds everything it changes in state and attention, so a job's row is a fold of its events. It
repeats the last reported `percent`, so the newest event always has it. Events of a job that belongs
to a task are also recorded on the task and appear in its delta, trace and conversation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from longhouse.jobs.holding import ENDS, holdings
from longhouse.jobs.room import sql
from longhouse.jobs.types.jobs import ListJobs, OpenJob
from longhouse.jobs.values import JobEvent, job_id, job_number
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.errors import Conflict, InvalidInput, Suggestion, UnknownId
from longhouse.kernel.lines import clip
from longhouse.kernel.refs import seq_ref
from longhouse.store.engine import Row
from longhouse.store.recall.index import Text, index_part
from longhouse.store.tx import Tx
from longhouse.work import known_target

__all__ = [
    "LONGEST_MS",
    "MAX_META",
    "QUIET",
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
LONGEST_MS = 300_000
QUIET = frozenset(
    {
        "claimed",
        "created",
        "held",
        "incursion",
        "reclaimed",
        "refused",
        "released",
        "slice_recovered",
        "woken",
    }
)
"""Kinds of events whose messages are ours, not anybody's words: they are not searched."""
_ENDINGS = ("canceled", "changes_wait", "completed", "failed", "retrying")
"""Kinds of events that set a job's summary; it is recorded where the message does not say it."""
_TTL_MS = (1_000, LONGEST_MS)


def existing(tx: Tx, job: str) -> Row:
    """The row of a job; raises UnknownId if there is none."""
    if row := tx.one(sql.job_one, n=job_number(job)):
        return row
    raise UnknownId(
        f"job: there is no {job}",
        recovery="list jobs with jobs.list",
        suggest=[Suggestion(ListJobs(), "list the jobs")],
    )


def expiry(now_ms: int, ttl_ms: int) -> int:
    """When a lease of this length expires; the length is clamped to the allowed range."""
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
    """Append the event that explains the row's current state."""
    unsaid = kind in _ENDINGS and row["summary"] != message
    optional = {
        "refs": refs or None,
        "meta": dict(meta) if meta else None,
        "percent": percent,
        "reached": row["percent"] if percent is None else None,
        "proof": proof or None,
        "error": error or None,
        "runner_id": row["runner_id"],
        "waits": row["waits"] or None,
        "not_before_ms": row["not_before_ms"] or None,
        "changes": row["changes"],
    }
    data: dict[str, Any] = {"message": message, "status": row["status"]}
    data["revision"] = row["revision"]
    data.update((name, value) for name, value in optional.items() if value is not None)
    if unsaid:
        data["summary"] = row["summary"]
    job = job_id(row["n"])
    tx.append(STREAM, job, kind, data, seq=seq)
    if kind not in QUIET:
        words = f"{message}\n{row['summary'] or ''}"
        index_part(tx, Text(seq, "job", None, words, author=tx.actor, task=row["task_id"]))
    if row["in_crew"] and kind in ENDS:
        holdings(tx).end(tx, job)
    if row["task_id"] and known_target(tx, row["task_id"]):
        told = {"job": job, "ref": seq_ref(job, seq), "status": row["status"]}
        said = {**told, "note": clip(message, 200)} if message else told
        from longhouse.work import happened  # not needed to read a job

        happened(tx, row["task_id"], f"job_{kind}", said, counted=False)
    if refs:
        from longhouse.thinking import cite  # most events have none

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
    """The refusal for a runner that writes without holding the claim."""
    row = existing(tx, job)
    holder = f" and held by {row['runner_id']!r}" if row["status"] == "RUNNING" else ""
    same = row["status"] == "RUNNING" and row["runner_id"] == runner_id
    if same and row["revision"] == revision and row["claim_agent"] == tx.by.owner:
        return Conflict(
            f"job: the agent working on {job} may only report progress; usage, meta, changed "
            f"files, heartbeats and completion come from its runner {runner_id!r}",
            recovery="call jobs.report with only kind and message; finish with your final answer",
            suggest=[Suggestion(OpenJob(job=job), "see its current state")],
        )
    if same and row["revision"] == revision:
        return _not_yours(tx, row, job, runner_id)
    return Conflict(
        f"job: {job} is {row['status']} at revision {row['revision']}{holder}; "
        f"{runner_id!r} at revision {revision} does not hold its claim",
        recovery="stop working on it: the claim was lost or the job has finished",
        suggest=[Suggestion(OpenJob(job=job), "see what happened to it")],
    )


def _not_yours(tx: Tx, row: Row, job: str, runner_id: str) -> Conflict:
    """The refusal for a claim that another token, or another connection of this one, has made."""
    ends = rfc3339(row["claim_expires_at_ms"])
    claimed = f"job: {job} was claimed by {runner_id!r}"
    see = [Suggestion(OpenJob(job=job), "see what happened to it")]
    token, _, agent = (row["claim_identity"] or row["claim_owner"]).partition("/@")
    if token.partition("/")[0] != tx.by.token:
        return Conflict(
            f"{claimed} with another token; only that token may use the claim until {ends}",
            recovery="claim another job, or use the token that made the claim",
            suggest=see,
        )
    if agent:
        return Conflict(
            f"{claimed} on another connection of this client, as {agent}",
            recovery=f"if you are {agent}, prove it with agents.heartbeat and its agent_token, "
            f"then repeat this; the claim lapses at {ends} unless it is renewed",
            suggest=see,
        )
    return Conflict(
        f"{claimed} on another connection of this client, by nobody in particular",
        recovery=f"claim it again when it lapses, at {ends} unless it is renewed; an agent that "
        "registers (agents.register) before it claims goes on after it reconnects",
        suggest=see,
    )


def own_runtime(tx: Tx, row: Row) -> dict[str, Any]:
    """A job's runtime notes; an executor's session is included only for the token that wrote it.

    Resuming a session runs with that session's contents, so no caller may plant one for another.
    """
    notes: dict[str, Any] = msgspec.json.decode(row["runtime"])
    session = notes.get("session")
    if not isinstance(session, dict) or session.pop("written_by", None) != tx.by.owner:
        notes.pop("session", None)
    return notes


def checked_meta(meta: Mapping[str, Any] | None, field: str = "meta") -> dict[str, Any]:
    """A copy of the caller's meta; refused if it is too large to store with a job."""
    size = len(msgspec.json.encode(meta)) if meta else 0
    if size > MAX_META:
        raise InvalidInput(
            f"{field}: {size} bytes, at most {MAX_META}",
            recovery="put large content in a document and pass its ref",
        )
    return dict(meta or {})
