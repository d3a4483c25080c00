"""What `open` finds here: `TASK-…`, `PLAN-…`, `STEP-…`, and an event, `TASK-001@45`.

Opening something never moves the focus. The desk adds what other rooms know about a task.
"""

from __future__ import annotations

import re
from typing import Any

from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.store.tx import LogRow, Tx
from longhouse.work.checkpoints import missing_checkpoints, missing_proof, proofs_of
from longhouse.work.events import event_from, timeline
from longhouse.work.leases import lease_of
from longhouse.work.lookup import entity_row, task_row, tree_of
from longhouse.work.next_step import close_suggestion, next_call
from longhouse.work.radar import scene_of, steps_of
from longhouse.work.room import room, sql
from longhouse.work.types.entities import Step
from longhouse.work.types.views import (
    Capsule,
    EntityOpened,
    EventOpened,
    GetContext,
    GetDelta,
    GetHistory,
    StepOpened,
)
from longhouse.work.views import evidence_of, handoff_of, shown_from

__all__ = [
    "open_entity",
    "open_event",
    "open_event_id",
    "open_step",
]


FOCUS_LINES = 5
AUDIT_LINES = 20
ENDLESS = 1_000
_LISTS = ("done", "remaining", "risks")


@room.opens("task", r"TASK-[0-9]{3,15}", "a task", "TASK-001")
@room.opens("plan", r"PLAN-[0-9]{3,15}", "a plan", "PLAN-001")
def open_entity(tx: Tx, req: Any, match: re.Match[str]) -> EntityOpened:
    """A task or plan: its current state and the next step."""
    scene = scene_of(tx, match[0])
    audit = bool(req.include_drafts)
    handoff = handoff_of(scene, ENDLESS)
    limit = AUDIT_LINES if audit else FOCUS_LINES
    cut = [f"capsule.handoff.{name}" for name in _LISTS if len(getattr(handoff, name)) > limit]
    if call := next_call(tx, scene):
        tx.suggestions.append(call)
    return EntityOpened(
        kind="task" if match[0].startswith("TASK-") else "plan",
        id=scene.id,
        target=scene.target,
        reasoning_ref=scene.reasoning_ref,
        capsule=Capsule(
            type="handoff_capsule",
            version=1,
            view="audit" if audit else "focus_only",
            radar=scene.radar,
            handoff=handoff_of(scene, limit),
        ),
        step_focus=scene.step_focus,
        steps=steps_of(scene) if audit else [],
        proofs=evidence_of(tx, scene, req.limit) if audit else [],
        events=timeline(tx, scene.id, req.limit) if audit else [],
        degradation={"truncated_fields": cut, "minimal": False},
    )


@room.opens(
    "task_event",
    r"(?P<entity>(?:TASK|PLAN)-[0-9]{3,15})@(?P<seq>[0-9]{1,16})",
    "an event of a task",
    "TASK-001@40",
)
def open_event(tx: Tx, req: Any, match: re.Match[str]) -> EventOpened:
    """One event of a task or plan."""
    row = tx.one(sql.event_one, seq=int(match["seq"]))
    if row is None or row["subject"] != match["entity"]:
        entity_row(tx, match["entity"])
        raise UnknownId(
            f"id: there is no event {match[0]!r}",
            recovery="copy a ref from tasks.history",
            suggest=[Suggestion(GetHistory(target=match["entity"]), "see its history")],
        )
    return EventOpened(kind="task_event", ref=match[0], event=event_from(LogRow.from_row(row)))


@room.opens(
    "task_event_id",
    r"evt_(?P<seq>[0-9]{16})",
    "an event of a task by its id",
    "evt_0000000000000012",
)
def open_event_id(tx: Tx, req: Any, match: re.Match[str]) -> EventOpened:
    """One event, by the event id that `status` and `tasks.delta` show."""
    row = tx.one(sql.event_one, seq=int(match["seq"]))
    if row is None:
        raise UnknownId(
            f"id: there is no event {match[0]}",
            recovery="copy an event_id from tasks.delta",
            suggest=[Suggestion(GetDelta(), "list the events")],
        )
    event = event_from(LogRow.from_row(row))
    return EventOpened(kind="task_event", ref=event.ref, event=event)


@room.opens("step", r"STEP-[0-9A-F]{8,15}", "a step", "STEP-00000001")
def open_step(tx: Tx, req: Any, match: re.Match[str]) -> StepOpened:
    """A step: its criteria, tests and blockers, its proof, and who holds it."""
    row = tx.one(sql.step_by_id, step_id=match[0])
    if row is None:
        raise UnknownId(
            f"id: there is no step {match[0]}",
            recovery="copy a step_id from tasks.radar",
            suggest=[Suggestion(GetContext(), "list plans and tasks")],
        )
    step = Step.from_row(row)
    task, path = task_row(tx, step.task_id), tree_of(tx, step.task_id).paths[step.step_id]
    proofs = proofs_of(tx, step.task_id)
    if not step.completed:
        tx.suggestions.append(close_suggestion(tx, step, proofs))
    shown = tx.all(sql.proofs_newest_of_step, step_id=step.step_id, limit=req.limit)
    return StepOpened(
        kind="step",
        id=step.step_id,
        task=step.task_id,
        task_title=task["title"],
        path=path,
        step=step,
        missing=[] if step.completed else list(missing_checkpoints(step, proofs)),
        proof_missing=[] if step.completed else list(missing_proof(step, proofs)),
        lease=lease_of(tx, step.step_id),
        proofs=[shown_from(one, step.task_id, path) for one in shown],
    )
