"""Macros that finish work: close a step, finish a task, record work that is already done.

Each is one transaction: if a gate refuses, no note, proof or task is written.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.desk.deleting import complete
from longhouse.desk.resuming import RESUME_INSIDE, resumed, wants_resume
from longhouse.desk.room import room
from longhouse.desk.snapshot import next_words
from longhouse.desk.types.closing import (
    CloseStepNow,
    CreatedDone,
    CreateDone,
    Finish,
    Finished,
    Override,
    StepClosed,
)
from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import InvalidInput, Suggestion
from longhouse.kernel.lines import cell, clip
from longhouse.memory import append_entry, ensure_branch, ensure_target
from longhouse.store.tx import Tx
from longhouse.work import (
    StepChange,
    bootstrap,
    closed,
    evidence_from_line,
    handoff_of,
    happened,
    id_of,
    next_call,
    scene_of,
    step_change,
    strict_gate,
    where_to_start,
)
from longhouse.work.types.changing import CloseStep, Complete
from longhouse.work.types.creating import Bootstrap
from longhouse.work.types.entities import Event, StepTarget
from longhouse.work.types.views import GetRadar

__all__ = ["close_step_now", "create_done", "finish"]

LONG = 2_000
"""The most characters of the resume that a view asks for."""


def _closed_lines(result: dict[str, Any]) -> list[str]:
    done = f"closed {result['path']} ({cell(result['title'], 48)})"
    return [f"{result['task']} {done} | ref={result['task']} | {result['next']}"]


@room.command(
    "tasks.macro.close.step",
    also="tasks.macro.close tasks.macro.step.close tasks.macro.step",
    writes=True,
    tier="gold",
    example=CloseStepNow(task="TASK-001", proof="CMD: make test (exit 0)"),
    lines=_closed_lines,
    trim=[
        Drop("events.payload"),
        *RESUME_INSIDE,
        Pop("events", leave=1),
    ],
)
def close_step_now(tx: Tx, req: CloseStepNow) -> StepClosed:
    """Close a step with a note and proof, and get what you need to continue."""
    change = step_change(tx, _step(req))
    events: list[Event] = []
    if req.note:
        said = {"note": req.note[:200]}
        events.append(_noted(tx, change, "step_noted", said, req.note))
    overrode = _overridden(tx, change, req.override, events) if req.override else []
    moved = closed(tx, _close(change, req), overridden=bool(overrode))
    events += moved.events or [moved.event]
    task = moved.task
    scene = scene_of(tx, task)
    brief = StepClosed(
        task=task,
        revision=moved.revision,
        path=moved.path,
        title=clip(moved.step.title, 40),
        next=next_words(scene),
        refs=[event.ref for event in events if event.type != "step_verified"],
        overrode=overrode,
    )
    if not wants_resume(req):
        tx.suggestions.append(next_call(tx, scene) or Suggestion(GetRadar(task=task), "see it"))
        return brief
    resume = resumed(tx, task, req, LONG)  # also suggests the next call
    return msgspec.structs.replace(brief, step=moved.step, events=events, resume=resume)


def _step(req: CloseStepNow) -> StepTarget[Any]:
    names = StepTarget.__struct_fields__
    return StepTarget(**{name: getattr(req, name) for name in names})


def _close(change: StepChange, req: CloseStepNow) -> CloseStep:
    """The request to close the step; without proof, receipts in the note count as proof."""
    given = req.proof.splitlines() if isinstance(req.proof, str) else req.proof
    return CloseStep(
        task=change.step.task_id,
        step_id=change.step.step_id,
        checkpoints=req.checkpoints,
        proof=given or _salvaged(req.note or ""),
    )


def _salvaged(note: str) -> list[str]:
    """The lines of a note that are receipts: commands with exit codes, links, refs."""
    found = [(line, evidence_from_line(line)) for line in note.splitlines()]
    return [line for line, item in found if item is not None and item.kind != "note"][:20]


def _overridden(tx: Tx, change: StepChange, why: Override, events: list[Event]) -> list[str]:
    """Record why the strict gate is skipped, if it is shut; returns what it found missing."""
    missing, _ = strict_gate(tx, change)
    if not missing:
        return []
    said = {"reason": why.reason, "risk": why.risk, "missing": missing}
    text = f"Strict gate overridden: {why.reason}\nRisk: {why.risk}\nMissing: {'; '.join(missing)}"
    events.append(_noted(tx, change, "gate_overridden", said, text))
    tx.warn(
        "STRICT_OVERRIDE_APPLIED",
        f"{change.path} was closed without passing the strict gate; the reason is recorded",
    )
    return missing


def _noted(tx: Tx, change: StepChange, kind: str, payload: dict[str, Any], text: str) -> Event:
    step = change.step
    return happened(tx, step.task_id, kind, payload, path=change.path, step=step, note=text)


def _finished_lines(result: dict[str, Any]) -> list[str]:
    said = "is now" if result["changed"] else "was already"
    return [f"{result['id']} {said} {result['status']} | ref={result['id']}"]


@room.command(
    "tasks.macro.finish",
    also="tasks.macro.end tasks.macro.done tasks.macro.complete",
    writes=True,
    idempotent=True,
    example=Finish(task="TASK-001"),
    lines=_finished_lines,
    trim=[Pop("handoff.risks", leave=1), Clip("handoff.done", 80)],
)
def finish(tx: Tx, req: Finish) -> Finished:
    """Finish or cancel a plan or task with a final note; repeating it changes nothing."""
    entity = id_of(tx, req)
    moved = complete(tx, Complete(target=entity, status=req.status, hanging=req.hanging))
    changed, ref = moved.event is not None, None
    if req.final_note and changed:
        where = ensure_target(tx, entity)
        branch = ensure_branch(tx, where.branch)
        meta = {"source": "finish", "event_id": moved.event.event_id if moved.event else None}
        ref = append_entry(
            tx, branch, where.notes_doc, kind="note", content=req.final_note, meta=meta
        ).entry.ref
    tx.suggestions.extend(where_to_start(tx)[:1])
    return Finished(
        id=entity,
        status=req.status,
        changed=changed,
        final_note=ref,
        hanging=moved.hanging,
        handoff=handoff_of(scene_of(tx, entity), 5),
    )


def _recorded_lines(result: dict[str, Any]) -> list[str]:
    """The task with its plan, then what was recorded."""
    task, made = result["task_id"], result["bootstrap"]
    state = f"{task} is recorded as DONE | plan={made['plan']['id']} | ref={task}"
    done = result["complete"].get("event")
    told = [*made["events"], *result["close"]["events"], *([done] if done else [])]
    return [state, *map(_event_line, told)]


def _event_line(event: dict[str, Any]) -> str:
    title = event["payload"].get("title")
    return f"{event['ref']} {event['type']}" + (f" — {cell(title, 100)}" if title else "")


@room.command(
    "tasks.macro.create.done",
    also="tasks.macro.record tasks.record.done",
    writes=True,
    additive=True,
    example=CreateDone(task_title="Fix the typo", proof="CMD: make docs (exit 0)"),
    lines=_recorded_lines,
    trim=[Drop("bootstrap.events"), Drop("close.events")],
)
def create_done(tx: Tx, req: CreateDone) -> CreatedDone:
    """Record work that is already done: a task with one step, proved and closed."""
    if isinstance(req.steps, str) or len(req.steps) > 1:
        raise InvalidInput(
            "steps: expected exactly one; fix: leave steps out",
            recovery="leave steps out, or start the task with tasks.macro.start",
        )
    if req.template is not None:
        raise InvalidInput("template: templates have several steps; fix: leave template out")
    given = {name: getattr(req, name) for name in Bootstrap.__struct_fields__}
    made = bootstrap(tx, Bootstrap(**{**given, "steps": req.steps or [req.task_title]}))
    task = made.task.id
    now = CloseStepNow(
        task=task, checkpoints=req.checkpoints, proof=req.proof, override=req.override
    )
    change = step_change(tx, _step(now))
    overrode = _overridden(tx, change, req.override, []) if req.override else []
    moved = closed(tx, _close(change, now), overridden=bool(overrode))
    done = complete(tx, Complete(task=task))
    tx.suggestions.append(Suggestion(GetRadar(task=task), "see its state", priority="low"))
    return CreatedDone(task_id=task, bootstrap=made, close=moved, complete=done)
