"""Focus: the plan or task that calls without a target apply to.

Each caller has its own (see `memory.targeting`); the workspace's focus is the default for new
callers. Only these commands and the desk's `tasks.macro.start` move it.
"""

from __future__ import annotations

from longhouse.kernel.errors import InvalidInput
from longhouse.memory import set_focus as store_focus
from longhouse.memory import standing
from longhouse.store.tx import Tx
from longhouse.work.events import happened
from longhouse.work.lookup import entity_row, given_id, where_to_look
from longhouse.work.room import room
from longhouse.work.targets import known_target
from longhouse.work.types.focus import ClearFocus, Focus, FocusMoved, GetFocus, SetFocus

__all__ = []


@room.command(
    "tasks.focus.get",
    also="focus current tasks.focus.show",
    example=GetFocus(),
)
def get_focus(tx: Tx, req: GetFocus) -> Focus:
    """Show your focus, or the workspace's if you never set or cleared yours."""
    focus = standing(tx).focus
    known = known_target(tx, focus) if focus else None
    return Focus(focus=focus, title=known.title if known else None)


@room.command(
    "tasks.focus.set",
    also="select switch checkout use pick focus start tasks.work.on tasks.pick.up goto",
    writes=True,
    additive=True,
    idempotent=True,
    example=SetFocus(task="TASK-001"),
)
def set_focus(tx: Tx, req: SetFocus) -> FocusMoved:
    """Focus on a plan or task; other agents keep their own focus."""
    entity = given_id(req)
    if entity is None:
        raise InvalidInput(
            "task: expected what to focus on (missing); fix: task=TASK-001",
            suggest=where_to_look(tx),
        )
    entity_row(tx, entity)
    return FocusMoved(previous=_move(tx, entity), focus=entity)


@room.command(
    "tasks.focus.clear",
    also="unfocus tasks.focus.unset tasks.focus.reset",
    writes=True,
    idempotent=True,
    example=ClearFocus(),
)
def clear_focus(tx: Tx, req: ClearFocus) -> FocusMoved:
    """Clear your focus."""
    return FocusMoved(previous=_move(tx, None), focus=None, cleared=True)


def _move(tx: Tx, entity: str | None) -> str | None:
    """Move the caller's focus, record it on both plans or tasks, and return the previous focus."""
    previous = store_focus(tx, entity)
    if previous == entity:
        return previous
    if previous and known_target(tx, previous):
        happened(tx, previous, "focus_left", {"for": entity} if entity else {}, counted=False)
    if entity:
        happened(tx, entity, "focus_set", {"previous": previous} if previous else {}, counted=False)
    return previous
