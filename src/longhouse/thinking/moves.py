"""Small changes to cards: links, statuses and pins."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import InvalidInput, Suggestion
from longhouse.memory import ensure_branch, view_of
from longhouse.memory.graph import apply_ops
from longhouse.memory.types.graph import EdgeUpsert, Node, NodeUpsert, Op
from longhouse.store.tx import Tx
from longhouse.thinking.finding import card_in
from longhouse.thinking.places import Place, place_of
from longhouse.thinking.room import room
from longhouse.thinking.selecting import Looker
from longhouse.thinking.types.cards import (
    CardChange,
    CardsApplied,
    CardsChanged,
    Link,
    Linked,
    ListPins,
    Pin,
    Pins,
    SetStatus,
)
from longhouse.thinking.vocabulary import DEAD, PINNED, check_status

__all__ = ["change_cards", "link", "list_pins", "pin", "rewritten", "set_status"]


@room.command(
    "think.link",
    also="connect relate edge support:rel=supports",
    writes=True,
    additive=True,
    idempotent=True,
    example=Link(from_="CARD-T1", rel="supports", to="CARD-H1"),
)
def link(tx: Tx, req: Link) -> Linked:
    """Link two cards, such as a test that supports a hypothesis."""
    place = place_of(tx, req)
    graph = view_of(tx, place.branch, place.graph_doc)
    if req.from_ == req.to:
        raise InvalidInput(
            f"to: {req.to} cannot be linked to itself", recovery="name two different cards"
        )
    card_in(tx, graph, req.from_, "from")
    card_in(tx, graph, req.to, "to")
    meta = {**(req.meta or {}), **({"message": req.message} if req.message else {})}
    edge = EdgeUpsert(from_=req.from_, rel=req.rel, to=req.to, meta=meta or None)
    branch = ensure_branch(tx, place.branch)
    written = apply_ops(tx, branch, place.graph_doc, [edge], only_changes=True)
    return Linked(
        branch=place.branch,
        graph_doc=place.graph_doc,
        from_=req.from_,
        rel=req.rel,
        to=req.to,
        applied=CardsApplied(nodes_upserted=0, edges_upserted=written.applied.edges_upserted),
        graph_ref=f"{place.graph_doc}@{written.last_seq}" if written.last_seq else None,
    )


@room.command(
    "think.set.status",
    also=(
        "resolve close think.card.close think.update.status think.status.set status "
        "confirm:status=confirmed refute:status=rejected reject:status=rejected "
        "accept:status=accepted"
    ),
    writes=True,
    idempotent=True,
    example=SetStatus(status="closed", targets=["CARD-H1"]),
)
def set_status(tx: Tx, req: SetStatus) -> CardsChanged:
    """Set the status of cards; a `rejected` or `refuted` card no longer supports anything."""
    status = check_status(req.status)
    changed = change_cards(tx, place_of(tx, req), req.targets, lambda node: (status, node.tags))
    if status in DEAD:
        from longhouse.thinking.types.opening import Blast

        for card in changed.cards:
            if card.changed and card.id.startswith("CARD-"):
                tx.suggestions.append(
                    Suggestion(Blast(card=card.id), f"see what depended on {card.id}")
                )
    return changed


@room.command(
    "think.pin",
    also="unpin:pinned=false think.card.pin",
    writes=True,
    additive=True,
    idempotent=True,
    example=Pin(targets=["CARD-H1"]),
)
def pin(tx: Tx, req: Pin) -> CardsChanged:
    """Pin or unpin cards; pinned cards come first in every view."""

    def pinned(node: Node) -> tuple[str, list[str]]:
        tags = {*node.tags} - {PINNED}
        return node.status or "open", sorted(tags | {PINNED} if req.pinned else tags)

    return change_cards(tx, place_of(tx, req), req.targets, pinned)


def change_cards(
    tx: Tx, place: Place, ids: Sequence[str], made: Callable[[Node], tuple[str, list[str]]]
) -> CardsChanged:
    """Set the status or tags of cards, all of them or none."""
    graph = view_of(tx, place.branch, place.graph_doc)
    nodes = [card_in(tx, graph, card_id, "targets") for card_id in dict.fromkeys(ids)]
    ops = [rewritten(node, *made(node)) for node in nodes]
    before = {node.id: node for node in nodes}
    branch = ensure_branch(tx, place.branch)
    written = apply_ops(tx, branch, place.graph_doc, list[Op](ops), only_changes=True)
    fresh = [op for op in ops if (op.status, op.tags) != _said(before[op.id])]
    first = (written.last_seq or 0) - len(fresh) + 1
    versions = {op.id: first + at for at, op in enumerate(fresh)}
    return CardsChanged(
        branch=place.branch,
        graph_doc=place.graph_doc,
        cards=[
            CardChange(
                id=op.id,
                changed=op.id in versions,
                status=op.status or "open",
                pinned=PINNED in op.tags,
                version=versions.get(op.id, before[op.id].last_seq),
            )
            for op in ops
        ],
        applied=CardsApplied(nodes_upserted=written.applied.nodes_upserted, edges_upserted=0),
    )


def _said(node: Node) -> tuple[str | None, list[str]]:
    return node.status, node.tags


def rewritten(node: Node, status: str, tags: list[str]) -> NodeUpsert:
    """The node with a new status and new tags."""
    return NodeUpsert(
        id=node.id,
        type=node.type,
        title=node.title,
        text=node.text,
        status=status,
        tags=tags,
        meta=node.meta,
    )


@room.command(
    "think.pins",
    also="pinned",
    example=ListPins(),
    trim=[Clip("pins.text", 200), Pop("pins", leave=1), Drop("pins.meta"), Clip("pins.text", 80)],
)
def list_pins(tx: Tx, req: ListPins) -> Pins:
    """List the pinned cards, newest first."""
    place = place_of(tx, req)
    graph = view_of(tx, place.branch, place.graph_doc)
    cards = Looker(tx, graph, place, drafts=True).pins(req.limit + 1)
    return Pins(
        branch=place.branch,
        graph_doc=place.graph_doc,
        pins=cards[: req.limit],
        count=min(len(cards), req.limit),
        has_more=len(cards) > req.limit,
    )
