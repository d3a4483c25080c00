"""Read-only views of one plan or task: radar, handoff and resume."""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.kernel.budget import Clip, Drop, Pop, Trim
from longhouse.kernel.errors import Suggestion
from longhouse.kernel.lines import cell
from longhouse.kernel.values import Draft
from longhouse.memory import ENDLESS, standing, view_of
from longhouse.memory.graph import NodeFilter, node_from, node_page
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work.events import event_line, timeline
from longhouse.work.lookup import given_id, id_of
from longhouse.work.next_step import next_call
from longhouse.work.proof import Receipt
from longhouse.work.radar import Scene, scene_of, steps_of
from longhouse.work.room import room, sql
from longhouse.work.types.entities import Target, Task
from longhouse.work.types.views import (
    ContextPack,
    ContextPacked,
    Decision,
    GetHandoff,
    GetRadar,
    Handoff,
    HandoffShown,
    RadarShown,
    Resume,
    Resumed,
    ResumePack,
    ResumePacked,
    ShownReceipt,
    Signals,
)

__all__ = [
    "PACK_TRIM",
    "evidence_of",
    "handoff_of",
    "next_call",
    "radar_lines",
    "resume_pack",
    "shown_from",
]


def handoff_of(scene: Scene, limit: int = 10) -> Handoff:
    """What is done, what remains and the risks, at most `limit` lines each."""
    target = scene.target
    if not isinstance(target, Task):
        left = [f"Checklist: {item}" for item in target.checklist[target.current :]]
        done = [f"Checklist progress: {target.current}/{len(target.checklist)}"]
        return Handoff(done=done, remaining=left[:limit], risks=scene.radar.verify[:limit])
    closed = target.steps_total - target.steps_open
    remaining = [f"Open steps: {target.steps_open}"]
    if scene.step_focus is not None:
        remaining.append(f"Next open step: {scene.step_focus.path}")
    unproved = [
        f"{row.path} lacks proof of {', '.join(row.proof_missing)}"
        for row in steps_of(scene)
        if row.proof_missing
    ]
    blocked = [f"Blocked: {text}" for text in scene.radar.blockers]
    return Handoff(
        done=[f"Completed steps: {closed}/{target.steps_total}"],
        remaining=remaining,
        risks=[*scene.radar.verify, *unproved, *blocked][:limit],
    )


def radar_lines(result: dict[str, Any]) -> list[str]:
    """The current state, what to verify, do next and what blocks; then steps and events."""
    radar = result["radar"]
    lines = [
        f"{cell(radar['now'], 200)} ({result['target']['status']}) | ref={result['target']['id']}"
    ]
    lines += [f"verify {line}" for line in radar["verify"]]
    lines += [f"next {cell(line, 200)}" for line in radar["next"]]
    focus = result.get("step_focus") or {}
    lines += [f"done_when {cell(line, 200)}" for line in focus.get("success_criteria", ())]
    lines += [f"test {cell(line, 200)}" for line in focus.get("tests", ())]
    lines += [f"blocked {cell(line, 200)}" for line in radar["blockers"]]
    lines += [
        f"step {step['path']} {_state(step)} {cell(step['title'], 200)}"
        for step in result.get("steps") or ([focus] if focus else ())
    ]
    return lines + [event_line(one) for key in ("timeline", "delta") for one in result.get(key, ())]


def _state(step: dict[str, Any]) -> str:
    return "done" if step.get("completed") else "blocked" if step.get("blocked") else "open"


_TARGET_TRIM: list[Trim] = [
    Clip("radar.why", 256),
    Drop("target.contract_data"),
    Drop("target.contract"),
    Drop("target.description"),
    Drop("target.context"),
    Drop("target.checklist"),
]


@room.command(
    "tasks.radar",
    also="overview view dashboard",
    example=GetRadar(task="TASK-001"),
    lines=radar_lines,
    trim=[
        *_TARGET_TRIM,
        Pop("steps", leave=5),
        Pop("radar.blockers", leave=1),
        Pop("steps"),
        Drop("horizon"),
    ],
)
def get_radar(tx: Tx, req: GetRadar) -> RadarShown:
    """Show a plan or task at a glance: purpose, checks, steps, next action and blockers."""
    scene = scene_of(tx, id_of(tx, req))
    call = next_call(tx, scene)
    if call is not None and isinstance(call.request, GetRadar):
        call = Suggestion(_how_to_show(), call.why)
    if call is not None:
        tx.suggestions.append(call)
    return RadarShown(**_head(tx, req, scene), steps=steps_of(scene))


def _head(tx: Tx, req: Target[Any], scene: Scene) -> dict[str, Any]:
    return {
        "requested": given_id(req),
        "focus": standing(tx).focus,
        "target": scene.target,
        "reasoning_ref": scene.reasoning_ref,
        "radar": scene.radar,
        "horizon": scene.horizon,
        "step_focus": scene.step_focus,
    }


def _how_to_show() -> Draft:
    """The schema of the command that closes a step with proof."""
    return Draft("system.schema.get", {"cmd": "tasks.macro.close.step"})


@room.command(
    "tasks.handoff",
    also="handover summary",
    example=GetHandoff(task="TASK-001"),
    trim=[*_TARGET_TRIM, Pop("handoff.risks", leave=1), Pop("radar.blockers")],
)
def get_handoff(tx: Tx, req: GetHandoff) -> HandoffShown:
    """Summarize what is done, what remains and the risks, for the agent that takes over."""
    scene = scene_of(tx, id_of(tx, req))
    return HandoffShown(
        target=scene.target,
        reasoning_ref=scene.reasoning_ref,
        radar=scene.radar,
        handoff=handoff_of(scene, req.limit),
    )


_RESUME_TRIM: list[Trim] = [
    *_TARGET_TRIM,
    Drop("timeline.payload"),
    Pop("timeline", leave=3),
    Pop("steps", leave=5),
    Pop("timeline", leave=1),
    Pop("steps"),
    Drop("horizon"),
]


@room.command(
    "tasks.resume",
    also="continue restore",
    example=Resume(task="TASK-001"),
    trim=_RESUME_TRIM,
    lines=radar_lines,
)
def resume(tx: Tx, req: Resume) -> Resumed:
    """Show a plan or task with its steps and newest events: enough to continue."""
    scene = scene_of(tx, id_of(tx, req))
    if call := next_call(tx, scene):
        tx.suggestions.append(call)
    events = timeline(tx, scene.id, req.events_limit)
    return Resumed(**_head(tx, req, scene), steps=steps_of(scene), timeline=events)


PACK_TRIM: list[Trim] = [
    *_RESUME_TRIM,
    Clip("signals.decisions.text", 200),
    Pop("signals.evidence", leave=1),
    Pop("signals.decisions", leave=1),
    Pop("signals.evidence"),
    Pop("signals.decisions"),
]


@room.command(
    "tasks.resume.pack",
    also="tasks.resume.small",
    example=ResumePack(task="TASK-001"),
    lines=radar_lines,
    trim=PACK_TRIM,
)
def resume_pack(tx: Tx, req: ResumePack) -> ResumePacked:
    """Show a plan or task with decisions, evidence and blockers; tasks.resume.super has more."""
    scene = scene_of(tx, id_of(tx, req))
    if call := next_call(tx, scene):
        tx.suggestions.append(call)
    if "tasks.resume.super" in tx.facts.registry:
        whole = Draft("tasks.resume.super", {"target": scene.id})
        why = "see its jobs, mail, leases and reasoning as well"
        tx.suggestions.append(Suggestion(whole, why, priority="low"))
    return ResumePacked(
        **_head(tx, req, scene),
        steps=steps_of(scene),
        timeline=timeline(tx, scene.id, req.events_limit),
        signals=Signals(
            blockers=scene.radar.blockers[: req.blockers_limit],
            decisions=_decisions(tx, scene, req.decisions_limit),
            evidence=evidence_of(tx, scene, req.evidence_limit),
        ),
    )


def _decisions(tx: Tx, scene: Scene, limit: int) -> list[Decision]:
    """The decisions in its own graph."""
    if not limit:
        return []
    ref = scene.reasoning_ref
    view = view_of(tx, ref.branch, ref.graph_doc)
    page = node_page(
        tx, view, NodeFilter(types=frozenset({"decision"})), before=ENDLESS, limit=limit
    )
    return [
        Decision(
            id=node.id,
            title=node.title,
            text=node.text,
            status=node.status,
            ref=f"{ref.graph_doc}@{node.last_seq}",
        )
        for node in map(node_from, page.rows)
    ]


def evidence_of(tx: Tx, scene: Scene, limit: int) -> list[ShownReceipt]:
    """The receipts on its steps, newest first."""
    rows = tx.all(sql.proofs_newest_of_task, task_id=scene.id, limit=limit)
    return [shown_from(row, scene.id, scene.tree.paths[row["step_id"]]) for row in rows]


def shown_from(row: Row, task_id: str, path: str) -> ShownReceipt:
    """A receipt of a step as callers see it."""
    return ShownReceipt(
        ref=f"{task_id}@{row['seq']}",
        path=path,
        checkpoint=row["checkpoint"],
        receipt=msgspec.json.decode(row["receipt"], type=Receipt),
    )


@room.command(
    "tasks.context.pack",
    also="pack",
    example=ContextPack(task="TASK-001"),
    lines=radar_lines,
    trim=[*_TARGET_TRIM, Drop("delta.payload"), Pop("delta", leave=1)],
)
def context_pack(tx: Tx, req: ContextPack) -> ContextPacked:
    """Show the radar and newest events of a plan or task."""
    scene = scene_of(tx, id_of(tx, req))
    return ContextPacked(
        target=scene.target,
        reasoning_ref=scene.reasoning_ref,
        radar=scene.radar,
        delta=timeline(tx, scene.id, req.delta_limit),
    )
