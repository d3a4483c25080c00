"""Requests and results of the anchor commands; an anchor names a part of the system."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.kernel.names import also
from longhouse.kernel.values import Request, Result, Value
from longhouse.memory.types.documents import SEARCH_WORDS, Target
from longhouse.thinking.types.cards import Card
from longhouse.thinking.types.scopes import StepWord

__all__ = [
    "Anchor",
    "AnchorDraft",
    "AnchorExport",
    "AnchorId",
    "AnchorIssue",
    "AnchorKind",
    "AnchorLint",
    "AnchorList",
    "AnchorNote",
    "AnchorNoted",
    "AnchorOpened",
    "AnchorSnapshot",
    "AnchorStats",
    "AnchorStatus",
    "AnchorTask",
    "AnchorsBooted",
    "AnchorsMerged",
    "BootAnchors",
    "Booted",
    "ExportAnchors",
    "LinkedCard",
    "LintAnchors",
    "ListAnchors",
    "MergeAnchors",
    "NotedCard",
    "RenameAnchor",
    "SnapshotAnchor",
]

AnchorId = Annotated[
    str,
    Meta(
        pattern=r"\A[Aa]:[A-Za-z0-9][A-Za-z0-9-]{0,63}\Z",
        title="an anchor like a:core",
        examples=["a:core"],
    ),
]
AnchorIds = Annotated[list[AnchorId], Meta(max_length=32)]
AnchorKind = Literal["boundary", "component", "contract", "data", "test-surface", "ops"]
AnchorStatus = Literal["active", "deprecated"]
AnchorTitle = Annotated[str, Meta(min_length=1, max_length=120)]
Description = Annotated[str, Meta(max_length=280)]
Refs = Annotated[list[Annotated[str, Meta(min_length=1, max_length=256)]], Meta(max_length=32)]


class Anchor(Value, frozen=True, kw_only=True):
    """A named part of the system."""

    id: str
    title: str
    kind: str
    status: str
    description: str | None = None
    refs: list[str]
    aliases: list[str] = []
    parent_id: str | None = None
    depends_on: list[str]
    created_at_ms: int
    updated_at_ms: int
    registered: bool


class AnchorDraft(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """An anchor to create or change; fields left out stay as they are."""

    id: AnchorId
    title: AnchorTitle | None = None
    kind: AnchorKind | None = None
    status: AnchorStatus | None = None
    description: Description | None = None
    refs: Refs | None = None
    aliases: AnchorIds | None = None
    parent_id: AnchorId | None = None
    depends_on: AnchorIds | None = None


class ListAnchors(Request["AnchorList"], frozen=True, kw_only=True):
    """List anchors."""

    text: Annotated[str, Meta(min_length=1, max_length=120), SEARCH_WORDS] | None = None
    kind: AnchorKind | None = None
    status: AnchorStatus | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class AnchorList(Result, frozen=True, kw_only=True):
    anchors: list[Anchor]
    count: int
    has_more: bool


class SnapshotAnchor(Request["AnchorSnapshot"], frozen=True, kw_only=True):
    """Show everything known about one part of the system."""

    anchor: Annotated[AnchorId, also("id", "name", "anchor_id")]
    include_drafts: bool = False
    all_lanes: bool = False
    tasks_limit: Annotated[int, Meta(ge=0, le=50)] = 10
    limit: Annotated[int, Meta(ge=1, le=50)] = 20


class AnchorStats(Value, frozen=True, kw_only=True):
    links_count: int
    links_has_more: bool


class LinkedCard(Card, frozen=True, kw_only=True):
    """A card with the graph it is in."""

    branch: str
    doc: str


class AnchorTask(Value, frozen=True, kw_only=True):
    id: str
    title: str | None = None
    status: str | None = None
    cards: int
    last_ts_ms: int


class AnchorSnapshot(Result, frozen=True, kw_only=True):
    anchor: Anchor
    scope: dict[str, Any]
    stats: AnchorStats
    tasks: list[AnchorTask]
    cards: list[LinkedCard]
    count: int


class AnchorOpened(Result, frozen=True, kw_only=True):
    kind: Literal["anchor"]
    id: str
    anchor: Anchor
    stats: AnchorStats
    cards: list[LinkedCard]
    count: int


class ExportAnchors(Request["AnchorExport"], frozen=True, kw_only=True):
    """Export the map of anchors as text."""

    format: Literal["mermaid", "text"] = "mermaid"


class AnchorExport(Result, frozen=True, kw_only=True):
    format: str
    count: int
    text: str


class BootAnchors(Request["AnchorsBooted"], frozen=True, kw_only=True):
    """Create or update several anchors at once."""

    anchors: Annotated[list[AnchorDraft], Meta(min_length=1, max_length=200)]


class Booted(Value, frozen=True, kw_only=True):
    id: str
    created: bool


class AnchorsBooted(Result, frozen=True, kw_only=True):
    anchors: list[Booted]
    created: int
    updated: int


class RenameAnchor(Request["AnchorsMerged"], frozen=True, kw_only=True, rename={"from_": "from"}):
    """Rename an anchor; the old id becomes an alias."""

    from_: AnchorId
    to: AnchorId


class MergeAnchors(Request["AnchorsMerged"], frozen=True, kw_only=True, rename={"from_": "from"}):
    """Merge anchors into one; their ids become aliases."""

    into: AnchorId
    from_: Annotated[list[AnchorId], Meta(min_length=1, max_length=32)]


class AnchorsMerged(Result, frozen=True, kw_only=True):
    anchor: Anchor
    merged: list[str]
    skipped: list[str]


class LintAnchors(Request["AnchorLint"], frozen=True, kw_only=True):
    """Find anchors with broken relations."""

    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class AnchorIssue(Value, frozen=True, kw_only=True):
    severity: Literal["error", "warning"]
    code: str
    anchor: str
    message: str


class AnchorLint(Result, frozen=True, kw_only=True):
    ok: bool
    issues: list[AnchorIssue]
    count: int
    has_more: bool


class AnchorNote(Request["AnchorNoted"], frozen=True, kw_only=True):
    """Write a card about one part of the system; creates its anchor if needed."""

    anchor: AnchorId
    content: Annotated[str, Meta(min_length=1, max_length=200_000)]
    title: AnchorTitle | None = None
    kind: AnchorKind | None = None
    status: AnchorStatus | None = None
    description: Description | None = None
    refs: Refs | None = None
    aliases: AnchorIds | None = None
    parent_id: AnchorId | None = None
    depends_on: AnchorIds | None = None
    card_type: Annotated[str, Meta(min_length=1, max_length=40)] = "note"
    target: Target | None = None
    step: StepWord | None = None
    visibility: Literal["draft", "canon"] | None = None
    pin: bool = False


class NotedCard(Value, frozen=True, kw_only=True):
    card_id: str
    trace_ref: str | None
    graph_ref: str | None = None


class AnchorNoted(Result, frozen=True, kw_only=True):
    anchor: Anchor
    created: bool
    scope: dict[str, Any]
    note: NotedCard
