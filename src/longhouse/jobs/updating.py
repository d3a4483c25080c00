"""`jobs.update`: change a queued job; the event keeps the previous values.

A running or finished job cannot be changed: its runner already has the spec.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.jobs.creating import check_prompt, warn_of_unoffered
from longhouse.jobs.holding import scopes_of
from longhouse.jobs.records import existing, record
from longhouse.jobs.room import room, sql
from longhouse.jobs.routing import Need
from longhouse.jobs.types.jobs import MessageJob, Moved, RequeueJob, UpdateJob
from longhouse.jobs.values import Job, JobLimits, microusd, priority_name, priority_of
from longhouse.kernel.errors import Conflict, InvalidInput, Suggestion
from longhouse.kernel.registry import Role
from longhouse.kernel.values import Draft
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["update_job"]

_SPEC = ("executor", "executor_profile", "paths")


@room.command(
    "jobs.update",
    writes=True,
    role=Role.MANAGER,
    also="edit change correct amend modify jobs.set.priority rename",
    example=UpdateJob(job="JOB-001", priority="HIGH", reason="the release waits for it"),
)
def update_job(tx: Tx, req: UpdateJob) -> Moved:
    """Change the prompt, priority, executor, paths or limits of a queued job."""
    row = existing(tx, req.job)
    spec = tx.one(sql.spec_of, n=row["n"]) or {"prompt": "", "meta": "{}"}
    meta: dict[str, Any] = msgspec.json.decode(spec["meta"])
    before = _now(row, spec["prompt"], meta)
    asked = {name: getattr(req, name) for name in before if getattr(req, name) is not None}
    if "priority" in asked:
        asked["priority"] = priority_name(priority_of(asked["priority"]))
    if "paths" in asked:
        asked["paths"] = scopes_of(tx, asked["paths"])
    changed = {name: value for name, value in asked.items() if value != before[name]}
    if not changed:
        raise InvalidInput(
            f"job: this would change nothing in {req.job}",
            recovery="pass a new prompt, priority, executor, paths or other field",
        )
    after = {**before, **changed}
    check_prompt(after["prompt"])
    need = msgspec.structs.replace(
        Need.from_route(row["route"]).afresh(),
        executor=after["executor"],
        profile=after["executor_profile"],
        paths=bool(after["paths"]),
    )
    _check_policy(need)
    seq = tx.seqs(1)
    moved = tx.one(
        sql.job_update,
        n=row["n"],
        title=after["title"],
        priority=priority_of(after["priority"]),
        route=need.route() if set(changed) & set(_SPEC) else row["route"],
        deadline_ms=after["deadline_ms"],
        max_tokens=after["max_tokens"],
        max_cost_microusd=microusd(after["max_cost_usd"]),
        seq=seq,
        now=tx.now_ms,
    )
    if moved is None:
        raise _not_queued(req.job, row)
    meta |= {name: after[name] for name in _SPEC if name in changed}
    tx.run(
        sql.spec_change,
        n=row["n"],
        prompt=after["prompt"],
        meta=msgspec.json.encode(meta).decode(),
    )
    said = f"{', '.join(changed)} changed" + (f": {req.reason}" if req.reason else "")
    was = {"before": {name: before[name] for name in changed}}
    event = record(tx, moved, "updated", said, seq=seq, meta=was)
    warn_of_unoffered(tx, need)
    return Moved(job=Job.from_row(moved, meta=meta), event=event)


def _now(row: Row, prompt: str, meta: dict[str, Any]) -> dict[str, Any]:
    """The current values of the fields that can change; a limit that is not set is 0."""
    limits = JobLimits.from_row(row) or JobLimits()
    return {
        "title": row["title"],
        "prompt": prompt,
        "priority": priority_name(row["priority"]),
        "executor": meta.get("executor", "auto"),
        "executor_profile": meta.get("executor_profile", "fast"),
        "paths": meta["paths"] if Need.from_route(row["route"]).paths else [],
        "deadline_ms": limits.deadline_ms or 0,
        "max_tokens": limits.max_tokens or 0,
        "max_cost_usd": limits.max_cost_usd or 0.0,
    }


def _check_policy(need: Need) -> None:
    if need.policy and need.executor in need.policy.forbid:
        raise InvalidInput(
            f"executor: the job's policy forbids {need.executor}",
            recovery="use executor=auto, or create another job",
        )


def _not_queued(job: str, row: Row) -> Conflict:
    ended = row["status"] != "RUNNING"
    steer = RequeueJob(job=job) if ended else Draft(MessageJob, {"job": job}, ["message"])
    return Conflict(
        f"job: {job} is {row['status']}; only a queued job can be changed",
        recovery="run it again with jobs.requeue first" if ended else "steer it with jobs.message",
        suggest=[Suggestion(steer, "run it again" if ended else "steer it instead")],
    )
