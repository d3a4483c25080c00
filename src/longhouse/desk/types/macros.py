"""Requests and results of the views and macros that span rooms."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from longhouse.desk.types.lenses import ByAgentAbout, ResumeChars, View
from longhouse.desk.types.status import Happenings, Held, JobLine
from longhouse.jobs import ExecutorOrAuto, Job, Policy
from longhouse.jobs.types.jobs import AnchorId, JobKind, Paths, Priority
from longhouse.jobs.types.presence import Runners
from longhouse.kernel.delegation import Artifact, Profile
from longhouse.kernel.names import also
from longhouse.kernel.values import Request, Result, Seq, Title, Value
from longhouse.memory.types.documents import ReasoningRef
from longhouse.work import ReasoningMode
from longhouse.work.types.creating import ParentRef
from longhouse.work.types.entities import Entity, NewSteps, Paragraph, StepPlaced, Target
from longhouse.work.types.views import Handoff, Horizon, StepFocus, TaskRadar

__all__ = [
    "Cockpit",
    "Delegate",
    "Delegated",
    "Diagnose",
    "Diagnosis",
    "GetSnapshot",
    "Snapshot",
]


class Delegate(Request["Delegated"], frozen=True, kw_only=True):
    """Create a task with verification steps, its cockpit note, and a job that requires proof."""

    task_title: Annotated[Title, also("title", "name", "task", "goal")]
    description: Annotated[Paragraph, also("prompt", "text", "body", "instructions")] | None = None
    plan: ParentRef | None = None
    parent: ParentRef | None = None
    plan_title: Title | None = None
    steps: Annotated[NewSteps, also("todo", "checklist", "subtasks")] = []
    reasoning_mode: ReasoningMode = "strict"
    anchor: AnchorId | None = None
    cockpit: Paragraph | None = None
    job: bool = True
    job_kind: JobKind = "codex_cli"
    job_priority: Priority = "MEDIUM"
    executor: ExecutorOrAuto = "auto"
    executor_profile: Profile = "fast"
    policy: Policy | None = None
    expected_artifacts: Annotated[list[Artifact], Meta(max_length=5)] = []
    paths: Annotated[Paths, also("files", "scope", "scopes", "reserve")] = []
    view: View = "smart"
    resume_max_chars: ResumeChars = 2_000


class Cockpit(Value, frozen=True, kw_only=True):
    anchor_id: str
    ref: str


class Delegated(Result, frozen=True, kw_only=True):
    task_id: str
    task_qualified_id: str
    plan_id: str
    steps: list[StepPlaced]
    cockpit: Cockpit
    job: Job | None = None
    job_ref: str | None = None
    next: str
    resume: dict[str, Any]


class Diagnose(Target["Diagnosis"], frozen=True, kw_only=True):
    """Check the workspace and a plan or task for problems, with fixes."""


class Diagnosis(Result, frozen=True, kw_only=True):
    workspace: str
    checkout: str | None
    focus: str | None
    target: str | None
    summary: str
    issues: list[dict[str, Any]]
    context_health: dict[str, Any]
    reasoning_ref: ReasoningRef | None = None
    golden_path: list[str]


class GetSnapshot(ByAgentAbout["Snapshot"], frozen=True, kw_only=True):
    """Show the state of the work in focus."""

    delta: Annotated[
        bool, Meta(description="also what others did since you last asked; marks it as seen")
    ] = False
    since: Annotated[Seq, Meta(description="with delta: after this seq instead")] | None = None
    read_only: Annotated[bool, Meta(description="do not mark the delta as seen")] = False


class Snapshot(Result, frozen=True, kw_only=True):
    requested: str | None
    focus: str | None
    ref: str
    next: str
    target: Entity
    reasoning_ref: ReasoningRef
    radar: TaskRadar
    step_focus: StepFocus | None = None
    job: JobLine | None = None
    runner: Runners | None = None
    held: list[Held] = []
    inbox: dict[str, Any] | None = None
    horizon: Horizon | None = None
    handoff: Handoff
    delta: Happenings | None = None
