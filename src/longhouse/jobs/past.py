"""Jobs and runners as of an earlier seq: the fold that `verify` uses, for jobs that moved since.

A job whose last event is not newer than that is as its row says. Heartbeats leave no event, so a
claim or lease that nobody ended counts as held, and usage is not known. Prompts are today's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from longhouse.jobs.fold import fold
from longhouse.jobs.records import STREAM
from longhouse.jobs.room import room, sql
from longhouse.jobs.states import ACTIVE
from longhouse.jobs.values import job_id, microusd, priority_of
from longhouse.kernel.contributions import Then
from longhouse.store.engine import Row
from longhouse.store.history import events_of, newest_of, subjects_like
from longhouse.store.tx import LogRow, Tx

__all__ = ["jobs_then"]

_PAGE = 500
_HELD_MS = 60_000
"""How much of its lease a claim or runner counts as having left."""
_OFTEN = ("progress",)
"""Kinds of which only a job's newest event matters."""
_UNUSED = {"input_tokens": 0, "output_tokens": 0, "cost_microusd": 0, "uncosted": 0}
_RUNNER = "runner:"


@room.rewinds("jobs", "urgent_jobs", "job_after", "runner_leases")
def jobs_then(tx: Tx, then: Then) -> Iterator[tuple[str, Row]]:
    """The jobs that existed then, what they waited for, and the runners."""
    links = tx.all(sql.after_all)
    waits_on: dict[int, list[int]] = {}
    for link in links:
        waits_on.setdefault(link["n"], []).append(link["after_n"])
    statuses: dict[int, str] = {}
    waiting = []
    for row in _jobs(tx, then):
        statuses[row["n"]] = row["status"]
        if row["status"] == "QUEUED" and row["n"] in waits_on:
            waiting.append(row)
        else:
            yield "jobs", row
    for row in waiting:
        undone = [statuses.get(n) != "DONE" for n in waits_on[row["n"]]]
        yield "jobs", {**row, "waits": sum(undone)}
    yield from (("job_after", link) for link in links if link["n"] in statuses)
    yield from (("runner_leases", row) for row in _runners(tx, then))


def _jobs(tx: Tx, then: Then) -> Iterator[Row]:
    before = 2**62
    while rows := tx.all(sql.jobs_newest, before=before, limit=_PAGE):
        before = rows[-1]["n"]
        there = [row for row in rows if row["created_seq"] <= then.seq]
        moved = [job_id(row["n"]) for row in there if row["last_seq"] > then.seq]
        events = events_of(tx, STREAM, moved, upto=then.seq, without=_OFTEN)
        newest = newest_of(tx, STREAM, moved, then.seq)
        edits = _edits(tx, moved, then)
        for row in there:
            job = job_id(row["n"])
            if job in newest:
                row = _folded(row, events.get(job, []), newest[job], edits.get(job, {}))
            yield _at(row, then)


def _edits(tx: Tx, moved: list[str], then: Then) -> dict[str, dict[str, Any]]:
    """What the fields that were edited later were before, by job."""
    found: dict[str, dict[str, Any]] = {}
    for job, events in events_of(tx, STREAM, moved, after=then.seq, kind="updated").items():
        for event in events:
            was = event.data.get("meta", {}).get("before", {})
            found[job] = {**was, **found.get(job, {})}
    return found


def _folded(row: Row, events: list[LogRow], newest: LogRow, before: dict[str, Any]) -> Row:
    """A job's row after these events and, at last, the newest."""
    if not events or events[-1].seq < newest.seq:
        events = [*events, newest]
    data = newest.data
    told = next((event for event in reversed(events) if event.kind != "refused"), newest)
    return {
        **row,
        **_UNUSED,
        **_outcome(events),
        **_fields(before),
        **msgspec.structs.asdict(fold(events)),
        "percent": data.get("percent", data.get("reached")),
        "waits": data.get("waits", 0),
        "not_before_ms": data.get("not_before_ms", 0),
        "changes": data.get("changes"),
        "runtime": "{}",
        "updated_at_ms": told.ts_ms,
        "last_heartbeat_ms": None,
    }


def _outcome(events: list[LogRow]) -> Row:
    """How it ended, if it did, and how often it failed."""
    found: Row = {"summary": None, "refs": "[]", "completed_at_ms": None, "failures": 0}
    held = False
    for event in events:
        kind, data = event.kind, event.data
        if kind == "requeued":
            found.update(summary=None, refs="[]", completed_at_ms=None, failures=0)
        elif kind == "retrying":
            found["failures"] = data["meta"]["failures"]
        elif kind == "failed" and not held:
            found["failures"] += 1
        if kind in ("canceled", "changes_wait", "completed", "failed", "retrying"):
            found["summary"] = data.get("summary", data["message"])
        if kind in ("changes_wait", "completed", "failed") and not held:
            found["refs"] = msgspec.json.encode(data.get("refs", [])).decode()
        if data["status"] not in ACTIVE:
            found["completed_at_ms"] = found["completed_at_ms"] or event.ts_ms
        held = "changes" in data or (held and kind not in ("requeued", "completed", "failed"))
    return found


def _fields(before: dict[str, Any]) -> Row:
    """The columns of fields that were edited later."""
    found: Row = {
        name: before[name] for name in ("title", "deadline_ms", "max_tokens") if name in before
    }
    if "priority" in before:
        found["priority"] = priority_of(before["priority"])
    if "max_cost_usd" in before:
        found["max_cost_microusd"] = microusd(before["max_cost_usd"])
    return found


def _at(row: Row, then: Then) -> Row:
    """The row at that time: a claim that nobody ended is held, and no time lies ahead."""
    seen, due = row["last_heartbeat_ms"], row["not_before_ms"]
    held = row["status"] == "RUNNING"
    return {
        **row,
        "claim_expires_at_ms": then.now_ms + _HELD_MS if held else None,
        "last_heartbeat_ms": seen if seen and seen <= then.now_ms else None,
        "not_before_ms": due if due > then.now_ms else 0,
        "updated_at_ms": min(row["updated_at_ms"], then.now_ms),
    }


def _runners(tx: Tx, then: Then) -> Iterator[Row]:
    """The runners by their newest event; one that was not reported offline holds its lease."""
    events = newest_of(tx, STREAM, subjects_like(tx, _RUNNER, then.seq), then.seq)
    for subject, event in events.items():
        runner_id = subject.removeprefix(_RUNNER)
        known = tx.one(sql.lease_one, runner_id=runner_id) or {}
        here = event.kind != "offline"
        yield {
            "owner": "",
            "offers": "{}",
            "meta": "{}",
            **known,
            "ws": tx.ws,
            "runner_id": runner_id,
            "status": event.data["status"],
            "active_job_id": event.data.get("job"),
            "online": int(here),
            "lease_expires_at_ms": then.now_ms + _HELD_MS if here else event.ts_ms,
            "created_at_ms": min(known.get("created_at_ms", event.ts_ms), event.ts_ms),
            "updated_at_ms": event.ts_ms,
            "since_ms": min(known.get("since_ms", event.ts_ms), event.ts_ms),
        }
