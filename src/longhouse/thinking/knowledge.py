"""Knowledge: cards worth remembering, identified by their title and anchor.

Writing the same title under the same anchor again creates a new version of the card.
"""

from __future__ import annotations

import hashlib

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import InvalidInput, Suggestion
from longhouse.store.tx import Tx
from longhouse.thinking.context import page_of_cards
from longhouse.thinking.parsing import parse_card
from longhouse.thinking.places import place_of
from longhouse.thinking.room import room
from longhouse.thinking.types.cards import Card, CardWritten, MergeNominal
from longhouse.thinking.types.knowledge import (
    KnowledgeIssue,
    KnowledgeLint,
    LintKnowledge,
    QueryKnowledge,
    UpsertKnowledge,
)
from longhouse.thinking.types.reads import CardPage, QueryCards
from longhouse.thinking.vocabulary import CANON
from longhouse.thinking.writing import write_card

__all__ = ["lint_knowledge", "query_knowledge", "upsert_knowledge"]

KIND = "knowledge"
MANY = 20
_LINTED = 200


@room.command(
    "think.knowledge.upsert",
    also=(
        "learn remember think.knowledge.add think.knowledge.create think.knowledge.set think.memory"
    ),
    op="knowledge.upsert",
    writes=True,
    additive=True,
    idempotent=True,
    example=UpsertKnowledge(
        card={"title": "Deploys empty the cache", "text": "Nodes start cold."}, anchor="a:cache"
    ),
)
def upsert_knowledge(tx: Tx, req: UpsertKnowledge) -> CardWritten:
    """Write down something to remember; the same title updates it."""
    draft = parse_card(req.card, forced=KIND)
    anchor = req.anchor.lower() if req.anchor else None
    if not draft.title and not draft.text:
        raise InvalidInput(
            'card: expected a title or a text; fix: card={"title": "what to remember"}',
            recovery="pass card.title, card.text or both",
        )
    words = " ".join((draft.title or draft.text or "").lower().split())
    digest = hashlib.sha256(f"{anchor or ''}\n{words}".encode()).hexdigest()[:16]
    tags = {CANON, *(draft.tags or ()), *([anchor] if anchor else [])}
    return write_card(
        tx,
        place_of(tx, req),
        draft._replace(id=draft.id or f"CARD-KN-{digest}", tags=sorted(tags)),
        supports=[*draft.supports, *(req.supports or ())],
        blocks=[*draft.blocks, *(req.blocks or ())],
    )


@room.command(
    "think.knowledge.query",
    also="knowledge recall think.knowledge.search think.knowledge.get remembered think.memory",
    op="knowledge.query",
    example=QueryKnowledge(limit=12),
    trim=[
        Clip("cards.text", 400),
        Pop("cards", leave=1, cursor="last_seq"),
        Drop("cards.meta"),
        Clip("cards.text", 80),
    ],
)
def query_knowledge(tx: Tx, req: QueryKnowledge) -> CardPage:
    """Find knowledge that matches all filters, newest first."""
    place = place_of(tx, req)
    anchor = [req.anchor.lower()] if req.anchor else []
    asked = QueryCards(
        types=[KIND],
        ids=req.ids,
        status=req.status,
        tags_any=req.tags_any,
        tags_all=[*(req.tags_all or ()), *anchor],
        text=req.text,
        cursor=req.cursor,
        limit=req.limit,
    )
    return page_of_cards(tx, place, asked, drafts=req.all_lanes or req.include_drafts)


@room.command(
    "think.knowledge.lint",
    op="knowledge.lint",
    example=LintKnowledge(),
    trim=[Pop("issues", leave=1), Clip("issues.message", 80)],
)
def lint_knowledge(tx: Tx, req: LintKnowledge) -> KnowledgeLint:
    """Find knowledge cards that are duplicates, have no anchor, or are too many."""
    place = place_of(tx, req)
    page = page_of_cards(tx, place, QueryCards(types=[KIND], limit=_LINTED), drafts=True)
    issues = _issues(page.cards)
    if any(issue.code != "KNOWLEDGE_NO_ANCHOR" for issue in issues):
        merge = MergeNominal(branch=place.branch, graph_doc=place.graph_doc)
        tx.suggestions.append(Suggestion(merge, "merge the duplicates", priority="medium"))
    return KnowledgeLint(
        branch=place.branch,
        graph_doc=place.graph_doc,
        checked=len(page.cards),
        has_more_cards=page.pagination.has_more,
        issues=issues[: req.limit],
        count=min(len(issues), req.limit),
        has_more=len(issues) > req.limit,
    )


def _issues(cards: list[Card]) -> list[KnowledgeIssue]:
    found: list[KnowledgeIssue] = []
    titles: dict[str, list[str]] = {}
    for card in sorted(cards, key=lambda one: one.id):
        titles.setdefault(" ".join((card.title or card.text or "").lower().split()), []).append(
            card.id
        )
    for title, ids in sorted(titles.items()):
        if len(ids) > 1:
            said = f"{len(ids)} cards have the title {title[:60]!r}"
            found.append(
                KnowledgeIssue(
                    severity="warning", code="KNOWLEDGE_DOUBLED", message=said, ids=ids[:10]
                )
            )
    if len(cards) > MANY:
        found.append(
            KnowledgeIssue(
                severity="warning",
                code="KNOWLEDGE_TOO_MUCH",
                message=f"{len(cards)} cards are too many to read; consolidate to {MANY} or fewer",
                ids=[],
            )
        )
    bare = [one.id for one in cards if not any(tag.startswith("a:") for tag in one.tags)]
    if bare:
        found.append(
            KnowledgeIssue(
                severity="info",
                code="KNOWLEDGE_NO_ANCHOR",
                message=f"{len(bare)} cards have no anchor",
                ids=sorted(bare)[:10],
            )
        )
    return found
