"""Fan-out and merge: one prompt becomes a job per anchor, and their results become one report.

Each is all or nothing: it runs in one transaction.
"""

from __future__ import annotations

import msgspec

from longhouse.jobs.completion_proof import is_receipt, proofs
from longhouse.jobs.creating import add_job
from longhouse.jobs.records import existing
from longhouse.jobs.room import room
from longhouse.jobs.states import ACTIVE
from longhouse.jobs.types.fanning import (
    FannedJob,
    FannedOut,
    FanOut,
    Merged,
    MergedJob,
    MergeReport,
)
from longhouse.jobs.types.jobs import (
    CreateJob,
    WaitJobs,
)
from longhouse.jobs.values import Job, attention_of, job_number
from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.lines import clip
from longhouse.memory import append_entry, current_branch, ensure_branch, standing
from longhouse.store.tx import Tx
from longhouse.work import happened, known_target

__all__ = [
    "fan_out",
    "merge_report",
]

MOST_JOBS = 10


@room.command(
    "tasks.macro.fanout.jobs",
    also="fanout jobs.fanout jobs.create.many tasks.macro.fanout",
    writes=True,
    additive=True,
    example=FanOut(anchors=["a:core", "a:storage"], prompt="Find what is slow here."),
    trim=[Pop("jobs", leave=1)],
)
def fan_out(tx: Tx, req: FanOut) -> FannedOut:
    """Create one job per anchor from one prompt, all or none."""
    anchors = sorted(set(req.anchors))
    if len(anchors) > MOST_JOBS:
        raise InvalidInput(
            f"anchors: {len(anchors)} given, at most {MOST_JOBS} jobs in one fan-out",
            recovery="fan out the rest in another call",
        )
    task = req.task or focused_task(tx)
    kind = "research" if "research" in req.job_kind else "strict"
    made = []
    for anchor in anchors:
        title = f"{req.title_prefix or clip(req.prompt, 60)}: {anchor}"
        prompt = f"{req.prompt}\n\nAnchor: {anchor}"
        try:
            job = CreateJob(
                title=title,
                prompt=prompt,
                kind=req.job_kind,
                priority=req.job_priority,
                task=task,
                anchor=anchor,
                meta={"skill_profile": kind},
            )
            moved = add_job(tx, msgspec.convert(msgspec.to_builtins(job), CreateJob))
        except msgspec.ValidationError:
            raise InvalidInput(
                "prompt: too long once `Anchor: <id>` is added", recovery="shorten the prompt"
            ) from None
        made.append(FannedJob(job_id=moved.job.id, anchor=anchor, created_ref=moved.event.ref))
    if task and known_target(tx, task):
        happened(tx, task, "jobs_fanned_out", {"jobs": [job.job_id for job in made]}, counted=False)
    tx.suggest(
        WaitJobs(jobs=[job.job_id for job in made], until="end"), "wait until they have finished"
    )
    tx.suggest(
        MergeReport(jobs=[job.job_id for job in made]), "merge their results", priority="low"
    )
    return FannedOut(task_id=task, count=len(made), jobs=made)


@room.command(
    "tasks.macro.merge.report",
    also="tasks.merge.report jobs.report.merge",
    writes=True,
    additive=True,
    example=MergeReport(jobs=["JOB-001", "JOB-002"]),
    trim=[Clip("report", 2_000), Pop("jobs", leave=1), Drop("report")],
)
def merge_report(tx: Tx, req: MergeReport) -> Merged:
    """Merge the results of jobs into one report and store it as a note."""
    task = req.task or focused_task(tx)
    rows = [existing(tx, job) for job in sorted(set(req.jobs), key=job_number)]
    jobs = [Job.from_row(row) for row in rows]
    questions = {
        job.id
        for job, row in zip(jobs, rows, strict=True)
        if attention_of(row, tx.now_ms).needs_manager
    }
    missing = {job.id for job in jobs if not proofs(tx, job.refs, job.id)}
    title = req.title or f"Merged report of {', '.join(job.id for job in jobs[:3])}" + (
        f" and {len(jobs) - 3} more" if len(jobs) > 3 else ""
    )
    report = report_text(title, task, jobs, missing=missing, questions=questions)
    ref = _store(tx, task, title, report, [job.id for job in jobs], pin=req.pin)
    if task and known_target(tx, task):
        told = {"ref": ref, "title": title, "jobs": [job.id for job in jobs]}
        happened(tx, task, "jobs_merged", told, counted=False)
    return Merged(
        ref=ref,
        title=title,
        pinned=req.pin,
        task_id=task,
        count=len(jobs),
        jobs=[
            MergedJob(
                job_id=job.id,
                status=job.status,
                anchor=job.anchor_id,
                last_ref=job.last_ref,
                completion_refs=job.refs,
                missing_proof=job.id in missing,
            )
            for job in jobs
        ],
        report=report,
    )


def report_text(
    title: str, task: str | None, jobs: list[Job], *, missing: set[str], questions: set[str]
) -> str:
    """The report; it contains no times and no call order, so the same jobs give the same text."""
    changed, verified, refs, risks = [], [], [], []
    for job in jobs:
        where = f" [{job.anchor_id}]" if job.anchor_id else ""
        changed.append(f"- {job.id} ({job.status}){where} {clip(job.title, 80)}: {_summary(job)}")
        verified += [f"- {job.id}: {ref}" for ref in job.refs if is_receipt(ref)]
        stable = [ref for ref in job.refs if not is_receipt(ref)]
        refs += [f"- {job.id}: {', '.join(stable)}"] if stable else []
        if job.status in ACTIVE:
            risks.append(f"- {job.id} is not finished ({job.status}): wait and merge again")
        elif job.status != "DONE":
            risks.append(f"- {job.id} finished as {job.status}: requeue it or do without it")
        elif job.id in missing:
            risks.append(f"- {job.id} has no ref that shows what it did: ask for proof")
        if job.id in questions:
            risks.append(f"- {job.id} asked a question that no one has answered")
    sections = [
        ("What changed", changed),
        ("What was verified", verified),
        ("Refs", refs),
        ("Open risks and next actions", risks),
    ]
    head = [f"# {title}", *([f"Task: {task}"] if task else [])]
    body = [line for name, rows in sections for line in ("", f"## {name}", *(rows or ["- none"]))]
    return "\n".join([*head, *body]) + "\n"


def focused_task(tx: Tx) -> str | None:
    """The task in focus, if the focus is a task."""
    focus = standing(tx).focus
    return focus if focus and focus.startswith("TASK-") else None


def _summary(job: Job) -> str:
    return clip(job.summary, 400) if job.summary else "no summary"


def _store(tx: Tx, task: str | None, title: str, report: str, jobs: list[str], *, pin: bool) -> str:
    """Store the report in the notes of its task, else of the current branch; returns its ref."""
    tags = ["v:canon", "pinned"] if pin else ["v:canon"]
    meta = {"source": "merge_report", "jobs": jobs, "pinned": pin, "tags": tags}
    name = f"task/{task}" if task else current_branch(tx)
    return append_entry(
        tx,
        ensure_branch(tx, name),
        "notes",
        kind="note",
        content=report,
        title=title,
        format="markdown",
        meta=meta,
    ).entry.ref
