"""`open`: one artifact by a stable id, resolved by the room that the id belongs to."""

from __future__ import annotations

from functools import cache

import msgspec

from longhouse.desk.room import room
from longhouse.desk.types.status import GetStatus
from longhouse.desk.types.system import Open
from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.contributions import Opener
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.kernel.values import Result
from longhouse.store.tx import Tx
from longhouse.thinking.citing import cited_by
from longhouse.thinking.context import query_cards
from longhouse.thinking.types.cards import Card, Citation
from longhouse.thinking.types.reads import QueryCards
from longhouse.work.types.views import EntityOpened

__all__ = [
    "open_ref",
]

MOST_CARDS = 20


@room.command(
    "open",
    also="show get read view fetch",
    example=Open(id="notes@1"),
    tier="gold",
    trim=[
        Pop("events", leave=3),
        Pop("proofs", leave=3),
        Pop("steps", leave=5),
        Pop("events", leave=1),
        Clip("cards.text", 200),
        Pop("cards", leave=1),
        Drop("prompt"),
        Clip("entry.content", 800),
        Clip("card.text", 800),
        Pop("cited_by", leave=1),
        Drop("card.meta"),
        Clip("events.message", 80),
        Clip("entry.content", 200),
        Clip("card.text", 200),
    ],
)
def open_ref(tx: Tx, req: Open) -> Result:
    """Open one artifact by id or ref, such as notes@12 or JOB-001."""
    wanted = req.id.strip()
    openers: tuple[Opener, ...] = tx.facts.registry.openers
    for opener in openers:
        if match := opener.pattern.match(wanted):
            opened = opener.resolve(tx, req, match)
            if isinstance(opened, EntityOpened) and req.include_drafts:
                opened = _with_cards(tx, opened)
            return _cited(opened, cited_by(tx, wanted))
    shapes = "; ".join(opener.what for opener in openers)
    raise UnknownId(
        f"id: {wanted[:80]!r} is no id that can be opened",
        recovery=f"use {shapes}",
        suggest=[Suggestion(GetStatus(), "see what there is")],
    )


class _Audited(EntityOpened, frozen=True, kw_only=True):
    """A plan or task with the cards about it, drafts too."""

    cards: list[Card] = []


def _with_cards(tx: Tx, opened: EntityOpened) -> EntityOpened:
    page = query_cards(tx, QueryCards(target=opened.id, include_drafts=True, limit=MOST_CARDS))
    fields = {name: getattr(opened, name) for name in opened.__struct_fields__}
    return _Audited(**fields, cards=page.cards)


def _cited(opened: Result, by: list[Citation]) -> Result:
    """The same with who cites it, where somebody does."""
    if not by:
        return opened
    fields = {name: getattr(opened, name) for name in opened.__struct_fields__}
    return _with_citations(type(opened))(**fields, cited_by=by)


@cache
def _with_citations(kind: type[Result]) -> type[Result]:
    return msgspec.defstruct(  # type: ignore[return-value]
        kind.__name__, [("cited_by", list[Citation])], bases=(kind,), frozen=True, kw_only=True
    )
