"""Requests and results of the knowledge commands."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from longhouse.kernel.values import Limit, Request, Result, Seq, Value
from longhouse.memory.types.documents import BranchName, DocName, Target
from longhouse.thinking.types.anchors import AnchorId
from longhouse.thinking.types.cards import AddCard, CardIds, CardWritten, StatusWord
from longhouse.thinking.types.reads import CardPage

__all__ = [
    "CardPage",
    "CardWritten",
    "KnowledgeIssue",
    "KnowledgeLint",
    "LintKnowledge",
    "QueryKnowledge",
    "UpsertKnowledge",
]


class UpsertKnowledge(AddCard["CardWritten"], frozen=True, kw_only=True):
    """Write down something to remember; the same title updates it."""

    anchor: AnchorId | None = None


class QueryKnowledge(Request["CardPage"], frozen=True, kw_only=True):
    """Find knowledge."""

    anchor: AnchorId | None = None
    target: Target | None = None
    branch: BranchName | None = None
    ref: BranchName | None = None
    graph_doc: DocName | None = None
    ids: CardIds | None = None
    status: StatusWord | None = None
    tags_any: Annotated[list[str], Meta(max_length=200)] | None = None
    tags_all: Annotated[list[str], Meta(max_length=200)] | None = None
    text: Annotated[str, Meta(max_length=400)] | None = None
    cursor: Seq | None = None
    limit: Limit = 12
    all_lanes: bool = False
    include_drafts: bool = False


class LintKnowledge(Request["KnowledgeLint"], frozen=True, kw_only=True):
    """Find knowledge cards that need cleanup."""

    target: Target | None = None
    branch: BranchName | None = None
    ref: BranchName | None = None
    graph_doc: DocName | None = None
    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class KnowledgeIssue(Value, frozen=True, kw_only=True):
    severity: Literal["warning", "info"]
    code: str
    message: str
    ids: list[str]


class KnowledgeLint(Result, frozen=True, kw_only=True):
    branch: str
    graph_doc: str
    checked: int
    has_more_cards: bool
    issues: list[KnowledgeIssue]
    count: int
    has_more: bool
