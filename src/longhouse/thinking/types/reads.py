"""Requests and results of reads: slices of cards, packs, and capsules that fit any budget."""

from __future__ import annotations

from typing import Annotated, Any, Generic, Literal

from msgspec import Meta

from longhouse.kernel.values import Limit, Result, ResultT, Seq, Value
from longhouse.memory.types.documents import DocName, Entry, Pagination, Sequential
from longhouse.thinking.types.cards import Card, CardIds, StatusWord
from longhouse.thinking.types.engine import Engine
from longhouse.thinking.types.scopes import Stepped, StepPlace
from longhouse.thinking.vocabulary import View

__all__ = [
    "Bridge",
    "CapsuleAction",
    "CapsuleNext",
    "CapsuleWhere",
    "CardPage",
    "ContextSlice",
    "Counted",
    "ExportContextPack",
    "Exported",
    "Frontier",
    "FrontierShown",
    "LaneSummary",
    "Lens",
    "NextShown",
    "PackSignals",
    "PackedContext",
    "PackedDoc",
    "PackedTrace",
    "PlaceDocs",
    "QueryCards",
    "ShowContext",
    "ShowContextPack",
    "ShowFrontier",
    "ShowNext",
    "ShowPack",
    "ShowWatch",
    "ThinkCapsule",
    "ThinkPack",
    "Watch",
    "WatchTrace",
    "Why",
]

Few = Annotated[int, Meta(ge=0, le=50)]
Many = Annotated[int, Meta(ge=0, le=200)]
Cards = Annotated[int, Meta(ge=1, le=200)]
Words = Annotated[list[str], Meta(max_length=200)]


class Drafts(Stepped[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """Whether to show drafts; the two fields mean the same."""

    all_lanes: bool = False
    include_drafts: bool = False


class Lens(Drafts[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """Which cards to show: `smart` with a context budget, else `explore`; `audit` adds drafts."""

    view: View | None = None
    context_budget: Annotated[int, Meta(ge=0, description="alias of max_chars")] | None = None


class Counted(Value, frozen=True, kw_only=True):
    """The number of cards in a slice, in total and by type."""

    cards: int
    by_type: dict[str, int]


class ShowContext(Lens["ContextSlice"], frozen=True, kw_only=True):
    """Show the cards that matter now."""

    limit_cards: Cards = 30


class ContextSlice(Result, frozen=True, kw_only=True):
    branch: str
    graph_doc: str
    step_focus: StepPlace | None = None
    view: View
    stats: Counted
    cards: list[Card]


class QueryCards(Drafts["CardPage"], frozen=True, kw_only=True):
    """Find cards that match all filters."""

    ids: CardIds | None = None
    types: Words | None = None
    status: StatusWord | Words | None = None
    tags_any: Words | None = None
    tags_all: Words | None = None
    text: Annotated[str, Meta(max_length=400)] | None = None
    cursor: Seq | None = None
    limit: Limit = 50


class CardPage(Result, frozen=True, kw_only=True):
    branch: str
    graph_doc: str
    step_focus: StepPlace | None = None
    cards: list[Card]
    pagination: Pagination


class Frontier(Value, frozen=True, kw_only=True):
    """The open cards, by type."""

    hypotheses: list[Card]
    questions: list[Card]
    subgoals: list[Card]
    tests: list[Card]


class FrontierLens(Lens[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    limit_hypotheses: Few = 5
    limit_questions: Few = 5
    limit_subgoals: Few = 5
    limit_tests: Few = 5


class ShowFrontier(FrontierLens["FrontierShown"], frozen=True, kw_only=True):
    """List the open cards."""


class FrontierShown(Result, frozen=True, kw_only=True):
    branch: str
    graph_doc: str
    step_focus: StepPlace | None = None
    frontier: Frontier
    next: str | None


class ShowNext(FrontierLens["NextShown"], frozen=True, kw_only=True):
    """Show the card to work on next."""


class NextShown(Result, frozen=True, kw_only=True):
    branch: str
    graph_doc: str
    step_focus: StepPlace | None = None
    candidate: Card | None
    backup: Card | None = None
    why: str


class PlaceDocs(Value, frozen=True, kw_only=True):
    notes: str
    trace: str
    graph: str


class CapsuleWhere(Value, frozen=True, kw_only=True):
    workspace: str
    branch: str
    docs: PlaceDocs
    lane: str
    target: str | None = None
    step_focus: StepPlace | None = None


class Why(Value, frozen=True, kw_only=True):
    code: str
    severity: str
    message: str


class CapsuleAction(Value, frozen=True, kw_only=True):
    """One thing to do; `call` runs as is."""

    kind: str
    title: str
    call: dict[str, Any]


class CapsuleNext(Value, frozen=True, kw_only=True):
    primary: CapsuleAction
    backup: CapsuleAction | None = None


class ThinkCapsule(Value, frozen=True, kw_only=True):
    """The part of a pack that fits the smallest budget: position, one ref, one next call."""

    type: Literal["watch_capsule", "think_pack_capsule", "context_pack_capsule"]
    version: int
    where: CapsuleWhere
    ref: str
    why: list[Why]
    next: CapsuleNext


class LaneCounts(Value, frozen=True, kw_only=True):
    lane: str
    cards: int
    pinned: int
    open: int
    top_pinned: str | None = None
    top_open: str | None = None


class LaneSummary(Value, frozen=True, kw_only=True):
    """Cards by lane; older stores gave each agent its own lane."""

    lanes: list[LaneCounts]
    drafts: int


class ShowPack(FrontierLens["ThinkPack"], frozen=True, kw_only=True):
    """Show the cards that matter, the open ones, and what to do about them."""

    limit_candidates: Cards = 30
    engine_signals_limit: Few = 6
    engine_actions_limit: Few = 2


class ThinkPack(Result, frozen=True, kw_only=True):
    branch: str
    graph_doc: str
    trace_doc: str
    step_focus: StepPlace | None = None
    view: View
    capsule: ThinkCapsule
    stats: Counted
    candidates: list[Card]
    frontier: Frontier
    engine: Engine | None = None
    lane_summary: LaneSummary | None = None


class ShowWatch(FrontierLens["Watch"], frozen=True, kw_only=True):
    """Show the open cards and the newest trace entries."""

    trace_doc: DocName | None = None
    limit_candidates: Cards = 30
    trace_limit_steps: Many = 12
    trace_statement_max_bytes: Annotated[int, Meta(ge=16, le=100_000)] | None = None
    engine_signals_limit: Few = 6
    engine_actions_limit: Few = 2


class WatchTrace(Value, frozen=True, kw_only=True):
    entries: list[Entry]
    sequential: Sequential | None = None
    pagination: Pagination


class Watch(Result, frozen=True, kw_only=True):
    branch: str
    graph_doc: str
    trace_doc: str
    step_focus: StepPlace | None = None
    view: View
    capsule: ThinkCapsule
    candidates: list[Card]
    frontier: Frontier
    trace: WatchTrace
    engine: Engine | None = None
    lane_summary: LaneSummary | None = None


class PackLens(Lens[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    notes_doc: DocName | None = None
    trace_doc: DocName | None = None
    notes_limit: Many = 20
    trace_limit: Many = 50
    limit_cards: Cards = 30
    decisions_limit: Few = 5
    evidence_limit: Few = 5
    blockers_limit: Few = 5
    engine_signals_limit: Few = 6
    engine_actions_limit: Few = 2
    read_only: bool = False


class ShowContextPack(PackLens["PackedContext"], frozen=True, kw_only=True):
    """Get notes, trace and cards in one answer."""


class PackedDoc(Value, frozen=True, kw_only=True):
    entries: list[Entry]
    pagination: Pagination


class PackedTrace(Value, frozen=True, kw_only=True):
    entries: list[Entry]
    sequential: Sequential | None = None
    pagination: Pagination


class PackSignals(Value, frozen=True, kw_only=True):
    """Cards that block something, decisions and evidence."""

    blockers: list[Card]
    decisions: list[Card]
    evidence: list[Card]
    stats: dict[str, int]


class Bridge(Value, frozen=True, kw_only=True):
    """What the checkout has, given when the target has nothing yet."""

    checkout: str
    docs: PlaceDocs
    has: dict[str, bool]


class PackedContext(Result, frozen=True, kw_only=True):
    requested: dict[str, str | None]
    branch: str
    docs: PlaceDocs
    step_focus: StepPlace | None = None
    view: View
    capsule: ThinkCapsule
    engine: Engine | None = None
    lane_summary: LaneSummary | None = None
    notes: PackedDoc
    trace: PackedTrace
    cards: list[Card]
    signals: PackSignals
    stats: Counted
    bridge: Bridge | None = None


class ExportContextPack(PackLens["Exported"], frozen=True, kw_only=True):
    """Write a pack to a file in the project."""

    out_file: Annotated[
        str,
        Meta(
            min_length=1,
            max_length=400,
            description="a path inside the project",
            examples=[".agents/mcp/context/.context/longhouse/context_pack.json"],
        ),
    ]
    max_chars: Annotated[int, Meta(ge=0)] = 20_000


class Exported(Result, frozen=True, kw_only=True):
    out_file: str
    bytes: int
    truncated: bool
