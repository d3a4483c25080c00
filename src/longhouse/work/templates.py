"""Built-in templates: plans as checklists, tasks as steps with criteria and proof."""

from __future__ import annotations

from longhouse.kernel.budget import Pop
from longhouse.kernel.errors import UnknownId
from longhouse.kernel.registry import nearest
from longhouse.store.tx import Tx
from longhouse.work.room import room
from longhouse.work.types.creating import ListTemplates, Template, TemplateList
from longhouse.work.types.entities import NewStep

__all__ = [
    "TEMPLATES",
    "template_named",
]


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
                _step("Clarify", "It is written down what done means", "Someone else reads it"),
                _step("Implement", "The change is made", "It runs on a real case"),
                _step("Verify", "It is shown to work", "The tests pass"),
            ],
        ),
        Template(
            id="principal-task",
            kind="task",
            title="Principal task",
            reasoning_mode="strict",
            description="Frame, design, implement, verify with proof, roll out.",
            steps=[
                _step("Frame", "Aim, limits and risks are written down", "A frame is recorded"),
                _step("Design", "Options were compared and one was chosen", "A decision exists"),
                _step("Implement", "The change is made", "It runs on a real case"),
                _step(
                    "Verify", "It is shown to work", "The tests pass", proof={"tests": "require"}
                ),
                _step("Roll out", "It is where it is used", "It was seen working there"),
            ],
        ),
        Template(
            id="basic-plan",
            kind="plan",
            title="Basic plan",
            description="Three items.",
            plan_steps=["Agree on the aim", "Do the work", "Show that it works"],
        ),
        Template(
            id="principal-plan",
            kind="plan",
            title="Principal plan",
            description="Nine items.",
            plan_steps=[
                "State the aim and why it matters",
                "Name the limits and what is out of scope",
                "List the risks",
                "Compare the options",
                "Decide, and write down why",
                "Split into tasks",
                "Build in small steps",
                "Prove each step",
                "Hand over and look back",
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
    example=ListTemplates(),
    trim=[Pop("templates", leave=1)],
    needs_workspace=False,
)
def list_templates(tx: Tx, req: ListTemplates) -> TemplateList:
    """The built-in templates for plans and tasks."""
    return TemplateList(templates=list(TEMPLATES.values()), count=len(TEMPLATES))
