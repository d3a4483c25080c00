"""Creating a task with its steps, and a plan if needed, in one call; optionally from a template."""

from __future__ import annotations

from longhouse.kernel.budget import Pop
from longhouse.kernel.errors import InvalidInput, UnknownId
from longhouse.kernel.names import nearest
from longhouse.store.tx import Tx
from longhouse.work.plans import make_plan, make_task, plan_for
from longhouse.work.room import room
from longhouse.work.steps import add_steps, steps_from
from longhouse.work.types.creating import (
    Bootstrap,
    Bootstrapped,
    ListTemplates,
    PlanMade,
    Scaffold,
    Scaffolded,
    TaskMade,
    Template,
    TemplateList,
)
from longhouse.work.types.entities import Event, NewStep, StepPlaced

__all__ = ["TEMPLATES", "bootstrap", "template_named"]


@room.command(
    "tasks.bootstrap",
    also="setup",
    writes=True,
    additive=True,
    example=Bootstrap(task_title="Index the search", template="basic-task"),
)
def bootstrap(tx: Tx, req: Bootstrap) -> Bootstrapped:
    """Create a task and its steps, and a plan if needed, in one call."""
    if req.steps and req.template:
        raise InvalidInput("steps: expected steps or template, not both; fix: drop template")
    if req.plan and req.parent:
        raise InvalidInput("parent: expected plan or parent, not both; fix: drop parent")
    template = template_named(req.template, "task") if req.template else None
    checklist = template_named(req.plan_template, "plan").plan_steps if req.plan_template else []
    plan, events = plan_for(tx, req.plan or req.parent, title=req.plan_title, checklist=checklist)
    if checklist and not events:
        tx.warn(
            "PLAN_TEMPLATE_IGNORED",
            f"{plan['plan_id']} already exists and was not changed",
            "set its checklist with tasks.plan steps=[…]",
        )
    row, event = make_task(
        tx,
        plan["plan_id"],
        req.task_title,
        req.description,
        assignee=req.assignee,
        reasoning_mode=req.reasoning_mode or (template.reasoning_mode if template else "normal"),
    )
    placed: list[StepPlaced] = []
    added: list[Event] = []
    steps = steps_from(req.steps) if req.steps else template.steps if template else []
    if steps:
        placed, steps_added = add_steps(tx, row["task_id"], steps)
        added = [steps_added]
    return Bootstrapped(
        plan=PlanMade(
            id=plan["plan_id"],
            qualified_id=f"{tx.workspace}:{plan['plan_id']}",
            created=bool(events),
        ),
        task=TaskMade(
            id=row["task_id"],
            qualified_id=f"{tx.workspace}:{row['task_id']}",
            revision=row["revision"],
        ),
        steps=placed,
        events=[*events, event, *added],
    )


@room.command(
    "tasks.scaffold",
    writes=True,
    additive=True,
    example=Scaffold(template="basic-task", title="Index the search"),
)
def scaffold(tx: Tx, req: Scaffold) -> Scaffolded:
    """Create a plan or task from a template."""
    template = template_named(req.template, req.kind)
    if req.kind == "plan":
        if req.parent or req.plan_title:
            name = "parent" if req.parent else "plan_title"
            raise InvalidInput(f"{name}: a plan does not take this; fix: kind=task")
        row, event = make_plan(tx, req.title, req.description, checklist=template.plan_steps)
        return Scaffolded(
            template=template.id,
            plan=row["plan_id"],
            checklist=template.plan_steps,
            events=[event],
        )
    made = bootstrap(
        tx,
        Bootstrap(
            task_title=req.title,
            parent=req.parent,
            plan_title=req.plan_title,
            description=req.description,
            template=req.template,
        ),
    )
    return Scaffolded(
        template=template.id,
        plan=made.plan.id,
        task=made.task.id,
        steps=made.steps,
        events=made.events,
    )


def _step(title: str, criterion: str, tests: str, **more: object) -> NewStep:
    return NewStep(title=title, success_criteria=[criterion], tests=[tests], **more)  # type: ignore[arg-type]


TEMPLATES = {
    t.id: t
    for t in (
        Template(
            id="basic-task",
            kind="task",
            title="Basic task",
            description="Clarify, implement, verify.",
            steps=[
                _step("Clarify", "The definition of done is written down", "Someone else reads it"),
                _step("Implement", "The change is made", "It runs on a real case"),
                _step("Verify", "It is proven to work", "The tests pass"),
            ],
        ),
        Template(
            id="principal-task",
            kind="task",
            title="Principal task",
            reasoning_mode="strict",
            description="Frame, design, implement, verify with proof, roll out.",
            steps=[
                _step("Frame", "Goal, limits and risks are written down", "A frame is recorded"),
                _step("Design", "Options were compared and one was chosen", "A decision exists"),
                _step("Implement", "The change is made", "It runs on a real case"),
                _step(
                    "Verify", "It is proven to work", "The tests pass", proof={"tests": "require"}
                ),
                _step("Roll out", "It is deployed where it is used", "It was seen working there"),
            ],
        ),
        Template(
            id="basic-plan",
            kind="plan",
            title="Basic plan",
            description="Three items.",
            plan_steps=["Agree on the goal", "Do the work", "Show that it works"],
        ),
        Template(
            id="principal-plan",
            kind="plan",
            title="Principal plan",
            description="Nine items.",
            plan_steps=[
                "State the goal and why it matters",
                "Name the limits and what is out of scope",
                "List the risks",
                "Compare the options",
                "Decide, and write down why",
                "Split into tasks",
                "Build in small steps",
                "Prove each step",
                "Hand over and review",
            ],
        ),
    )
}


def template_named(name: str, kind: str) -> Template:
    found = TEMPLATES.get(name)
    if found is not None and found.kind == kind:
        return found
    names = [t.id for t in TEMPLATES.values() if t.kind == kind]
    near = nearest(name, names)
    raise UnknownId(
        f"template: there is no {kind} template {name!r}",
        recovery=f"use {near!r}" if near else f"use one of {', '.join(names)}",
    )


@room.command(
    "tasks.templates.list",
    also="templates tasks.template.list",
    example=ListTemplates(),
    trim=[Pop("templates", leave=1)],
    needs_workspace=False,
)
def list_templates(tx: Tx, req: ListTemplates) -> TemplateList:
    """List the built-in templates for plans and tasks."""
    return TemplateList(templates=list(TEMPLATES.values()), count=len(TEMPLATES))
