"""`tasks.macro.delegate`: from one sentence to delegated work, in one transaction.

Creates a task whose steps say how it is verified, a pinned note that explains the task (the
cockpit), and a job that can be DONE only with proof: all three or nothing.
"""

from __future__ import annotations

import re
from typing import Any

import msgspec

from longhouse.desk.digest import fact_lines
from longhouse.desk.resuming import RESUME_INSIDE, resumed
from longhouse.desk.room import room
from longhouse.desk.snapshot import next_words
from longhouse.desk.types.macros import Cockpit, Delegate, Delegated
from longhouse.jobs import add_job
from longhouse.jobs.types.jobs import CreateJob, WaitJobs
from longhouse.kernel.budget import Pop
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.lines import cell
from longhouse.memory import append_entry, ensure_branch, ensure_target
from longhouse.store.tx import Tx
from longhouse.thinking import register_missing
from longhouse.work import bootstrap, scene_of
from longhouse.work.types.creating import Bootstrap

__all__ = [
    "anchor_of",
    "delegate",
]

TEMPLATE = "principal-task"
FALLBACK_ANCHOR = "a:core"


def _lines(result: dict[str, Any]) -> list[str]:
    """The delegated task, its job and its facts; the command that waits for it follows."""
    job = result.get("job")
    title = result["resume"]["capsule"]["target"]["title"]
    parts = [f"delegated {result['task_id']} — {cell(title, 100)}", f"plan={result['plan_id']}"]
    parts += [f"job={job['id']}({job['status']})"] if job else []
    parts += [f"cockpit={result['cockpit']['ref']}"]
    parts += [f"ref={result.get('job_ref') or result['task_id']}", result["next"]]
    return [" | ".join(parts), *fact_lines(result["resume"].get("facts", []))]


@room.command(
    "tasks.macro.delegate",
    also="delegate tasks.macro.job",
    writes=True,
    additive=True,
    lines=_lines,
    example=Delegate(task_title="Search: find the slow query", description="It takes 4 s."),
    trim=[*RESUME_INSIDE, Pop("steps", leave=5)],
)
def delegate(tx: Tx, req: Delegate) -> Delegated:
    """Delegate work: a task with verification, a pinned cockpit note and a job, all or nothing."""
    anchor = req.anchor or anchor_of(req.task_title)
    made = bootstrap(
        tx,
        Bootstrap(
            task_title=req.task_title,
            plan=req.plan,
            parent=req.parent,
            plan_title=req.plan_title,
            description=req.description,
            steps=req.steps,
            template=None if req.steps else TEMPLATE,
            reasoning_mode=req.reasoning_mode,
        ),
    )
    task = made.task.id
    register_missing(tx, [anchor])
    cockpit = _cockpit(tx, task, anchor, req)
    moved = add_job(tx, _job(req, task, anchor, cockpit)) if req.job else None
    offered = len(tx.suggestions)
    resume = resumed(tx, task, req, req.resume_max_chars)
    if moved is not None:
        del tx.suggestions[offered:]  # the job does the task; the delegating caller only waits
        tx.suggest(WaitJobs(job=moved.job.id, until="end"), "wait until it finishes")
    return Delegated(
        task_id=task,
        task_qualified_id=made.task.qualified_id,
        plan_id=made.plan.id,
        steps=made.steps,
        cockpit=Cockpit(anchor_id=anchor, ref=cockpit),
        job=moved.job if moved else None,
        job_ref=moved.event.ref if moved else None,
        next=next_words(scene_of(tx, task)),
        resume=resume,
    )


def anchor_of(title: str) -> str:
    """The anchor that a title names before its colon: a:search for `Search: …`."""
    head, colon, _ = title.partition(":")
    slug = re.sub(r"[^a-z0-9]+", "-", head.lower()).strip("-")[:64].strip("-")
    return f"a:{slug}" if colon and slug else FALLBACK_ANCHOR


def _cockpit(tx: Tx, task: str, anchor: str, req: Delegate) -> str:
    """Add the pinned note on the task's branch: what it is about, and what done means."""
    where = ensure_target(tx, task)
    text = req.cockpit or "\n".join(
        [
            f"# {req.task_title}",
            f"Task: {task}, anchor: {anchor}",
            *([f"Goal: {req.description}"] if req.description else []),
            "Done means: every step is closed with proof, and the notes of this task say what "
            "changed, what was tested and where the evidence is.",
        ]
    )
    meta = {"source": "delegate", "tags": ["v:canon", "pinned", anchor], "pinned": True}
    return append_entry(
        tx,
        ensure_branch(tx, where.branch),
        where.notes_doc,
        kind="note",
        content=text,
        title=f"Cockpit: {req.task_title}"[:200],
        format="markdown",
        meta=meta,
    ).entry.ref


def _job(req: Delegate, task: str, anchor: str, cockpit: str) -> CreateJob:
    prompt = "\n".join(
        [
            req.task_title,
            *(["", req.description] if req.description else []),
            "",
            f"Task: {task} (its steps say how it is verified). "
            f"Anchor: {anchor}. Cockpit: {cockpit}.",
            "Deliver: what changed, what was tested (CMD: lines), and refs to where the evidence "
            f"is stored. Write notes to target={task}; close steps with their proof as you go.",
        ]
    )
    job = CreateJob(
        title=req.task_title,
        prompt=prompt,
        kind=req.job_kind,
        priority=req.job_priority,
        task=task,
        anchor=anchor,
        executor=req.executor,
        executor_profile=req.executor_profile,
        policy=req.policy,
        expected_artifacts=req.expected_artifacts,
        paths=req.paths,
        require_proof=True,
        meta={"skill_profile": "research" if "research" in req.job_kind else "strict"},
    )
    try:
        return msgspec.convert(msgspec.to_builtins(job), CreateJob)
    except msgspec.ValidationError:
        raise InvalidInput(
            "description: too long for a job's prompt", recovery="shorten it, or use notes"
        ) from None
