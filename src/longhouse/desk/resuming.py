"""`tasks.resume.super`: everything needed to continue a plan or task, in one bounded answer.

It includes the caller's own mail and reservations, what others hold, and the questions of jobs. It
only reads. A budget first cuts the records, then the facts from the end; the capsule stays.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.crew import asker, held_by, held_now, reserved_for, waiting_for
from longhouse.crew.types.entities import Reservation
from longhouse.desk.at_length import lines_at_length
from longhouse.desk.digest import FIRST, Material, digest, fact_lines
from longhouse.desk.lenses import ViewLimits, limits_of, view_of_request
from longhouse.desk.related import related_to
from longhouse.desk.room import room
from longhouse.desk.snapshot import next_words
from longhouse.desk.types.lenses import View
from longhouse.desk.types.resume import (
    CardsApart,
    HandoffCapsule,
    PlanAbove,
    Records,
    ResumedSuper,
    ResumeSuper,
    UnmergedBranch,
    WaitsFor,
)
from longhouse.desk.whose import own_work
from longhouse.jobs import failure_of, radar_of_task, usage_of_task
from longhouse.jobs.types.radar import RadarRow
from longhouse.kernel.budget import Budget, Clip, Drop, Keep, Pop, Trim, fit
from longhouse.kernel.envelope import action_for
from longhouse.kernel.errors import Suggestion
from longhouse.kernel.lines import cell
from longhouse.memory import current_branch, standing, unmerged_branches
from longhouse.memory.graph import diff_graphs
from longhouse.memory.types.documents import Entry
from longhouse.memory.types.graph import DiffGraph
from longhouse.processes import active_processes
from longhouse.store.tx import Tx
from longhouse.thinking import EngineCut, show_context_pack
from longhouse.thinking.types.reads import PackedContext, ShowContextPack
from longhouse.work import (
    Scene,
    entity_row,
    evidence_of,
    given_id,
    handoff_of,
    horizon_of,
    id_of,
    next_call,
    scene_of,
    steps_of,
    timeline,
    waits_for,
)
from longhouse.work.types.entities import Plan, Task
from longhouse.work.types.views import GetRadar

__all__ = ["RESUME_INSIDE", "RESUME_TRIM", "resume_super", "resumed", "wants_resume"]

MOST_JOBS = 6
MOST_MAIL = 6
MOST_HELD = 8
MOST_BRANCHES = 4
MOST_APART = 5
EVIDENCE_LOOKED_AT = 20
VERSION = 1

_RECORDS: list[Trim] = [
    Clip("radar.why", 256),
    Drop("handoff"),
    Drop("timeline.payload"),
    Clip("notes.content", 256),
    Clip("trace.content", 256),
    Drop("trace.meta"),
    Drop("notes.meta"),
    Clip("cards.text", 180),
    Drop("cards.meta"),
    Clip("decisions.text", 180),
    Drop("decisions.meta"),
    Clip("mail.body", 160),
    Pop("timeline"),
    Pop("notes", oldest="first"),
    Pop("trace", oldest="first"),
    Pop("cards"),
    Pop("decisions"),
    Pop("evidence"),
    Pop("graph_diff.changes", leave=1),
    Drop("graph_diff"),
    Drop("jobs.question.reply"),
    Drop("jobs.last"),
    Pop("steps", leave=5),
    Drop("horizon"),
]
RESUME_TRIM: list[Trim] = [
    Drop("target.contract_data"),
    Drop("target.contract"),
    Drop("target.description"),
    Drop("target.context"),
    Drop("target.checklist"),
    Drop("lane_summary"),
    *(msgspec.structs.replace(t, path=f"records.{t.path}") for t in _RECORDS),  # type: ignore[union-attr]
    Pop("engine.actions"),
    Pop("engine.signals", leave=1),
    Drop("engine"),
    Drop("records"),
    Drop("reasoning_ref"),
    Drop("step_focus"),
    Drop("target"),
    Pop("facts", leave=FIRST),
    Clip("facts.text", 160),
    Drop("capsule.action.why"),
    Drop("next"),
    Pop("facts", leave=4),
    Clip("facts.text", 60),
    Pop("facts", leave=1),
    Keep(("ref", "capsule", "degradation")),
    Drop("capsule.step"),
    Clip("capsule.target.title", 24),
]
"""Records before facts, facts from the end; ref, target and the next call survive any budget."""

RESUME_INSIDE: list[Trim] = [
    Drop("resume.engine"),
    *(
        msgspec.structs.replace(trim, path=f"resume.{trim.path}")
        for trim in RESUME_TRIM
        if not isinstance(trim, Keep)
    ),
]
"""The same for a resume inside a macro's answer, where the engine goes before what it is about."""


def resume_lines(result: dict[str, Any]) -> list[str]:
    """The state with its ref, the facts, and the rest at length; then the command to paste."""
    target = result["capsule"]["target"]
    head = [f"focus {target['id']} — {cell(target['title'], 100)}", f"ref={result['ref']}"]
    head += [f"because: {result['chosen']}"] if result.get("chosen") else []
    facts = fact_lines(result["facts"])
    return [" | ".join([*head, result["next"]]), *facts, *lines_at_length(result)]


@room.command(
    "tasks.resume.super",
    also="tasks.resume.full tasks.resume.all tasks.catch.up tasks.mindpack",
    tier="gold",
    example=ResumeSuper(task="TASK-001"),
    lines=resume_lines,
    trim=RESUME_TRIM,
)
def resume_super(tx: Tx, req: ResumeSuper) -> ResumedSuper:
    """Get everything you need to continue a plan or task, most important first."""
    me = asker(tx, req)
    view = view_of_request(req)
    limits = _limits(req, view)
    chosen = own_work(tx, me) if me and given_id(req) is None else None
    scene = scene_of(tx, chosen.id if chosen else id_of(tx, req))
    call = next_call(tx, scene) or Suggestion(GetRadar(target=scene.id), "see how it ended")
    tx.suggestions.append(call)
    pack = _pack(tx, scene, view, limits, drafts=req.include_drafts)
    of = _material(tx, scene, me, limits, pack)
    return ResumedSuper(
        ref=scene.id,
        next=next_words(scene),
        chosen=chosen.why if chosen else None,
        capsule=_capsule(tx, view, scene, call),
        facts=digest(of),
        target=scene.target,
        reasoning_ref=scene.reasoning_ref,
        step_focus=scene.step_focus,
        engine=pack.engine,
        lane_summary=pack.lane_summary,
        records=_records(tx, of, pack, limits, apart=req.graph_diff),
        degradation={"truncated_fields": [], "minimal": False},
    )


def wants_resume(req: Any) -> bool:
    """Whether a macro's answer should include a resume."""
    return req.view is not None or req.resume_max_chars is not None


def resumed(tx: Tx, task: str, req: Any, most: int) -> dict[str, Any]:
    """A resume for a macro's answer, as its request asks for it, with its own budget."""
    view: View = req.view or "smart"
    chars = req.resume_max_chars or most
    whole = resume_super(tx, ResumeSuper(task=task, view=view, context_budget=chars))
    rederive, tx.rederive = tx.rederive, None  # it concerns the resume, not the macro's answer
    return fit(
        msgspec.to_builtins(whole),
        Budget(chars, explicit=True),
        RESUME_TRIM,
        rederive=rederive,
    ).result


def _records(
    tx: Tx, of: Material, pack: PackedContext, limits: ViewLimits, *, apart: bool
) -> Records:
    scene, target = of.scene, of.scene.target
    return Records(
        plan=of.plan,
        waits_for=list(of.waits_for),
        radar=scene.radar,
        handoff=handoff_of(scene, 5),
        jobs=list(of.jobs),
        usage=of.usage,
        held=list(of.held),
        processes=list(of.processes),
        mail=list(of.mail),
        decisions=pack.signals.decisions,
        evidence=list(of.evidence)[: limits.evidence],
        branches=list(of.branches),
        steps=steps_of(scene),
        horizon=horizon_of(tx, target.plan_id) if isinstance(target, Task) else scene.horizon,
        cards=pack.cards,
        notes=pack.notes.entries,
        trace=pack.trace.entries,
        timeline=timeline(tx, scene.id, limits.events),
        graph_diff=_apart(tx, of) if apart else [],
    )


def _apart(tx: Tx, of: Material) -> list[CardsApart]:
    """How the graphs of branches with unmerged notes differ from their bases."""
    doc, found = of.scene.reasoning_ref.graph_doc, []
    for branch in of.branches:
        asked = DiffGraph(from_=branch.base, to=branch.name, doc=doc, limit=MOST_APART)
        diff = diff_graphs(tx, asked)
        if diff.changes:
            more = diff.pagination.has_more
            found.append(
                CardsApart(from_=diff.from_, to=diff.to, changes=diff.changes, has_more=more)
            )
    return found


def _limits(req: ResumeSuper, view: View) -> ViewLimits:
    """The view's limits, overridden by those the call gives."""
    own = {
        "signals": req.engine_signals_limit,
        "actions": req.engine_actions_limit,
        **{
            name: getattr(req, f"{name}_limit")
            for name in ViewLimits._fields
            if name not in ("signals", "actions")
        },
    }
    given = {name: limit for name, limit in own.items() if limit is not None}
    return limits_of(view, req.context_budget)._replace(**given)


def _pack(tx: Tx, scene: Scene, view: View, limits: ViewLimits, *, drafts: bool) -> PackedContext:
    """The cards, notes and trace about it; `focus_only` reads only the step in focus."""
    narrow = view == "focus_only" and scene.step_focus is not None
    lens = {"audit": "audit", "full": "explore", "explore": "explore"}.get(view, "smart")
    warned = len(tx.warnings)
    pack = show_context_pack(
        tx,
        ShowContextPack(
            target=scene.id,
            step="focus" if narrow else None,
            view=lens,  # type: ignore[arg-type]
            include_drafts=drafts,
            notes_limit=limits.notes,
            trace_limit=limits.trace,
            limit_cards=limits.cards,
            decisions_limit=limits.decisions,
            evidence_limit=limits.evidence,
            blockers_limit=limits.blockers,
            engine_signals_limit=limits.signals,
            engine_actions_limit=limits.actions,
        ),
    )
    del tx.warnings[warned:]
    if isinstance(tx.rederive, EngineCut):
        tx.rederive = tx.rederive.at(
            cards=("records.cards", "records.decisions"), trace="records.trace"
        )
    return pack


def _material(
    tx: Tx, scene: Scene, me: str | None, limits: ViewLimits, pack: PackedContext
) -> Material:
    target = scene.target
    if isinstance(target, Plan):
        return Material(
            scene=scene,
            asker=me,
            held=_held(tx, me, target.id),
            processes=active_processes(tx),
            mail=waiting_for(tx, me, MOST_MAIL) if me else (),
            cards=pack.cards,
            decisions=pack.signals.decisions,
            notes=_newest_first(pack.notes.entries),
            branches=_branches(tx, scene),
        )
    jobs = radar_of_task(tx, target.id, MOST_JOBS)
    return Material(
        scene=scene,
        asker=me,
        plan=_plan(tx, target.plan_id),
        waits_for=_waits_for(tx, target),
        jobs=jobs,
        failures=_failures(tx, jobs),
        usage=usage_of_task(tx, target.id),
        processes=active_processes(tx),
        held=_held(tx, me, target.id),
        mail=waiting_for(tx, me, MOST_MAIL) if me else (),
        cards=pack.cards,
        decisions=pack.signals.decisions,
        evidence=evidence_of(tx, scene, max(EVIDENCE_LOOKED_AT, limits.evidence)),
        notes=_newest_first(pack.notes.entries),
        branches=_branches(tx, scene),
        related=related_to(tx, scene),
    )


def _failures(tx: Tx, jobs: list[RadarRow]) -> dict[str, str]:
    """What failed in each of the jobs that did, on a line."""
    lost = [job.id for job in jobs if job.status == "FAILED"]
    found = {job: failure_of(tx, job) for job in lost}
    return {job: line for job, line in found.items() if line}


def _newest_first(entries: list[Entry]) -> list[Entry]:
    """The notes, newest first, without those that repeat a receipt or a card."""
    said = [one for one in entries if not one.content.startswith("Evidence captured")]
    return [one for one in reversed(said) if one.format != "think_card"]


def _plan(tx: Tx, plan_id: str) -> PlanAbove:
    plan = Plan.from_row(entity_row(tx, plan_id), tx.workspace)
    why = plan.contract or plan.description
    return PlanAbove(id=plan.id, title=plan.title, status=plan.status, why=why)


def _waits_for(tx: Tx, task: Task) -> list[WaitsFor]:
    found = []
    for other in waits_for(tx, task.id)[:5] if task.waits_for else ():
        row = entity_row(tx, other)
        found.append(
            WaitsFor(id=other, title=row["title"], status=row["status"], assignee=row["assignee"])
        )
    return found


def _held(tx: Tx, me: str | None, target: str) -> list[Reservation]:
    """Reservations for the target, then the caller's own, then all others."""
    found = [*reserved_for(tx, target, MOST_HELD)]
    found += held_by(tx, me, MOST_HELD) if me else []
    found += held_now(tx, MOST_HELD)
    return list({one.seq: one for one in found}.values())[:MOST_HELD]


def _branches(tx: Tx, scene: Scene) -> list[UnmergedBranch]:
    """Branches with unmerged notes, based on the target's branch or the checkout."""
    bases = dict.fromkeys([scene.reasoning_ref.branch, current_branch(tx)])
    found = [one for base in bases for one in unmerged_branches(tx, base, MOST_BRANCHES)]
    return [UnmergedBranch(**one._asdict()) for one in found[:MOST_BRANCHES]]


def _capsule(tx: Tx, view: View, scene: Scene, call: Suggestion) -> HandoffCapsule:
    step, target = scene.step_focus, scene.target
    action = msgspec.to_builtins(action_for(tx.facts.registry, tx.workspace, call))
    return HandoffCapsule(
        type="handoff_capsule",
        version=VERSION,
        view=view,
        workspace=tx.workspace,
        focus=standing(tx).focus,
        target={"id": target.id, "status": target.status, "title": cell(target.title, 100)},
        step={"id": step.step_id, "path": step.path} if step else None,
        action={n: action[n] for n in ("tool", "args", "why", "missing") if n in action},
    )
