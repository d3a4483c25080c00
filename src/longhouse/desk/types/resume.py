"""Request and result of `tasks.resume.super`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.crew.types.entities import Message, Reservation
from longhouse.desk.types.lenses import ByAgentAbout, View
from longhouse.jobs import JobUsage
from longhouse.jobs.types.radar import RadarRow
from longhouse.kernel.values import Result, Value
from longhouse.memory.types.documents import Entry, ReasoningRef
from longhouse.memory.types.graph import Change
from longhouse.thinking.types.cards import Card
from longhouse.thinking.types.engine import Engine
from longhouse.thinking.types.reads import LaneSummary
from longhouse.work.types.entities import Entity, Event
from longhouse.work.types.views import Handoff, Horizon, ShownReceipt, StepFocus, StepRow, TaskRadar

__all__ = [
    "CardsApart",
    "Fact",
    "HandoffCapsule",
    "PlanAbove",
    "Records",
    "ResumeSuper",
    "ResumedSuper",
    "WaitsFor",
]

Few = Annotated[int, Meta(ge=0, le=50)]
Many = Annotated[int, Meta(ge=0, le=200)]


class ResumeSuper(ByAgentAbout["ResumedSuper"], frozen=True, kw_only=True):
    """Get everything needed to continue a plan or task; omitted limits follow the view."""

    view: View | None = None
    context_budget: Annotated[int, Meta(ge=0, description="alias of max_chars")] | None = None
    include_drafts: bool = False
    events_limit: Many | None = None
    decisions_limit: Few | None = None
    evidence_limit: Few | None = None
    blockers_limit: Few | None = None
    notes_limit: Many | None = None
    trace_limit: Many | None = None
    cards_limit: Annotated[int, Meta(ge=1, le=200)] | None = None
    engine_signals_limit: Few | None = None
    engine_actions_limit: Few | None = None
    graph_diff: Annotated[
        bool, Meta(description="include cards that differ on branches with unmerged notes")
    ] = False
    read_only: bool = True


class Fact(Value, frozen=True, kw_only=True):
    """One thing to know, on one line; `ref` opens its source."""

    about: str
    text: str
    ref: str | None = None


class HandoffCapsule(Value, frozen=True, kw_only=True):
    """The part that fits the smallest budget: your position and the next call."""

    type: Literal["handoff_capsule"]
    version: int
    view: View
    workspace: str
    focus: str | None
    target: dict[str, str]
    step: dict[str, str] | None = None
    action: dict[str, Any] | None = None


class PlanAbove(Value, frozen=True, kw_only=True):
    """The plan that a task belongs to, and its purpose."""

    id: str
    title: str
    status: str
    why: str | None = None


class WaitsFor(Value, frozen=True, kw_only=True):
    """An open task that must be closed first."""

    id: str
    title: str
    status: str
    assignee: str | None = None


class UnmergedBranch(Value, frozen=True, kw_only=True):
    """A branch with notes that its base lacks; `newest` is what the last one says."""

    name: str
    base: str
    ref: str
    notes: int
    newest: str | None = None


class CardsApart(Value, frozen=True, kw_only=True, rename={"from_": "from"}):
    """Cards and edges that differ between `from` and `to`, newest first."""

    from_: str
    to: str
    changes: list[Change]
    has_more: bool


class Records(Value, frozen=True, kw_only=True):
    """The records behind the facts."""

    plan: PlanAbove | None = None
    waits_for: list[WaitsFor] = []
    radar: TaskRadar
    handoff: Handoff
    jobs: list[RadarRow] = []
    usage: JobUsage | None = None
    held: list[Reservation] = []
    processes: list[dict[str, Any]] = []
    mail: list[Message] = []
    decisions: list[Card] = []
    evidence: list[ShownReceipt] = []
    branches: list[UnmergedBranch] = []
    steps: list[StepRow] = []
    horizon: Horizon | None = None
    cards: list[Card] = []
    notes: list[Entry] = []
    trace: list[Entry] = []
    timeline: list[Event] = []
    graph_diff: list[CardsApart] = []


class ResumedSuper(Result, frozen=True, kw_only=True):
    """`facts` come in order of importance; `records` holds their sources.

    `chosen` says why this plan or task, if an agent did not name one.
    """

    ref: str
    next: str
    chosen: str | None = None
    capsule: HandoffCapsule
    facts: list[Fact]
    target: Entity
    reasoning_ref: ReasoningRef
    step_focus: StepFocus | None = None
    engine: Engine | None = None
    lane_summary: LaneSummary | None = None
    records: Records
    degradation: dict[str, Any]
