"""The prompt an agent is given at the start of a slice. Pure: the same inputs give the same text.

A fresh session gets everything. A resumed session already knows the job, so it gets only the rules
for its answer, its claim, and what has happened since.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from longhouse.executors import ClaimedJob
from longhouse.kernel.lines import clip
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
    """What the prompt of one slice is built from, besides the job itself."""

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
    """The complete prompt of one slice."""
    parts = [_answer_rules(), _claim(job, context)]
    if not context.resumed:
        if context.skill:
            parts.insert(1, f"# How to behave here\n{context.skill}")
        parts.append(_spec(job))
    parts += _so_far(context)
    return "\n\n".join(part for part in parts if part) + "\n"


def thread_of(events: Iterable[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """The newest events, oldest first, without heartbeats and the runner's own reports."""
    telling = [
        event
        for event in events
        if event["kind"] != "heartbeat" and not str(event.get("message", "")).startswith("runner:")
    ]
    return tuple(sorted(telling, key=lambda event: event["seq"])[-THREAD_EVENTS:])


def _answer_rules() -> str:
    return f"""\
# How to answer
You are working on a delegated job. Your final message must be exactly one JSON object and nothing \
else:
{json.dumps(_EXAMPLE)}
- status: DONE (everything is done and proven), CONTINUE (there is more to do, or you are waiting \
for an answer), FAILED (it cannot be done; say why in summary).
- refs: stable refs to the records you wrote. {ASK}
- events: at most 20 short updates: progress, checkpoint (with refs), question (for the manager).
- artifacts: result files you wrote, as {{"kind": "report|diff|patch|bench|docs_update", \
"path": "relative/path"}}; otherwise [].
Save results as you go, as notes, cards or evidence linked to the task or anchor: a slice can end \
at any time, and only saved results survive it."""


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
The MCP server `longhouse` is connected. To report progress while you work, call its tool `jobs` \
with these arguments:
{json.dumps(call, ensure_ascii=False)}
To ask the manager something, use kind=question and end with CONTINUE; your next slice contains \
the answer. Never call jobs.complete: your final JSON does that. A message of kind `manager` in \
the thread is an instruction from the manager who gave you the job. This is slice \
{context.number}; finish it within {_minutes(context.slice_s)}, with CONTINUE if work remains."""


def gate_rules(gate: Mapping[str, Any]) -> str:
    """How to close a step of a strict task, and what the next step is still missing."""
    lacks = "; ".join(f"{one['code']} ({one['message']})" for one in gate.get("missing", ()))
    place = f"target={gate['task']} step={gate['path']}"
    return f"""\
The task is strict: a step can be closed only when its cards hold a claim (a hypothesis or \
decision), a test that supports it, and something that blocks it. Write them with think.card \
({place}; name the other steps the same way); tasks.gate lists what is missing. \
Step {gate["path"]} is missing: {lacks or "nothing"}.
Where such reasoning makes no sense, close the step with tasks.macro.close.step and \
override={{"reason": "…", "risk": "…"}}; both are recorded."""


def _minutes(seconds: int) -> str:
    return f"{seconds // 60} minutes" if seconds >= 120 else f"{seconds} seconds"


def _spec(job: ClaimedJob) -> str:
    links = [
        f"{name}: {value}"
        for name, value in (
            ("task", job.task),
            ("anchor", job.anchor),
            ("kind", job.kind),
            ("reserved files", ", ".join(job.meta.get("paths", ()))),
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
        parts.append(f"# Closing its steps\n{context.gate}")
    if context.prior_summary or context.prior_refs:
        refs = f"\nrefs: {', '.join(context.prior_refs[:12])}" if context.prior_refs else ""
        parts.append(f"# Where the last slice ended\n{context.prior_summary[:PRIOR_CHARS]}{refs}")
    if context.thread:
        rows = "\n".join(_event(event) for event in context.thread)
        parts.append(f"# The thread of this job, oldest first\n{rows}")
    if context.notes:
        parts.append("# Note\n" + "\n".join(f"- {note}" for note in context.notes))
    if context.proof_missing:
        parts.append(f"# Proof is missing\nYou answered DONE without proof. {ASK}")
    return parts


def _event(event: dict[str, Any]) -> str:
    refs = [ref for ref in event.get("refs", []) if not ref.startswith("JOB-")][:3]
    tail = f" [{', '.join(refs)}]" if refs else ""
    return (
        f"- {event['ref']} {event['kind']}: {clip(event.get('message') or '', THREAD_CHARS)}{tail}"
    )
