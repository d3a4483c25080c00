"""`tasks.macro.start`: from one sentence to a task in progress, in one transaction.

Creates a task with steps, and a plan if needed, focuses on it, and returns everything needed to
begin. Besides `tasks.focus.*`, it is the only command that moves the focus.
"""

from __future__ import annotations

from typing import Any

from longhouse.desk.resuming import RESUME_INSIDE, resumed
from longhouse.desk.room import room
from longhouse.desk.snapshot import next_words
from longhouse.desk.types.starting import Reference, Start, Started
from longhouse.desk.types.system import Open
from longhouse.kernel.budget import Drop, Pop
from longhouse.kernel.errors import Suggestion
from longhouse.kernel.lines import cell
from longhouse.memory.targeting import set_focus
from longhouse.store.tx import Tx
from longhouse.work.lookup import plan_row, task_row
from longhouse.work.radar import scene_of
from longhouse.work.starting import bootstrap
from longhouse.work.types.creating import Bootstrap, Bootstrapped

__all__ = [
    "start",
]

TEMPLATE = "basic-task"


def _lines(result: dict[str, Any]) -> list[str]:
    """One line of state; the command to paste follows from the actions."""
    parts = [
        f"focus {result['task_id']} — {cell(result['resume']['capsule']['target']['title'], 100)}",
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
    row = task_row(tx, task)
    resume = resumed(tx, task, req.view, req.resume_max_chars)  # also suggests the next call
    if req.refs:
        tx.suggestions.append(Suggestion(Open(id=task), "open it", priority="medium"))
    return Started(
        task_id=task,
        task_qualified_id=made.task.qualified_id,
        plan_id=made.plan.id,
        plan_qualified_id=made.plan.qualified_id,
        plan_created=made.plan.created,
        steps=made.steps,
        focus=task,
        focus_previous=previous,
        next=next_words(scene_of(tx, row)),
        resume=resume,
        references=_references(tx, made, req.task_title) if req.refs else [],
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
        Reference(kind="PLAN", id=plan, summary=plan_row(tx, plan)["title"]),
    ]
