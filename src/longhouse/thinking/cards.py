"""`think.card` and `think.add.*`: the commands that write one card."""

from __future__ import annotations

from typing import Any

from longhouse.store.tx import Tx
from longhouse.thinking.parsing import parse_card
from longhouse.thinking.places import place_of
from longhouse.thinking.room import room
from longhouse.thinking.types import cards as types
from longhouse.thinking.types.cards import AddCard, CardWritten, ThinkCard
from longhouse.thinking.vocabulary import TYPES
from longhouse.thinking.writing import write_card

__all__ = ["card_types", "think_card"]

_EXAMPLES: dict[str, Any] = {
    "frame": {"title": "Reads are slow after a deploy", "text": "Since Monday, only cold nodes."},
    "hypothesis": {"title": "The cache is cold after a deploy"},
    "question": {"title": "Which requests miss the cache?"},
    "test": {"title": "Warm the cache, measure again", "meta": {"run": {"cmd": "make bench"}}},
    "evidence": {"title": "Warm: 12 ms", "text": "CMD: make bench"},
    "decision": {"title": "Warm the cache before traffic", "status": "accepted"},
    "note": {"text": "The deploy script restarts all nodes at once."},
    "update": {"title": "The cache moved to another host"},
    "knowledge": {"title": "Deploys empty the cache", "text": "Nodes start with empty caches."},
}


@room.provides("card types")
def card_types() -> tuple[str, ...]:
    """The types of nodes that are cards, for a search of the kind `card`."""
    return TYPES


@room.command(
    "think.card",
    also="add create think.card.add think.card.create write new think.add.card",
    writes=True,
    additive=True,
    example=ThinkCard(
        card={"id": "CARD-H1", "type": "hypothesis", "title": "The cache is stale after a deploy"}
    ),
)
def think_card(tx: Tx, req: ThinkCard) -> CardWritten:
    """Write a card to the trace and the graph; the same card with the same id is written once."""
    return _written(tx, req, None)


def _written(tx: Tx, req: AddCard[Any], kind: str | None) -> CardWritten:
    draft = parse_card(req.card, forced=kind)
    if kind == "knowledge" and draft.tags is None:
        draft = draft._replace(tags=["v:canon"])
    return write_card(
        tx,
        place_of(tx, req),
        draft,
        supports=[*draft.supports, *(req.supports or ())],
        blocks=[*draft.blocks, *(req.blocks or ())],
    )


_WORDS = {
    "decision": "decision decide think.decision.add",
    "evidence": "evidence think.evidence.add",
    "frame": "frame think.frame.add",
    "hypothesis": "hypothesis propose hypothesize think.hypothesis.add",
    "note": "note think.note.add",
    "question": "question ask think.question.add",
    "test": "test experiment think.test.add",
}


def _declare(kind: str) -> None:
    """Register `think.add.<type>`, which is `think.card` with a fixed type."""
    request: type[AddCard[Any]] = getattr(types, f"Add{kind.capitalize()}")

    def add(tx: Tx, req: Any) -> CardWritten:
        return _written(tx, req, kind)

    article = "an" if kind[0] in "aeu" else "a"
    add.__doc__ = f"Write {article} {kind} card; like think.card with a fixed type."
    add.__name__ = f"add_{kind}"
    add.__annotations__ = {"tx": Tx, "req": request, "return": CardWritten}
    example = request(card=_EXAMPLES[kind])
    room.command(
        f"think.add.{kind}",
        also=_WORDS.get(kind, ""),
        writes=True,
        additive=True,
        example=example,
    )(add)


for _kind in TYPES:
    _declare(_kind)
