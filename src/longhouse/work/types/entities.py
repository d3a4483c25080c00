"""Plans, tasks, steps and events as callers see them, and how requests name them."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal

import msgspec
from msgspec import Meta

from longhouse.kernel.names import also
from longhouse.kernel.values import ANY_TEXT, Request, Result, ResultT, Title, Value
from longhouse.memory.types.documents import Target as TargetArg
from longhouse.store.engine import Row
from longhouse.work.states import Checkpoint, Priority, ProofMode, ReasoningMode, Status

__all__ = [
    "AgentId",
    "Entity",
    "EntityMoved",
    "Event",
    "Line",
    "Lines",
    "NewStep",
    "NewSteps",
    "Paragraph",
    "Plan",
    "PlanId",
    "Revision",
    "Step",
    "StepDetail",
    "StepId",
    "StepMoved",
    "StepPath",
    "StepPlaced",
    "StepTarget",
    "Tags",
    "Target",
    "Task",
    "TaskId",
]

PlanId = Annotated[
    str,
    Meta(pattern=r"\APLAN-[0-9]{3,15}\Z", title="an id like PLAN-001", examples=["PLAN-001"]),
]
TaskId = Annotated[
    str,
    Meta(pattern=r"\ATASK-[0-9]{3,15}\Z", title="an id like TASK-001", examples=["TASK-001"]),
]
StepId = Annotated[
    str,
    Meta(
        pattern=r"\ASTEP-[0-9A-F]{8,15}\Z",
        title="an id like STEP-00000001",
        examples=["STEP-00000001"],
    ),
]
StepPath = Annotated[
    str,
    Meta(
        pattern=r"\As:[0-9]{1,6}(\.s:[0-9]{1,6})*\Z",
        max_length=1024,
        title="a path like s:0 or s:0.s:1",
        examples=["s:0"],
    ),
]
Line = Annotated[str, Meta(min_length=1, max_length=500, pattern=ANY_TEXT)]
Lines = Annotated[list[Line], Meta(max_length=50)]
Paragraph = Annotated[str, Meta(max_length=20_000)]
Tags = Annotated[list[Annotated[str, Meta(min_length=1, max_length=128)]], Meta(max_length=50)]
Revision = Annotated[int, Meta(ge=0, le=2**53, description="refuse if the revision differs")]
AgentId = Annotated[str, Meta(min_length=1, max_length=64, pattern=r"\A[A-Za-z0-9][\w.-]*\Z")]


class Target(Request[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """The task or plan a command applies to; defaults to the focus."""

    task: (
        Annotated[
            TaskId,
            also(
                "task_id",
                "id",
                "ref",
                "issue",
                "issue_id",
                "issue_key",
                "ticket",
                "number",
                "issue_number",
            ),
        ]
        | None
    ) = None
    plan: Annotated[PlanId, also("plan_id")] | None = None
    target: TargetArg | None = None


class StepTarget(Target[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """A step of a task, by id or path; defaults to the first open step."""

    step_id: StepId | None = None
    path: Annotated[StepPath, also("step", "step_path")] | None = None
    expected_revision: Annotated[Revision, also("revision", "rev", "version")] | None = None


class Plan(Value, frozen=True, kw_only=True, tag_field="kind", tag="plan"):
    """A plan: tasks that share a goal, with a checklist."""

    id: str
    qualified_id: str
    title: str
    description: str | None = None
    context: str | None = None
    contract: str | None = None
    contract_data: dict[str, Any] | None = None
    checklist: list[str] = []
    current: int = 0
    doc: str | None = None
    status: Status
    priority: Priority
    tags: list[str] = []
    revision: int
    created_at_ms: int
    updated_at_ms: int

    @classmethod
    def from_row(cls, row: Row, workspace: str) -> Plan:
        data = row["contract_data"]
        return cls(
            id=row["plan_id"],
            qualified_id=f"{workspace}:{row['plan_id']}",
            title=row["title"],
            description=row["description"],
            context=row["context"],
            contract=row["contract"],
            contract_data=msgspec.json.decode(data) if data else None,
            checklist=msgspec.json.decode(row["checklist"]),
            current=row["checklist_at"],
            doc=row["checklist_doc"],
            status=row["status"],
            priority=row["priority"],
            tags=msgspec.json.decode(row["tags"]),
            revision=row["revision"],
            created_at_ms=row["created_at_ms"],
            updated_at_ms=row["updated_at_ms"],
        )


class Task(Value, frozen=True, kw_only=True, tag_field="kind", tag="task"):
    """A task: a tree of steps."""

    id: str
    qualified_id: str
    plan_id: str
    title: str
    description: str | None = None
    context: str | None = None
    domain: str | None = None
    status: Status
    priority: Priority
    assignee: str | None = None
    reasoning_mode: ReasoningMode
    tags: list[str] = []
    parked_until_ts_ms: int | None = None
    steps_total: int
    steps_open: int
    waits_for: int = 0
    revision: int
    created_at_ms: int
    updated_at_ms: int

    @classmethod
    def from_row(cls, row: Row, workspace: str) -> Task:
        return cls(
            id=row["task_id"],
            qualified_id=f"{workspace}:{row['task_id']}",
            plan_id=row["plan_id"],
            title=row["title"],
            description=row["description"],
            context=row["context"],
            domain=row["domain"],
            status=row["status"],
            priority=row["priority"],
            assignee=row["assignee"],
            reasoning_mode=row["reasoning_mode"],
            tags=msgspec.json.decode(row["tags"]),
            parked_until_ts_ms=row["parked_until_ts_ms"],
            steps_total=row["steps_total"],
            steps_open=row["steps_open"],
            waits_for=row["waits_for"],
            revision=row["revision"],
            created_at_ms=row["created_at_ms"],
            updated_at_ms=row["updated_at_ms"],
        )


Entity = Task | Plan


class StepDetail(Value, frozen=True, kw_only=True):
    """The details of a step: how to tell that it is done, and what blocks it."""

    success_criteria: list[str] = []
    tests: list[str] = []
    blockers: list[str] = []
    next_action: str | None = None
    stop_criteria: str | None = None


class Step(Value, frozen=True, kw_only=True):
    """One step of a task."""

    step_id: str
    task_id: str
    parent_id: str | None = None
    ordinal: int
    title: str
    detail: StepDetail
    confirmed: list[Checkpoint]
    proof_modes: dict[Checkpoint, ProofMode]
    completed: bool
    blocked: bool
    block_reason: str | None = None
    created_at_ms: int
    updated_at_ms: int
    completed_at_ms: int | None = None

    @classmethod
    def from_row(cls, row: Row) -> Step:
        return cls(
            step_id=row["step_id"],
            task_id=row["task_id"],
            parent_id=row["parent_id"],
            ordinal=row["ordinal"],
            title=row["title"],
            detail=msgspec.json.decode(row["detail"], type=StepDetail),
            confirmed=msgspec.json.decode(row["confirmed"]),
            proof_modes=msgspec.json.decode(row["proof_modes"]),
            completed=bool(row["completed"]),
            blocked=bool(row["blocked"]),
            block_reason=row["block_reason"],
            created_at_ms=row["created_at_ms"],
            updated_at_ms=row["updated_at_ms"],
            completed_at_ms=row["completed_at_ms"],
        )

    @property
    def hindrances(self) -> list[str]:
        """Everything that blocks the step, as text."""
        said = self.block_reason or ("blocked" if self.blocked else None)
        return [*self.detail.blockers, *([said] if said else [])]


class NewStep(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A step to add, with its substeps."""

    title: Annotated[Title, also("name", "step", "text", "description")]
    success_criteria: Annotated[Lines, also("criteria", "acceptance", "done_when")]
    tests: Annotated[Lines, also("test", "checks")] = []
    blockers: Lines = []
    next_action: Annotated[Line, also("next", "action", "do")] | None = None
    stop_criteria: Line | None = None
    proof: dict[Checkpoint, ProofMode] = {}
    steps: Annotated[list[NewStep], Meta(max_length=100)] = []


NewSteps = Annotated[
    Annotated[str, Meta(min_length=1, max_length=20_000)]
    | Annotated[list[NewStep | Title], Meta(max_length=100)],
    Meta(
        description="objects, titles, or a text with one step per line",
        examples=[["Measure the slow query", "Add the index"]],
    ),
]


class StepPlaced(Value, frozen=True, kw_only=True):
    """A step's id and its path in the task."""

    step_id: str
    path: str


def event_id(seq: int) -> str:
    """The id of the event with that seq."""
    return f"evt_{seq:016d}"


class Event(Value, frozen=True, kw_only=True):
    """An event in the life of a plan, task or step."""

    event_id: str
    seq: int
    ts: str
    ts_ms: int
    task: str
    path: str | None = None
    type: str
    actor: str | None = None
    payload: dict[str, Any] = {}
    ref: str


class StepMoved(Result, frozen=True, kw_only=True):
    """The task's new revision, the updated step, and the events that record the change."""

    task: str
    revision: int
    step: Step
    path: str
    event: Event
    events: list[Event] = []


class Hanging(Value, frozen=True, kw_only=True):
    """A job, process, lease or reservation of a task that was deleted or canceled."""

    kind: Literal["job", "process", "lease", "reservation"]
    ref: str
    what: str
    outcome: Literal["ended", "kept"] | None = None


class EntityMoved(Result, frozen=True, kw_only=True):
    """The updated plan or task, and the event that records the change (null if none)."""

    id: str
    kind: Literal["plan", "task"]
    revision: int
    event: Event | None
    task: Task | None = None
    plan: Plan | None = None
    hanging: list[Hanging] = []
