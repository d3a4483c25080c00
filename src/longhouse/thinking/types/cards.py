"""Requests and results of the card commands, and types that the whole room shares."""

from __future__ import annotations

from typing import Annotated, Any, Generic

from msgspec import Meta

from longhouse.kernel.names import also, made_of
from longhouse.kernel.values import Json, Request, Result, ResultT, Value
from longhouse.memory.types.documents import BranchName, DocName, Entry, Target
from longhouse.thinking.types.scopes import Scoped, Traced

__all__ = [
    "AddCard",
    "AddDecision",
    "AddEvidence",
    "AddFrame",
    "AddHypothesis",
    "AddKnowledge",
    "AddNote",
    "AddQuestion",
    "AddTest",
    "AddUpdate",
    "Branched",
    "Card",
    "CardChange",
    "CardId",
    "CardWritten",
    "CardsApplied",
    "CardsChanged",
    "CheckoutMove",
    "Citation",
    "CloseSubgoal",
    "CreateIdea",
    "IdeaCreated",
    "IdeaMerged",
    "Link",
    "Linked",
    "ListPins",
    "MergeCount",
    "MergeIdea",
    "MergeNominal",
    "MergedGroup",
    "NominalMerged",
    "OpenSubgoal",
    "Pin",
    "Pins",
    "Pipeline",
    "PipelineCard",
    "PipelineWritten",
    "Playbook",
    "PlaybookStep",
    "PlaybookTemplate",
    "Publish",
    "Published",
    "Seed",
    "Seeded",
    "SetStatus",
    "ShowPlaybook",
    "SubgoalClosed",
    "SubgoalOpened",
    "ThinkCard",
]

CardId = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=200,
        pattern=r"\A[^\s|@\x00-\x1f\x7f]+\Z",
        title="a card's id",
        examples=["CARD-12"],
    ),
]
CardIds = Annotated[list[CardId], Meta(max_length=64)]
CardInput = Annotated[
    Json | str,
    Meta(
        description="an object {id?, type?, title?, text?, status?, tags?, refs?, meta?}, the same "
        "object as JSON text or `key: value` lines, or plain text",
        examples=["type: hypothesis\ntitle: The cache is stale"],
    ),
    also(
        "text",
        "content",
        "body",
        "title",
        "note",
        "statement",
        "hypothesis",
        "question",
        "decision",
    ),
    made_of(
        id="card_id",
        type="kind card_type",
        title="name hypothesis question decision statement summary subject",
        text="content body note rationale why reason description details because",
        status="state",
        tags="labels",
        refs="evidence",
        meta="metadata",
    ),
]
StatusWord = Annotated[str, Meta(min_length=1, max_length=40)]
StageText = Annotated[str, Meta(min_length=1, max_length=200_000)]


class Card(Value, frozen=True, kw_only=True):
    """A card as reads show it."""

    id: str
    type: str
    title: str | None = None
    text: str | None = None
    status: str
    tags: list[str]
    meta: dict[str, Any] | None = None
    last_seq: int
    last_ts_ms: int

    @property
    def label(self) -> str:
        """A short name for the card, used in messages."""
        said = " ".join((self.title or self.text or self.id).split())
        return said if len(said) <= 64 else said[:63] + "…"


class CardsApplied(Value, frozen=True, kw_only=True):
    nodes_upserted: int
    edges_upserted: int


class Citation(Value, frozen=True, kw_only=True):
    """A record that cites another."""

    ref: str
    kind: str
    title: str | None = None
    status: str | None = None


class AddCard(Traced[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """Write one card."""

    card: CardInput
    supports: CardIds | None = None
    blocks: CardIds | None = None


class ThinkCard(AddCard["CardWritten"], frozen=True, kw_only=True):
    """Write a card to the trace and the graph; the same card with the same id is written once."""


class AddFrame(AddCard["CardWritten"], frozen=True, kw_only=True):
    """Write a card that states the problem."""


class AddHypothesis(AddCard["CardWritten"], frozen=True, kw_only=True):
    """Write a card with a claim that may be true."""


class AddQuestion(AddCard["CardWritten"], frozen=True, kw_only=True):
    """Write a card with something to find out."""


class AddTest(AddCard["CardWritten"], frozen=True, kw_only=True):
    """Write a card with something to try."""


class AddEvidence(AddCard["CardWritten"], frozen=True, kw_only=True):
    """Write a card with an observation."""


class AddDecision(AddCard["CardWritten"], frozen=True, kw_only=True):
    """Write a card with a decision."""


class AddNote(AddCard["CardWritten"], frozen=True, kw_only=True):
    """Write a card with a remark."""


class AddUpdate(AddCard["CardWritten"], frozen=True, kw_only=True):
    """Write a card with what has changed."""


class AddKnowledge(AddCard["CardWritten"], frozen=True, kw_only=True):
    """Write a card with something worth remembering, visible to everyone."""


class CardWritten(Result, frozen=True, kw_only=True):
    branch: str
    trace_doc: str
    graph_doc: str
    card_id: str
    inserted: bool
    version: int
    previous_version: int | None = None
    trace_seq: int | None
    trace_ref: str | None
    graph_applied: CardsApplied
    last_seq: int | None = None
    graph_ref: str | None = None
    refs: list[str] = []


class Seed(Request["Seeded"], frozen=True, kw_only=True):
    """Get an empty card of a type to fill in."""

    type: Annotated[str, Meta(min_length=1, max_length=40)]


class Seeded(Result, frozen=True, kw_only=True):
    type: str
    supported_types: list[str]
    template: dict[str, Any]


class Pipeline(Traced["PipelineWritten"], frozen=True, kw_only=True):
    """Write frame, hypothesis, test, evidence and decision, each supporting the one before."""

    frame: StageText | None = None
    hypothesis: StageText | None = None
    test: StageText | None = None
    evidence: StageText | None = None
    decision: StageText | None = None
    status: dict[str, StatusWord] = {}
    notes_doc: DocName | None = None
    note_decision: bool = False
    note_title: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    note_format: Annotated[str, Meta(min_length=1, max_length=64)] | None = None


class PipelineCard(Value, frozen=True, kw_only=True):
    stage: str
    card_id: str
    trace_ref: str | None


class PipelineWritten(Result, frozen=True, kw_only=True):
    branch: str
    trace_doc: str
    graph_doc: str
    cards: list[PipelineCard]
    graph_applied: CardsApplied
    last_seq: int | None
    decision_note: Entry | None = None


class Link(Scoped["Linked"], frozen=True, kw_only=True, rename={"from_": "from"}):
    """Link two cards."""

    from_: CardId
    rel: Annotated[str, Meta(min_length=1, max_length=128)]
    to: CardId
    message: Annotated[str, Meta(min_length=1, max_length=400)] | None = None
    meta: Json | None = None


class Linked(Result, frozen=True, kw_only=True, rename={"from_": "from"}):
    branch: str
    graph_doc: str
    from_: str
    rel: str
    to: str
    applied: CardsApplied
    graph_ref: str | None = None


class SetStatus(Scoped["CardsChanged"], frozen=True, kw_only=True):
    """Set the status of cards."""

    status: StatusWord
    targets: Annotated[list[CardId], Meta(min_length=1, max_length=64)]


class Pin(Scoped["CardsChanged"], frozen=True, kw_only=True):
    """Pin or unpin cards."""

    targets: Annotated[list[CardId], Meta(min_length=1, max_length=64)]
    pinned: bool = True


class CardChange(Value, frozen=True, kw_only=True):
    id: str
    changed: bool
    status: str
    pinned: bool
    version: int


class CardsChanged(Result, frozen=True, kw_only=True):
    branch: str
    graph_doc: str
    cards: list[CardChange]
    applied: CardsApplied


class ListPins(Scoped["Pins"], frozen=True, kw_only=True):
    """List the pinned cards."""

    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class Pins(Result, frozen=True, kw_only=True):
    branch: str
    graph_doc: str
    pins: list[Card]
    count: int
    has_more: bool


class Publish(Request["Published"], frozen=True, kw_only=True):
    """Publish a copy of a card that everyone sees."""

    card_id: Annotated[CardId, also("card", "id", "ref")]
    target: Target | None = None
    branch: BranchName | None = None
    ref: BranchName | None = None
    graph_doc: DocName | None = None
    trace_doc: DocName | None = None
    pin: bool = False


class Published(Result, frozen=True, kw_only=True):
    branch: str
    trace_doc: str
    graph_doc: str
    source_card_id: str
    published_card_id: str
    inserted: bool
    pinned: bool
    trace_ref: str | None


class MergeNominal(Scoped["NominalMerged"], frozen=True, kw_only=True):
    """Merge duplicate cards into one."""

    candidate_ids: CardIds | None = None
    limit_candidates: Annotated[int, Meta(ge=1, le=200)] = 50
    limit_groups: Annotated[int, Meta(ge=1, le=50)] = 10


class MergedGroup(Value, frozen=True, kw_only=True):
    canonical_id: str
    merged_ids: list[str]


class NominalMerged(Result, frozen=True, kw_only=True):
    branch: str
    graph_doc: str
    merged_groups: list[MergedGroup]
    applied: CardsApplied
    has_more: bool


class OpenSubgoal(Traced["SubgoalOpened"], frozen=True, kw_only=True):
    """Open a subgoal under a question."""

    question_id: CardId
    title: Annotated[str, Meta(min_length=1, max_length=200)] | None = None


class SubgoalOpened(Result, frozen=True, kw_only=True):
    branch: str
    trace_doc: str
    graph_doc: str
    subgoal_id: str
    question_id: str
    inserted: bool
    trace_ref: str | None


class CloseSubgoal(Traced["SubgoalClosed"], frozen=True, kw_only=True):
    """Close a subgoal, optionally with the card that answers it."""

    subgoal_id: CardId
    return_card: Json | str | None = None


class SubgoalClosed(Result, frozen=True, kw_only=True):
    branch: str
    trace_doc: str
    graph_doc: str
    subgoal_id: str
    question_id: str | None
    return_card_id: str | None
    changed: bool


class ShowPlaybook(Request["Playbook"], frozen=True, kw_only=True):
    """Show a playbook by name."""

    name: Annotated[str, Meta(min_length=1, max_length=80)]


class PlaybookStep(Value, frozen=True, kw_only=True):
    name: str
    do: str
    card: dict[str, Any]


class PlaybookTemplate(Value, frozen=True, kw_only=True):
    purpose: str
    steps: list[PlaybookStep]
    stop: str
    see_also: list[str] = []


class Playbook(Result, frozen=True, kw_only=True):
    name: str
    known: bool
    names: list[str]
    template: PlaybookTemplate


class CreateIdea(Request["IdeaCreated"], frozen=True, kw_only=True, rename={"from_": "from"}):
    """Create or check out a branch, and write a note on it."""

    name: BranchName | None = None
    from_: BranchName | None = None
    doc: DocName | None = None
    content: Annotated[str, Meta(min_length=1, max_length=1_000_000)] | None = None
    template: Annotated[str, Meta(min_length=1, max_length=40)] | None = None
    goal: Annotated[str, Meta(min_length=1, max_length=2000)] | None = None
    format: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    title: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    meta: Json | None = None


class Branched(Value, frozen=True, kw_only=True):
    name: str
    created: bool
    base_branch: str | None = None
    base_seq: int | None = None


class CheckoutMove(Value, frozen=True, kw_only=True):
    previous: str | None
    current: str


class IdeaCreated(Result, frozen=True, kw_only=True):
    workspace: str
    branch: Branched
    checkout: CheckoutMove
    note: Entry
    ref: str


class MergeIdea(Request["IdeaMerged"], frozen=True, kw_only=True, rename={"from_": "from"}):
    """Merge the notes and graph of an idea back."""

    from_: BranchName
    into: BranchName | None = None
    doc: DocName = "notes"
    graph_doc: DocName = "graph"
    dry_run: bool = False


class MergeCount(Value, frozen=True, kw_only=True):
    merged: int
    skipped: int
    has_more: bool


class IdeaMerged(Result, frozen=True, kw_only=True, rename={"from_": "from"}):
    from_: str
    into: str
    dry_run: bool
    notes: MergeCount
    graph: MergeCount
    conflict_ids: list[str]
