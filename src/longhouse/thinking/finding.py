"""Finding cards by id, in one graph or in any."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import msgspec

from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.kernel.names import nearest
from longhouse.memory import ENDLESS, View
from longhouse.memory.graph import NodeFilter, node_from, node_page, nodes_named, visible
from longhouse.memory.types.graph import Node
from longhouse.store.engine import Row
from longhouse.store.tx import Tx
from longhouse.thinking.types.cards import Card
from longhouse.thinking.vocabulary import TYPES

__all__ = ["FoundCard", "card_from", "card_in", "cards_in", "find_card", "unknown_card"]

_NEAR_AMONG = 200


class FoundCard(NamedTuple):
    """A card, and the branch and document it is in."""

    node: Node
    branch: str
    doc: str


def card_from(row: Row) -> Card:
    """The card in a row of the graph."""
    return Card(
        id=row["key"],
        type=row["type"],
        title=row["title"],
        text=row["text"],
        status=row["status"] or "open",
        tags=msgspec.json.decode(row["tags"]) if row["tags"] else [],
        meta=msgspec.json.decode(row["meta"]) if row["meta"] else None,
        last_seq=row["seq"],
        last_ts_ms=row["ts_ms"],
    )


def find_card(tx: Tx, card_id: str) -> FoundCard | None:
    """The newest version of a card, on any branch."""
    for row in nodes_named(tx, card_id):
        if row["type"] in TYPES:
            return FoundCard(node_from(row), row["branch"], row["doc"])
    return None


def cards_in(tx: Tx, view: View, ids: Iterable[str]) -> dict[str, Node]:
    """The nodes with these ids that the view shows, of any type."""
    rows = visible(tx, view, ids)
    return {key: node_from(row) for key, row in rows.items() if not row["deleted"]}


def card_in(tx: Tx, view: View, card_id: str, field: str) -> Node:
    """A card in this graph, or UnknownId with the nearest match."""
    node = cards_in(tx, view, [card_id]).get(card_id)
    if node is None or node.type not in TYPES:
        raise unknown_card(tx, view, card_id, field)
    return node


def unknown_card(tx: Tx, view: View, card_id: str, field: str) -> UnknownId:
    """The error for an unknown id; it names the graph that has the card, or the nearest id."""
    from longhouse.thinking.types.reads import QueryCards

    look = Suggestion(QueryCards(branch=view.branch, graph_doc=view.doc), "list the cards here")
    if elsewhere := find_card(tx, card_id):
        return UnknownId(
            f"{field}: {card_id} is in {elsewhere.doc} on {elsewhere.branch}, not in this graph",
            recovery=f"cite it with refs=[{card_id}], or pass "
            f"branch={elsewhere.branch} graph_doc={elsewhere.doc}",
            suggest=[look],
        )
    wanted = NodeFilter(types=frozenset(TYPES))
    page = node_page(tx, view, wanted, before=ENDLESS, limit=_NEAR_AMONG)
    near = nearest(card_id, {row["key"].lower(): row["key"] for row in page.rows})
    named = next((row["key"] for row in page.rows if row["key"].lower() == near), None)
    meant = f"; did you mean {named}?" if named else ""
    return UnknownId(
        f"{field}: there is no card {card_id[:80]} in {view.doc} on {view.branch}{meant}",
        recovery=f"use {named}" if named else "copy an id from think.query",
        suggest=[look],
    )
