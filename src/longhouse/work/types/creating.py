"""Requests and results of commands that create plans, tasks and steps."""

from __future__ import annotations

from typing import Annotated, Generic, Literal

from msgspec import Meta

from longhouse.kernel.names import also
from longhouse.kernel.values import Json, Request, Result, ResultT, Title, Value
from longhouse.work.states import Priority, ReasoningMode
from longhouse.work.types.entities import (
    AgentId,
    Event,
    NewStep,
    NewSteps,
    Paragraph,
    Revision,
    StepPath,
    StepPlaced,
    Target,
)

__all__ = [
    "Bootstrap",
    "Bootstrapped",
    "CreatePlan",
    "Decompose",
    "Decomposed",
    "ListTemplates",
    "NewWork",
    "ParentRef",
    "PlanCreated",
    "PlanMade",
    "Scaffold",
    "Scaffolded",
    "TaskMade",
    "Template",
    "TemplateList",
    "TemplateName",
]

ParentRef = Annotated[str, Meta(min_length=1, max_length=200, description="a plan's id or title")]
_TEXT = also("body", "text", "details", "content", "prompt")
TemplateName = Annotated[str, Meta(min_length=1, max_length=64)]


class CreatePlan(Request["PlanCreated"], frozen=True, kw_only=True):
    """Create a plan, or a task in a plan."""

    title: Annotated[Title, also("name", "task_title", "plan_title", "subject", "summary")]
    kind: Literal["plan", "task"] | None = None
    parent: Annotated[ParentRef, also("plan", "plan_id", "parent_id", "under")] | None = None
    description: Annotated[Paragraph, _TEXT] | None = None
    contract: Paragraph | None = None
    contract_data: Json | None = None
    steps: Annotated[NewSteps, also("todo", "checklist", "subtasks", "plan_steps")] = []
    priority: Priority = "MEDIUM"
    assignee: Annotated[AgentId, also("owner", "agent", "assigned_to")] | None = None


class PlanCreated(Result, frozen=True, kw_only=True):
    id: str
    qualified_id: str
    kind: Literal["plan", "task"]
    plan: str
    revision: int
    steps: list[StepPlaced] = []
    event: Event
    events: list[Event] = []


class NewWork(Request[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """A task to create, with its plan and steps."""

    task_title: Annotated[Title, also("title", "name", "task", "goal", "subject")]
    plan: ParentRef | None = None
    parent: ParentRef | None = None
    plan_title: Title | None = None
    plan_template: TemplateName | None = None
    description: Annotated[Paragraph, _TEXT] | None = None
    template: TemplateName | None = None
    steps: Annotated[NewSteps, also("todo", "checklist", "subtasks", "plan_steps")] = []
    reasoning_mode: ReasoningMode | None = None
    assignee: Annotated[AgentId, also("owner", "agent", "assigned_to")] | None = None


class Bootstrap(NewWork["Bootstrapped"], frozen=True, kw_only=True):
    """Create a task and its steps, and a plan if needed, in one call."""


class PlanMade(Value, frozen=True, kw_only=True):
    id: str
    qualified_id: str
    created: bool


class TaskMade(Value, frozen=True, kw_only=True):
    id: str
    qualified_id: str
    revision: int


class Bootstrapped(Result, frozen=True, kw_only=True):
    plan: PlanMade
    task: TaskMade
    steps: list[StepPlaced]
    events: list[Event]


class Scaffold(Request["Scaffolded"], frozen=True, kw_only=True):
    """Create a plan or task from a template."""

    template: TemplateName
    title: Annotated[Title, also("name", "task_title")]
    kind: Literal["plan", "task"] = "task"
    description: Annotated[Paragraph, _TEXT] | None = None
    parent: ParentRef | None = None
    plan_title: Title | None = None


class Scaffolded(Result, frozen=True, kw_only=True):
    template: str
    plan: str
    task: str | None = None
    checklist: list[str] = []
    steps: list[StepPlaced] = []
    events: list[Event]


class Decompose(Target["Decomposed"], frozen=True, kw_only=True):
    """Split a task into steps."""

    steps: Annotated[
        NewSteps,
        also("step", "items", "subtasks", "todo", "todos", "into", "title", "titles", "name"),
    ]
    parent: Annotated[StepPath, also("parent_step", "under", "path")] | None = None
    expected_revision: Revision | None = None


class Decomposed(Result, frozen=True, kw_only=True):
    task: str
    revision: int
    steps: list[StepPlaced]
    event: Event


class Template(Value, frozen=True, kw_only=True):
    """A starting point: a checklist for a plan, or steps for a task."""

    id: str
    kind: str
    title: str
    description: str
    plan_steps: list[str] = []
    steps: list[NewStep] = []
    reasoning_mode: ReasoningMode = "normal"


class ListTemplates(Request, frozen=True, kw_only=True):
    """List the built-in templates."""


class TemplateList(Result, frozen=True, kw_only=True):
    templates: list[Template]
    count: int
