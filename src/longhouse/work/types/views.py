"""Requests and results of read-only commands: lists, radar, handoff, resume, history."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal

from msgspec import Meta

from longhouse.kernel.names import also
from longhouse.kernel.values import Limit, PastRequest, Request, Result, ResultT, Value
from longhouse.memory.types.documents import ReasoningRef
from longhouse.work.proof import Receipt
from longhouse.work.states import Status
from longhouse.work.types.entities import (
    AgentId,
    Entity,
    Event,
    Plan,
    PlanId,
    Step,
    Target,
    Task,
    TaskId,
)
from longhouse.work.types.leases import StepLease

__all__ = [
    "Capsule",
    "Context",
    "ContextPack",
    "ContextPacked",
    "Count",
    "Decision",
    "Delta",
    "EntityOpened",
    "EventId",
    "EventOpened",
    "GetContext",
    "GetDelta",
    "GetHandoff",
    "GetHistory",
    "GetRadar",
    "Handoff",
    "HandoffShown",
    "History",
    "Horizon",
    "ListPagination",
    "ListReady",
    "RadarShown",
    "Ready",
    "Resume",
    "ResumePack",
    "ResumePacked",
    "Resumed",
    "ShownReceipt",
    "Signals",
    "StepFocus",
    "StepOpened",
    "StepRow",
    "TaskRadar",
    "WorkView",
]

EventId = Annotated[str, Meta(pattern=r"\Aevt_[0-9]{16}\Z", examples=["evt_0000000000000001"])]
Count = Annotated[int, Meta(ge=0, le=200)]


class GetDelta(Request["Delta"], frozen=True, kw_only=True):
    """List events since a given event."""

    since: EventId | None = None
    limit: Limit = 50


class Delta(Result, frozen=True, kw_only=True):
    events: list[Event]
    count: int
    has_more: bool
    next_since: str | None


class GetHistory(Target["History"], frozen=True, kw_only=True):
    """List the events of a plan or task."""

    cursor: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    limit: Limit = 50


class History(Result, frozen=True, kw_only=True):
    id: str
    operations: list[Event]
    count: int
    has_more: bool
    next_cursor: int | None = None


class Handoff(Value, frozen=True, kw_only=True):
    """What is done, what remains, and what the risks are."""

    done: list[str]
    remaining: list[str]
    risks: list[str]


class GetContext(PastRequest["Context"], frozen=True, kw_only=True):
    """List the plans and tasks of the workspace."""

    plans_limit: Annotated[int, Meta(ge=0, le=200)] = 50
    plans_cursor: PlanId | None = None
    plans_status: Status | None = None
    tasks_limit: Annotated[int, Meta(ge=0, le=200), also("limit", "count", "n", "max", "top")] = 50
    tasks_cursor: TaskId | None = None
    tasks_parent: Annotated[PlanId, also("plan", "parent", "plan_id", "epic")] | None = None
    tasks_status: Annotated[Status, also("status", "state")] | None = None
    assignee: AgentId | None = None
    domain: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    tags: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=128)]],
        Meta(max_length=4, description="only tasks with all of these tags"),
        also("tag", "label", "labels"),
    ] = []
    include_all: Annotated[bool, Meta(description="include closed plans and tasks")] = False
    unproved: Annotated[
        bool, Meta(description="only DONE tasks without a receipt that proves anything")
    ] = False


class ListPagination(Value, frozen=True, kw_only=True):
    cursor: str | None = None
    next_cursor: str | None = None
    has_more: bool
    limit: int
    count: int


class Context(Result, frozen=True, kw_only=True):
    counts: dict[str, int]
    by_status: dict[str, dict[str, int]]
    plans: list[Plan]
    tasks: list[Task]
    plans_pagination: ListPagination
    tasks_pagination: ListPagination


class ListReady(PastRequest["Ready"], frozen=True, kw_only=True):
    """List tasks to work on now."""

    cursor: TaskId | None = None
    limit: Limit = 50
    plan: PlanId | None = None
    assignee: AgentId | None = None


class Ready(Result, frozen=True, kw_only=True):
    tasks: list[Task]
    count: int
    has_more: bool
    next_cursor: str | None = None


class TaskRadar(Value, frozen=True, kw_only=True):
    now: str
    why: str | None = None
    verify: list[str]
    next: list[str]
    blockers: list[str]


class Capsule(Result, frozen=True, kw_only=True):
    """The part that fits the smallest budget: the current state and what to do next."""

    type: Literal["handoff_capsule"]
    version: int
    view: Literal["focus_only", "audit"]
    radar: TaskRadar
    handoff: Handoff


class StepFocus(Value, frozen=True, kw_only=True):
    """The first open step, and who holds it."""

    step_id: str
    path: str
    title: str
    success_criteria: list[str] = []
    tests: list[str] = []
    blockers: list[str] = []
    next_action: str | None = None
    missing: list[str] = []
    proof_missing: list[str] = []
    lease: StepLease | None = None


class EntityOpened(Result, frozen=True, kw_only=True):
    kind: Literal["task", "plan"]
    id: str
    target: Entity
    reasoning_ref: ReasoningRef
    capsule: Capsule
    step_focus: StepFocus | None = None
    steps: list[StepRow] = []
    proofs: list[ShownReceipt] = []
    events: list[Event] = []
    degradation: dict[str, Any]


class StepOpened(Result, frozen=True, kw_only=True):
    """One step: what it still needs, its proof, and who holds it."""

    kind: Literal["step"]
    id: str
    task: str
    task_title: str
    path: str
    step: Step
    missing: list[str] = []
    proof_missing: list[str] = []
    lease: StepLease | None = None
    proofs: list[ShownReceipt] = []


class EventOpened(Result, frozen=True, kw_only=True):
    kind: Literal["task_event"]
    ref: str
    event: Event


class Horizon(Value, frozen=True, kw_only=True):
    """A plan's tasks counted by state; `stale` is counted up to a thousand."""

    active: int
    backlog: int
    parked: int
    stale: int
    done: int
    total: int
    next_wake: int | None = None
    active_limit: int
    over_active_limit: bool


class StepRow(Value, frozen=True, kw_only=True):
    """A step in an overview."""

    step_id: str
    path: str
    title: str
    completed: bool
    blocked: bool = False
    missing: list[str] = []
    proof_missing: list[str] = []


class WorkView(Target[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """A read of a plan or task; `read_only` is accepted but ignored: it never writes."""

    read_only: bool = True


class GetRadar(WorkView["RadarShown"], frozen=True, kw_only=True):
    """Show a plan or task at a glance: purpose, checks, next action, blockers."""


class RadarShown(Result, frozen=True, kw_only=True):
    requested: str | None
    focus: str | None
    target: Entity
    reasoning_ref: ReasoningRef
    radar: TaskRadar
    horizon: Horizon | None = None
    step_focus: StepFocus | None = None
    steps: list[StepRow] = []


class GetHandoff(WorkView["HandoffShown"], frozen=True, kw_only=True):
    """Summarize what the next agent needs to know to take over."""

    limit: Annotated[int, Meta(ge=1, le=50)] = 10


class HandoffShown(Result, frozen=True, kw_only=True):
    target: Entity
    reasoning_ref: ReasoningRef
    radar: TaskRadar
    handoff: Handoff


class Resume(WorkView["Resumed"], frozen=True, kw_only=True):
    """Show a plan or task with its newest events."""

    events_limit: Count = 20


class Resumed(RadarShown, frozen=True, kw_only=True):
    timeline: list[Event]


class ResumePack(WorkView["ResumePacked"], frozen=True, kw_only=True):
    """Show a plan or task with its decisions, evidence and blockers."""

    events_limit: Count = 20
    decisions_limit: Count = 5
    evidence_limit: Count = 5
    blockers_limit: Count = 5


class Decision(Value, frozen=True, kw_only=True):
    id: str
    title: str | None = None
    text: str | None = None
    status: str | None = None
    ref: str


class ShownReceipt(Value, frozen=True, kw_only=True):
    """A receipt, and the step and checkpoint it belongs to."""

    ref: str
    path: str
    checkpoint: str | None = None
    receipt: Receipt


class Signals(Value, frozen=True, kw_only=True):
    """Blockers of open steps, decisions in the reasoning graph, receipts on steps; newest first."""

    blockers: list[str]
    decisions: list[Decision]
    evidence: list[ShownReceipt]


class ResumePacked(Resumed, frozen=True, kw_only=True):
    signals: Signals


class ContextPack(WorkView["ContextPacked"], frozen=True, kw_only=True):
    """Show the radar and newest events of a plan or task."""

    delta_limit: Count = 50


class ContextPacked(Result, frozen=True, kw_only=True):
    target: Entity
    reasoning_ref: ReasoningRef
    radar: TaskRadar
    delta: list[Event]
