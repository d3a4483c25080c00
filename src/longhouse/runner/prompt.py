"""What an agent is told at the start of a slice. Pure: the same inputs give the same words.

A fresh session gets everything; one that is resumed knows the job and gets the rules that it must
not forget, its claim, and what happened since.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from longhouse.kernel.lines import clip
from longhouse.runner.executors.base import ClaimedJob
from longhouse.runner.slice_proof import ASK

__all__ = ["SliceContext", "gate_rules", "slice_prompt", "thread_of"]

THREAD_EVENTS = 12
THREAD_CHARS = 400
PRIOR_CHARS = 2_000
TASK_CHARS = 6_000

_EXAMPLE = {
    "status": "DONE",
    "summary": "The index was missing; search is 40x faster.\nCMD: make test",
    "refs": ["notes@123"],
    "events": [
        {"kind": "checkpoint", "message": "the index is in", "percent": 80, "refs": ["notes@121"]},
    ],
    "artifacts": [],
}


class SliceContext(NamedTuple):
    """What a slice knows beyond the job itself."""

    number: int
    slice_s: int
    skill: str = ""
    thread: tuple[dict[str, Any], ...] = ()
    prior_summary: str = ""
    prior_refs: tuple[str, ...] = ()
    task: str = ""
    gate: str = ""
    notes: tuple[str, ...] = ()
    resumed: bool = False
    proof_missing: bool = False


def slice_prompt(job: ClaimedJob, context: SliceContext) -> str:
    """The whole prompt."""
    parts = [_answer_rules(), _claim(job, context)]
    if not context.resumed:
        if context.skill:
            parts.insert(1, f"# How to behave here\n{context.skill}")
        parts.append(_spec(job))
    parts += _so_far(context)
    return "\n\n".join(part for part in parts if part) + "\n"


def thread_of(events: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """The newest events that tell something, oldest first: no heartbeats, none of the runner's."""
    telling = [
        event
        for event in events
        if event["kind"] != "heartbeat" and not str(event.get("message", "")).startswith("runner:")
    ]
    return tuple(sorted(telling, key=lambda event: event["seq"])[-THREAD_EVENTS:])


def _answer_rules() -> str:
    return f"""\
# How to answer
You work on a delegated job. End with exactly one JSON object and nothing around it:
{json.dumps(_EXAMPLE)}
- status: DONE (all of it is done and shown), CONTINUE (more to do, or you wait for an answer), \
FAILED (it cannot be done; say why in summary).
- refs: stable refs of what you wrote down. {ASK}
- events: at most 20 short updates: progress, checkpoint (with refs), question (to be decided).
- artifacts: files that you wrote as results, as {{"kind": "report|diff|patch|bench|docs_update", \
"path": "relative/path"}}; else [].
Write results down while you work, as notes, cards or evidence linked to the task or anchor: a \
slice may end at any time, and only what is written down survives it."""


def _claim(job: ClaimedJob, context: SliceContext) -> str:
    call = {
        "workspace": job.workspace,
        "op": "call",
        "cmd": "jobs.report",
        "args": {
            "job": job.id,
            "runner_id": job.runner_id,
            "claim_revision": job.claim_revision,
            "kind": "progress",
            "message": "…",
        },
    }
    return f"""\
# Your claim
workspace={job.workspace} job={job.id} runner_id={job.runner_id} \
claim_revision={job.claim_revision}
The MCP server `longhouse` is connected. Report yourself with its tool `jobs` and these arguments:
{json.dumps(call, ensure_ascii=False)}
kind=question asks the manager; then end with CONTINUE, and the answer is in your next slice. \
Never call jobs.complete: your final JSON does that. A message of kind `manager` in the thread is \
an instruction from whoever gave you the job. This is slice {context.number}; end it within \
{_minutes(context.slice_s)}, with CONTINUE if work is left."""


def gate_rules(gate: Mapping[str, Any]) -> str:
    """How a step of a strict task gets past its gate, and what the next step still lacks."""
    lacks = "; ".join(f"{one['code']} ({one['message']})" for one in gate.get("missing", ()))
    place = f"target={gate['task']} step={gate['path']}"
    return f"""\
The task is strict: closing a step is refused until cards of that step hold a claim (a hypothesis \
or decision), a test that supports it, and something that blocks it. Write them with think.card \
({place}, and step of the others likewise); tasks.gate says what is missing. \
Step {gate["path"]} lacks: {lacks or "nothing"}.
Where arguing makes no sense, close with tasks.macro.close.step and \
override={{"reason": "…", "risk": "…"}}: both go on record."""


def _minutes(seconds: int) -> str:
    return f"{seconds // 60} minutes" if seconds >= 120 else f"{seconds} seconds"


def _spec(job: ClaimedJob) -> str:
    links = [
        f"{name}: {value}"
        for name, value in (
            ("task", job.task),
            ("anchor", job.anchor),
            ("kind", job.kind),
            ("files reserved for it", ", ".join(job.meta.get("paths", ()))),
            ("expected artifacts", ", ".join(job.expected_artifacts)),
        )
        if value
    ]
    return "\n".join([f"# The job {job.id}: {job.title}", *links, "", job.prompt])


def _so_far(context: SliceContext) -> list[str]:
    parts = []
    if context.task:
        parts.append(f"# Its task\n{context.task[:TASK_CHARS]}")
    if context.gate:
        parts.append(f"# Its steps close only when they are argued\n{context.gate}")
    if context.prior_summary or context.prior_refs:
        refs = f"\nrefs: {', '.join(context.prior_refs[:12])}" if context.prior_refs else ""
        parts.append(f"# Where the last slice ended\n{context.prior_summary[:PRIOR_CHARS]}{refs}")
    if context.thread:
        rows = "\n".join(_event(event) for event in context.thread)
        parts.append(f"# The thread of this job, oldest first\n{rows}")
    if context.notes:
        parts.append("# Mind\n" + "\n".join(f"- {note}" for note in context.notes))
    if context.proof_missing:
        parts.append(f"# Proof is missing\nYou answered DONE with nothing to show. {ASK}")
    return parts


def _event(event: dict[str, Any]) -> str:
    refs = [ref for ref in event.get("refs", []) if not ref.startswith("JOB-")][:3]
    tail = f" [{', '.join(refs)}]" if refs else ""
    return (
        f"- {event['ref']} {event['kind']}: {clip(event.get('message') or '', THREAD_CHARS)}{tail}"
    )
