"""`tasks.macro.start`: from one sentence to a task in progress, in one transaction.

Creates a task with steps, and a plan if needed, focuses on it, and returns what it needs next; with
a view also a resume. Besides `tasks.focus.*`, it is the only command that moves the focus.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.desk.resuming import RESUME_INSIDE, resumed, wants_resume
from longhouse.desk.room import room
from longhouse.desk.snapshot import next_words
from longhouse.desk.types.starting import Reference, Start, Started
from longhouse.desk.types.system import Open
from longhouse.kernel.budget import Drop, Pop
from longhouse.kernel.errors import Suggestion
from longhouse.kernel.lines import cell, clip
from longhouse.memory import set_focus
from longhouse.store.tx import Tx
from longhouse.work import bootstrap, entity_row, next_call, scene_of
from longhouse.work.types.creating import Bootstrap, Bootstrapped
from longhouse.work.types.views import GetRadar

__all__ = [
    "start",
]

TEMPLATE = "basic-task"
THEN = "do it, then close it with proof: tasks.macro.close.step"
LONG = 6_000
"""The most characters of the resume that a view asks for."""


def _lines(result: dict[str, Any]) -> list[str]:
    """One line of state; the command to paste follows from the actions."""
    parts = [
        f"focus {result['task_id']}",
        f"plan={result['plan_id']}",
        f"ref={result['task_id']}",
        result["next"],
    ]
    named = [
        f"REFERENCE: {one['kind']} {one['id']} | {cell(one['summary'], 140)}"
        for one in result.get("references", ())
    ]
    return [" | ".join(parts), *named]


@room.command(
    "tasks.macro.start",
    also="start begin new tasks.macro.begin macro.start",
    writes=True,
    additive=True,
    tier="gold",
    lines=_lines,
    example=Start(task_title="Search: find the slow query", description="It takes 4 s."),
    trim=[
        *RESUME_INSIDE,
        Drop("references"),
        Pop("steps", leave=5),
    ],
)
def start(tx: Tx, req: Start) -> Started:
    """Start a task: create it with steps (and a plan if needed), focus on it, get the next call."""
    made = bootstrap(tx, _bootstrap(req))
    task = made.task.id
    previous = set_focus(tx, task)
    scene = scene_of(tx, task)
    whole = wants_resume(req)
    resume = resumed(tx, task, req, LONG) if whole else None  # also suggests the next call
    if not whole and (call := next_call(tx, scene)):
        undone = isinstance(call.request, GetRadar)  # `next` already says what to do
        tx.suggestions.append(Suggestion(call.request, THEN) if undone else call)
    if req.refs:
        tx.suggestions.append(Suggestion(Open(id=task), "open it", priority="medium"))
    brief = Started(
        task_id=task,
        plan_id=made.plan.id,
        next=clip(next_words(scene), 80),
        references=_references(tx, made, req.task_title) if req.refs else [],
    )
    if not whole:
        return brief
    return msgspec.structs.replace(
        brief,
        task_qualified_id=made.task.qualified_id,
        plan_qualified_id=made.plan.qualified_id,
        plan_created=made.plan.created,
        steps=made.steps,
        focus=task,
        focus_previous=previous,
        resume=resume,
    )


def _bootstrap(req: Start) -> Bootstrap:
    """The task to create; without steps or a template it uses the basic template."""
    given = {name: getattr(req, name) for name in Bootstrap.__struct_fields__}
    if not req.steps and req.template is None:
        given["template"] = TEMPLATE
    return Bootstrap(**given)


def _references(tx: Tx, made: Bootstrapped, title: str) -> list[Reference]:
    """The records that the caller can open."""
    plan = made.plan.id
    return [
        Reference(kind="TASK", id=made.task.id, summary=title),
        Reference(kind="PLAN", id=plan, summary=entity_row(tx, plan)["title"]),
    ]
