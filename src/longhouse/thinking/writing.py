"""Writing a card: a note in the trace and a node in the graph, both or neither.

Writing the same card under one id again changes nothing. Different content is a new version; edges,
pins and tags that the call does not mention stay. A card without an id gets a new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from longhouse.kernel.errors import InvalidInput
from longhouse.memory import (
    Branch,
    View,
    append_entry,
    check_node_id,
    ensure_branch,
    first_shown,
    view_of,
)
from longhouse.memory.graph import apply_ops, edge_from, edges_among
from longhouse.memory.types.graph import EdgeUpsert, Node, NodeUpsert, Op
from longhouse.store.tx import Tx
from longhouse.thinking.anchors import register_missing
from longhouse.thinking.citing import cite, cites_the_same, refs_in
from longhouse.thinking.finding import cards_in, find_card, unknown_card
from longhouse.thinking.parsing import GivenCard
from longhouse.thinking.places import Place
from longhouse.thinking.room import sql
from longhouse.thinking.types.cards import CardsApplied, CardWritten
from longhouse.thinking.vocabulary import PINNED, TYPES, is_draft

__all__ = ["FORMAT", "write_card"]

FORMAT = "think_card"
"""The format of trace entries that record cards."""


def write_card(
    tx: Tx,
    place: Place,
    draft: GivenCard,
    *,
    supports: Sequence[str] = (),
    blocks: Sequence[str] = (),
    edges: Sequence[EdgeUpsert] = (),
) -> CardWritten:
    """Write a draft at `place`; `supports` and `blocks` start at the card, `edges` are complete."""
    view = view_of(tx, place.branch, place.graph_doc)
    before = _existing(tx, view, draft.id)
    tags, meta = _scoped(draft, before, place)
    title, text = draft.title, draft.text
    if before is not None:
        title = before.title if title is None else title
        text = before.text if text is None else text
    if not title and not text:
        raise InvalidInput(
            'card: expected a title or a text; fix: card={"title": "what it is about"}',
            recovery="pass card.title, card.text or both",
        )
    meta.pop("refs", None)
    refs = refs_in(tx, draft.refs, title, text, before=before, own_id=draft.id)
    meta = {**meta, "refs": refs} if refs else meta
    links = [
        EdgeUpsert(from_=draft.id or "", rel=rel, to=to)
        for rel, ends in (("supports", supports), ("blocks", blocks))
        for to in dict.fromkeys(ends)
    ]
    _check_ends(tx, view, draft.id, links)
    branch = ensure_branch(tx, place.branch)
    card_id = draft.id or _fresh_id(tx)
    node = NodeUpsert(
        id=card_id,
        type=draft.type or (before.type if before else "note"),
        title=title or None,
        text=text or None,
        status=draft.status or (before.status if before else None) or "open",
        tags=tags,
        meta=meta or None,
    )
    ops: list[Op] = [node, *(msgspec.structs.replace(e, from_=card_id) for e in links), *edges]
    if before is not None and _says_the_same(tx, view, before, draft, ops):
        seq = _entry_of(tx, place, card_id)
        refs = (before.meta or {}).get("refs") or []
        none = CardsApplied(nodes_upserted=0, edges_upserted=0)
        return _answer(place, card_id, none, seq, version=before.last_seq, refs=refs)
    seq = _append(tx, branch, place, node, [op for op in ops if isinstance(op, EdgeUpsert)])
    written = apply_ops(tx, branch, place.graph_doc, ops, only_changes=True)
    cite(tx, card_id, "card", refs, seq)
    if not is_draft(node.type, tags):
        register_missing(tx, tags)
    applied = CardsApplied(
        nodes_upserted=written.applied.nodes_upserted,
        edges_upserted=written.applied.edges_upserted,
    )
    renewed = bool(applied.nodes_upserted)
    return _answer(
        place,
        card_id,
        applied,
        seq,
        inserted=before is None,
        version=seq + 1 if renewed or before is None else before.last_seq,
        previous_version=before.last_seq if before and renewed else None,
        last_seq=written.last_seq,
        graph_ref=f"{place.graph_doc}@{written.last_seq}",
        refs=refs,
    )


def _answer(
    place: Place, card_id: str, applied: CardsApplied, seq: int | None, **more: Any
) -> CardWritten:
    return CardWritten(
        branch=place.branch,
        trace_doc=place.trace_doc,
        graph_doc=place.graph_doc,
        card_id=card_id,
        inserted=more.pop("inserted", False),
        trace_seq=seq,
        trace_ref=f"{place.trace_doc}@{seq}" if seq is not None else None,
        graph_applied=applied,
        **more,
    )


def _existing(tx: Tx, view: View, card_id: str | None) -> Node | None:
    """The existing card with this id; a node that is not a card is refused."""
    if card_id is None:
        return None
    check_node_id(card_id, "card.id")
    node = cards_in(tx, view, [card_id]).get(card_id)
    if node is not None and node.type not in TYPES:
        raise InvalidInput(
            f"card.id: {card_id} is a node of type {node.type!r}, not a card",
            recovery="choose another id, or leave it out to get one",
        )
    return node


def _scoped(
    draft: GivenCard, before: Node | None, place: Place
) -> tuple[list[str], dict[str, Any]]:
    """The tags and meta to store: the draft's over the existing ones, plus the step's."""
    old = before.tags if before else []
    tags = set(old if draft.tags is None else draft.tags)
    tags |= {tag for tag in old if tag == PINNED or tag.startswith("step:")}
    meta = {**((before.meta if before else None) or {}), **(draft.meta or {})}
    if place.step is not None:
        tags.add(place.step.tag)
        meta["step"] = msgspec.to_builtins(place.step)
    return sorted(tags), meta


def _check_ends(tx: Tx, view: View, card_id: str | None, links: Sequence[EdgeUpsert]) -> None:
    """Refuse links to the card itself or to missing cards."""
    there = cards_in(tx, view, [link.to for link in links])
    for link in links:
        if link.to == card_id:
            raise InvalidInput(
                f"{link.rel}: {card_id} cannot be linked to itself",
                recovery=f"leave it out of {link.rel}",
            )
        if link.to not in there:
            raise unknown_card(tx, view, link.to, link.rel)


def _fresh_id(tx: Tx) -> str:
    """`CARD-<seq>`, with the seq of the card's trace entry."""
    while find_card(tx, card_id := f"CARD-{tx.seqs(0)}") is not None:
        tx.append("thinking", card_id, "id_taken")
    return card_id


def _says_the_same(tx: Tx, view: View, before: Node, draft: GivenCard, ops: Sequence[Op]) -> bool:
    node, *links = ops
    assert isinstance(node, NodeUpsert)
    fields = ("type", "title", "text", "status", "tags")
    if any(getattr(before, name) != getattr(node, name) for name in fields):
        return False
    then, now = dict(before.meta or {}), dict(node.meta or {})
    refs = now.pop("refs", [])
    then.pop("refs", None)
    if then != now or not cites_the_same(before, draft.refs, refs):
        return False
    ends = {end for link in links for end in (link.from_, link.to)}  # type: ignore[union-attr]
    there = {
        (edge.from_, edge.rel, edge.to)
        for edge in map(edge_from, edges_among(tx, view, sorted(ends), 10_000))
    }
    return all((link.from_, link.rel, link.to) in there for link in links)  # type: ignore[union-attr]


def _entry_of(tx: Tx, place: Place, card_id: str) -> int | None:
    """The newest trace entry of a card that this place shows."""
    trace = view_of(tx, place.branch, place.trace_doc)
    rows = tx.all(sql.card_entries_newest, card_id=card_id, limit=20)
    return first_shown(tx, trace, [row["seq"] for row in rows])


def _append(
    tx: Tx, branch: Branch, place: Place, node: NodeUpsert, edges: Sequence[EdgeUpsert]
) -> int:
    """Append the card to the trace; returns the entry's seq."""
    own = [edge for edge in edges if edge.from_ == node.id]
    meta: dict[str, Any] = {
        "source": FORMAT,
        "card_id": node.id,
        "type": node.type,
        "status": node.status,
        "tags": node.tags,
        **{
            rel: ends
            for rel in ("supports", "blocks")
            if (ends := [edge.to for edge in own if edge.rel == rel])
        },
    }
    if tx.actor:
        meta["agent_id"] = tx.actor
    if node.meta and isinstance(node.meta.get("step"), dict):
        meta["step"] = node.meta["step"]
    said = append_entry(
        tx,
        branch,
        place.trace_doc,
        kind="note",
        format=FORMAT,
        title=(node.title or f"{node.type} {node.id}")[:200],
        content=node.text or node.title or "",
        meta=meta,
    )
    tx.run(sql.card_entry_add, card_id=node.id, seq=said.entry.seq)
    return said.entry.seq
