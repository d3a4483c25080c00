"""Creating jobs: the spec is checked, then written; only `jobs.update` changes it later."""

from __future__ import annotations

import re
from typing import Any

import msgspec

from longhouse.jobs import runners
from longhouse.jobs.autostart import bootstrap
from longhouse.jobs.completion_proof import drop_unknown
from longhouse.jobs.dependencies import await_jobs
from longhouse.jobs.holding import scopes_of
from longhouse.jobs.presence import autostart_enabled
from longhouse.jobs.records import checked_meta, record
from longhouse.jobs.room import room, sql
from longhouse.jobs.routing import Need, Policy, choose, unoffered
from longhouse.jobs.types.jobs import (
    DEFAULT_KIND,
    CreateJob,
    JobCreated,
    Moved,
    RunnerAutostart,
)
from longhouse.jobs.values import Job, job_id, job_number, microusd, priority_of
from longhouse.jobs.waiting import Prospects
from longhouse.kernel.budget import Drop
from longhouse.kernel.delegation import MODEL_NAME, SKILL_PROFILES
from longhouse.kernel.errors import InvalidInput
from longhouse.store.recall.index import Text, index_part
from longhouse.store.tx import Asking, Tx

__all__ = ["add_job", "check_prompt", "create_job", "warn_of_unoffered"]

MAX_PROMPT_JSON = 76_000
"""An answer has at most 80,000 characters, so an accepted prompt can be returned whole."""

NOT_YET: dict[str, Any] = {
    "changes": None,
    "in_crew": 0,
    "revision": 0,
    "runner_id": None,
    "claim_expires_at_ms": None,
    "last_heartbeat_ms": None,
    "failures": 0,
    "percent": None,
    "summary": None,
    "refs": "[]",
    "completed_at_ms": None,
    "input_tokens": 0,
    "output_tokens": 0,
    "cost_microusd": 0,
    "uncosted": 0,
}
"""The columns that a new job does not set, with the table's defaults."""


@room.command(
    "jobs.create",
    also=(
        "new add submit run queue enqueue delegate dispatch launch execution.rpc jobs.agent.spawn "
        "subagent jobs.spawn.agent jobs.job.start task~ agent~"
    ),
    op="create",
    writes=True,
    additive=True,
    example=CreateJob(title="Find the slow query", prompt="Profile the search page."),
    trim=[Drop("job.meta")],
)
def create_job(tx: Tx, req: CreateJob) -> Asking[JobCreated]:
    """Queue a job for a runner."""
    moved = add_job(tx, req)
    present = runners.candidates((yield runners.who_is_there(tx)))
    need, prospects = _need(req), Prospects(tx, present)
    waiting = prospects.why(
        {
            "n": job_number(moved.job.id),
            "status": moved.job.status,
            "changes": None,
            "not_before_ms": moved.job.not_before_ms,
            "waits": moved.job.waits_for,
            "route": need.route(),
        }
    )
    return JobCreated(
        job=moved.job,
        event=moved.event,
        routing=choose(need, present) if present else None,
        waiting=waiting,
        runner_autostart=RunnerAutostart(enabled=autostart_enabled(tx)),
        runner_bootstrap=None if prospects.is_served(need) else bootstrap(tx),
    )


def add_job(tx: Tx, req: CreateJob) -> Moved:
    """Write one job; macros write several in one transaction."""
    _check(req)
    n = tx.count("job")
    job = job_id(n)
    deps = await_jobs(tx, job, req.after)
    seq = tx.seqs(1)
    meta = _spec_meta(req)
    if req.paths:
        meta["paths"] = scopes_of(tx, req.paths)
    row = {
        **NOT_YET,
        "n": n,
        "title": req.title,
        "kind": _kind(req),
        "status": "QUEUED",
        "priority": priority_of(req.priority),
        "task_id": req.task,
        "anchor_id": req.anchor,
        "route": _need(req).route(),
        "require_proof": int(req.require_proof),
        "max_attempts": req.max_attempts,
        "retry_backoff_ms": req.retry_backoff_ms,
        "deadline_ms": req.deadline_ms,
        "max_tokens": req.max_tokens,
        "max_cost_microusd": microusd(req.max_cost_usd),
        "waits": deps.waits,
        "not_before_ms": req.not_before_ms if req.not_before_ms > tx.now_ms else 0,
        "created_at_ms": tx.now_ms,
        "updated_at_ms": tx.now_ms,
        "last_seq": seq,
        "creator": tx.by.owner,
        "creator_agent": tx.by.who if tx.by.named else None,
    }
    tx.run(sql.spec_add, n=n, prompt=req.prompt, meta=msgspec.json.encode(meta).decode())
    tx.run(sql.job_add, **row)
    index_part(tx, Text(seq, "job", req.title, req.prompt, (job,), author=tx.actor, task=req.task))
    event = record(tx, row, "created", req.title, seq=seq)
    if deps.numbers:
        deps.write(tx, n)
        row = tx.one(sql.job_one, n=n) or row
    _warn_of_loose_links(tx, req)
    warn_of_unoffered(tx, _need(req))
    return Moved(job=Job.from_row(row, meta=meta), event=event)


def _kind(req: CreateJob) -> str:
    """The caller's kind; instead of the default, the executor if one other than codex is named."""
    return (
        req.executor
        if req.kind == DEFAULT_KIND and req.executor not in ("auto", "codex")
        else req.kind
    )


def _need(req: CreateJob) -> Need:
    policy = req.policy if req.policy != Policy() else None
    return Need(
        executor=req.executor,
        profile=req.executor_profile,
        policy=policy,
        artifacts=tuple(sorted(set(req.expected_artifacts))),
        paths=bool(req.paths),
    )


def _spec_meta(req: CreateJob) -> dict[str, Any]:
    """The caller's meta, plus the arguments that say how to run the job."""
    spec: dict[str, Any] = {
        **checked_meta(req.meta),
        "executor": req.executor,
        "executor_profile": req.executor_profile,
    }
    if req.policy is not None:
        spec["policy"] = {
            "prefer": req.policy.prefer,
            "forbid": req.policy.forbid,
            "min_profile": req.policy.min_profile,
        }
    if req.expected_artifacts:
        spec["expected_artifacts"] = req.expected_artifacts
    return spec


def _check(req: CreateJob) -> None:
    if req.policy and req.executor in req.policy.forbid:
        raise InvalidInput(
            f"policy: forbids {req.executor}, the requested executor",
            recovery="use executor=auto, or remove it from policy.forbid",
        )
    if req.policy and set(req.policy.prefer) & set(req.policy.forbid):
        raise InvalidInput(
            "policy: prefer and forbid overlap", recovery="name each executor in only one of them"
        )
    for name in ("executor", "executor_profile"):
        said = (req.meta or {}).get(name)
        if said is not None and said != getattr(req, name):
            raise InvalidInput(
                f"meta.{name}: {said!r}, but {name}={getattr(req, name)}",
                recovery=f"pass {name} only as its own argument",
            )
    model = (req.meta or {}).get("executor_model")
    if model is not None and not (isinstance(model, str) and re.match(MODEL_NAME, model)):
        raise InvalidInput(
            f"meta.executor_model: {str(model)[:40]!r} is not a valid model name",
            recovery="start with a letter or digit, then letters, digits and ._:/@+[]-; try opus",
        )
    check_prompt(req.prompt)


def check_prompt(prompt: str) -> None:
    size = len(msgspec.json.encode(prompt).decode())
    if size > MAX_PROMPT_JSON:
        raise InvalidInput(
            f"prompt: {size} characters as JSON, at most {MAX_PROMPT_JSON}",
            recovery="put long content in a document and name its ref in the prompt",
        )


def warn_of_unoffered(tx: Tx, need: Need) -> None:
    """Warn that the job will wait because no runner offers its executor."""
    if need.executor != "auto" and (lacking := unoffered(need, runners.present(tx))):
        tx.warn(
            "EXECUTOR_UNKNOWN",
            f"executor: {lacking}",
            "the job waits until one does; start a runner that has it, or use executor=auto",
        )


def _warn_of_loose_links(tx: Tx, req: CreateJob) -> None:
    """Warn about links to records that do not exist yet and about an unknown skill profile."""
    links = [link for link in (req.task, req.anchor) if link]
    known = drop_unknown(tx, links)
    for link in (link for link in links if link not in known):
        tx.warn("LINK_UNKNOWN", f"{link} does not exist here", "create it, or link another")
    profile = (req.meta or {}).get("skill_profile")
    if profile is not None and profile not in SKILL_PROFILES:
        tx.warn(
            "SKILL_PROFILE_UNKNOWN",
            f"meta.skill_profile: {str(profile)[:40]!r} is not one of {', '.join(SKILL_PROFILES)}",
            "the runner will choose one",
        )
