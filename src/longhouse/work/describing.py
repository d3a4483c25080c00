"""What a step is about: its words, its notes, what blocks it."""

from __future__ import annotations

import msgspec

from longhouse.kernel.errors import InvalidInput
from longhouse.store.tx import Tx
from longhouse.work.organism import happened, step_ops
from longhouse.work.room import room
from longhouse.work.steps import change_step, moved, opening
from longhouse.work.types.changing import Block, Define, Note
from longhouse.work.types.entities import StepMoved

__all__ = []


@room.command(
    "tasks.define",
    writes=True,
    example=Define(task="TASK-001", path="s:0", tests=["make test passes"]),
)
def define(tx: Tx, req: Define) -> StepMoved:
    """Replace a step's title, criteria, tests or blockers."""
    given = {
        name: _normal(getattr(req, name))
        for name in ("success_criteria", "tests", "blockers")
        if getattr(req, name) is not None
    }
    if not given and req.title is None:
        raise InvalidInput('tests: expected something to change; fix: tests=["make test"]')
    change = opening(tx, req)
    detail = msgspec.structs.replace(change.step.detail, **given)
    step = change_step(tx, change.step, title=req.title or change.step.title, detail=detail)
    fields = sorted([*given, *(["title"] if req.title else [])])
    event = happened(
        tx,
        step.task_id,
        "step_defined",
        {"fields": fields},
        path=change.path,
        step=step,
        graph=step_ops(step),
    )
    return moved(change, step, event)


def _normal(lines: list[str]) -> list[str]:
    """Trimmed, without empty ones, each once."""
    return list(dict.fromkeys(line.strip() for line in lines if line.strip()))


@room.command(
    "tasks.note", writes=True, example=Note(task="TASK-001", note="The index helps: 40 ms to 3 ms.")
)
def note(tx: Tx, req: Note) -> StepMoved:
    """Note how a step goes; the note also goes into the task's notes."""
    change = opening(tx, req)
    event = happened(
        tx,
        change.step.task_id,
        "step_noted",
        {"note": req.note[:200]},
        path=change.path,
        step=change.step,
        note=req.note,
    )
    return moved(change, change.step, event)


@room.command(
    "tasks.block", writes=True, example=Block(task="TASK-001", reason="Waiting for access.")
)
def block(tx: Tx, req: Block) -> StepMoved:
    """Mark a step as blocked with a reason, or free again."""
    change = opening(tx, req)
    reason = req.reason if req.blocked else None
    step = change_step(tx, change.step, blocked=req.blocked, block_reason=reason)
    kind = "step_blocked" if req.blocked else "step_unblocked"
    event = happened(tx, step.task_id, kind, {"reason": req.reason}, path=change.path, step=step)
    return moved(change, step, event)
