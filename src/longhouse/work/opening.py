"""What `open` finds in this room: `TASK-…`, `PLAN-…`, and an event of one, `TASK-001@45`.

A lens to navigate by; looking never moves the focus. The whole of what a task means to the other
rooms is the business of the desk.
"""

from __future__ import annotations

import re
from typing import Any

from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.store.tx import LogRow, Tx
from longhouse.work.events import event_from, timeline
from longhouse.work.lookup import entity_row
from longhouse.work.radar import scene_of, steps_of
from longhouse.work.room import room, sql
from longhouse.work.types.views import (
    Capsule,
    EntityOpened,
    EventOpened,
    GetHistory,
)
from longhouse.work.views import evidence_of, handoff_of, next_call

__all__ = [
    "open_entity",
    "open_event",
]


FOCUS_LINES = 5
AUDIT_LINES = 20
ENDLESS = 1_000
_LISTS = ("done", "remaining", "risks")


@room.opens(r"(?:TASK|PLAN)-[0-9]{3,15}", "a task or plan, like TASK-001")
def open_entity(tx: Tx, req: Any, match: re.Match[str]) -> EntityOpened:
    """A task or plan: where it stands and what is next."""
    scene = scene_of(tx, entity_row(tx, match[0]))
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
        proofs=evidence_of(tx, scene, AUDIT_LINES) if audit else [],
        events=timeline(tx, scene.id, AUDIT_LINES) if audit else [],
        degradation={"truncated_fields": cut, "minimal": False},
    )


@room.opens(r"(?P<entity>(?:TASK|PLAN)-[0-9]{3,15})@(?P<seq>[0-9]{1,16})", "an event of a task")
def open_event(tx: Tx, req: Any, match: re.Match[str]) -> EventOpened:
    """One thing that happened to a task or plan."""
    row = tx.one(sql.event_one, seq=int(match["seq"]))
    if row is None or row["subject"] != match["entity"]:
        entity_row(tx, match["entity"])
        raise UnknownId(
            f"id: there is no event {match[0]!r}",
            recovery="copy a ref from tasks.history",
            suggest=[Suggestion(GetHistory(target=match["entity"]), "see what happened to it")],
        )
    return EventOpened(kind="task_event", ref=match[0], event=event_from(LogRow.from_row(row)))
