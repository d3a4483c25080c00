"""Creating plans and tasks.

A task belongs to a plan: the one named by id or title; else the plan in focus, or that of the task
in focus; else `Inbox`, which is created when first needed.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import msgspec

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.values import Json
from longhouse.memory import standing
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.work.events import happened, task_ops
from longhouse.work.lookup import entity_row, is_plan, plan_row
from longhouse.work.projections import add_plan, add_task, ready_at
from longhouse.work.room import room, sql
from longhouse.work.states import Priority, ReasoningMode
from longhouse.work.steps import add_steps, steps_from
from longhouse.work.types.creating import CreatePlan, PlanCreated
from longhouse.work.types.entities import Event, StepPlaced

__all__ = [
    "INBOX",
    "make_plan",
    "make_task",
    "plan_for",
]

INBOX = "Inbox"
"""The plan for tasks created without one."""
_WORK_ID = re.compile(r"(?:TASK|PLAN)-[0-9]+")


@room.command(
    "tasks.plan.create",
    also=(
        "create:kind=task add:kind=task make:kind=task tasks.task.create:kind=task "
        "story:kind=task feature:kind=task issue:kind=task "
        "tasks.plan.new tasks.plan.add plans.create epic milestone"
    ),
    op="plan.create",
    writes=True,
    additive=True,
    example=CreatePlan(title="Faster search"),
)
def create_plan(tx: Tx, req: CreatePlan) -> PlanCreated:
    """Create a plan, or a task if parent=, steps=, assignee= or kind=task is given."""
    as_task = req.parent is not None or bool(req.steps) or req.assignee is not None
    kind = req.kind or ("task" if as_task else "plan")
    wrong = [
        name
        for name in ("parent", "steps", "assignee", "contract", "contract_data")
        if getattr(req, name) and (kind == "plan") == (name in ("parent", "steps", "assignee"))
    ]
    if wrong:
        other = "task" if kind == "plan" else "plan"
        raise InvalidInput(f"{wrong[0]}: a {kind} does not take this; fix: kind={other}")
    if kind == "plan":
        row, event = make_plan(
            tx,
            req.title,
            req.description,
            contract=req.contract,
            contract_data=req.contract_data,
            priority=req.priority,
        )
        plan, events, steps = row["plan_id"], [event], list[StepPlaced]()
    else:
        parent, events = plan_for(tx, req.parent)
        plan = parent["plan_id"]
        row, event = make_task(
            tx, plan, req.title, req.description, assignee=req.assignee, priority=req.priority
        )
        events.append(event)
        steps = []
        if req.steps:
            steps, added = add_steps(tx, row["task_id"], steps_from(req.steps))
            events.append(added)
    entity = row[f"{kind}_id"]
    return PlanCreated(
        id=entity,
        qualified_id=f"{tx.workspace}:{entity}",
        kind=kind,
        plan=plan,
        revision=row["revision"],
        steps=steps,
        event=event,
        events=events if len(events) > 1 else [],
    )


def make_plan(
    tx: Tx,
    title: str,
    description: str | None = None,
    *,
    contract: str | None = None,
    contract_data: Json | None = None,
    checklist: Sequence[str] = (),
    priority: Priority = "MEDIUM",
) -> tuple[Row, Event]:
    """Create a plan; returns its row and event."""
    _refuse_id(title)
    number = tx.count("plan")
    plan_id = f"PLAN-{number:03d}"
    row = tx.one(
        sql.plan_add,
        plan_id=plan_id,
        number=number,
        title=title,
        description=description,
        contract=contract,
        priority=priority,
        now=tx.now_ms,
        checklist=msgspec.json.encode(list(checklist)).decode(),
        contract_data=msgspec.json.encode(contract_data).decode() if contract_data else None,
    )
    assert row is not None
    add_plan(tx, row)
    return row, happened(tx, plan_id, "plan_created", {"title": title})


def make_task(
    tx: Tx,
    plan_id: str,
    title: str,
    description: str | None = None,
    *,
    reasoning_mode: ReasoningMode = "normal",
    assignee: str | None = None,
    priority: Priority = "MEDIUM",
) -> tuple[Row, Event]:
    """Create a task in a plan; returns its row and event."""
    _refuse_id(title)
    number = tx.count("task")
    task_id = f"TASK-{number:03d}"
    place = {
        "number": number,
        "status": "TODO",
        "waits_for": 0,
        "priority": priority,
        "parked_until_ts_ms": None,
    }
    row = tx.one(
        sql.task_add,
        task_id=task_id,
        number=number,
        plan_id=plan_id,
        title=title,
        description=description,
        reasoning_mode=reasoning_mode,
        assignee=assignee,
        priority=priority,
        ready_at=ready_at(place),
        now=tx.now_ms,
    )
    assert row is not None
    add_task(tx, row)
    payload = {"title": title, "plan": plan_id, "assignee": assignee}
    return row, happened(tx, task_id, "task_created", payload, graph=task_ops(row))


def plan_for(
    tx: Tx, parent: str | None, *, checklist: Sequence[str] = (), title: str | None = None
) -> tuple[Row, list[Event]]:
    """The plan for a new task, and its event if the plan was just created."""
    if parent is not None and parent.startswith("PLAN-"):
        row = plan_row(tx, parent, "parent")
        if title is not None and title != row["title"]:
            raise InvalidInput(
                f"plan_title: the title of {parent} is {row['title'][:80]!r}; fix: plan={parent}",
                recovery="name the plan once, by id or by title",
            )
        return row, []
    if parent is not None and title is not None and parent != title:
        raise InvalidInput(f"plan_title: expected one plan, not two; fix: plan_title={title}")
    named = parent or title
    if parent is not None and _WORK_ID.fullmatch(parent):
        plan = entity_row(tx, parent)["plan_id"]
        raise InvalidInput(
            f"parent: {parent} is not a plan, and a task belongs to one; fix: parent={plan}",
            recovery=f"add what belongs to {parent} as steps, or create a task beside it",
        )
    if named is None and (focus := standing(tx).focus) is not None:
        row = entity_row(tx, focus)
        return (row if is_plan(row) else plan_row(tx, row["plan_id"])), []
    if found := tx.one(sql.plan_by_title, title=named or INBOX):
        return found, []
    row, event = make_plan(tx, named or INBOX, checklist=checklist)
    return row, [event]


def _refuse_id(title: str) -> None:
    """Nothing is created under the name of something else: whoever says that means the other."""
    if _WORK_ID.fullmatch(title.strip()):
        raise InvalidInput(
            f"title: {title.strip()} is an id, not a title",
            recovery="to work on what exists, focus on it with tasks.focus.set; or give a title",
        )
