"""Publishing a card for everyone, and merging duplicate cards."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from longhouse.kernel.budget import Pop
from longhouse.memory import ENDLESS, ensure_branch, view_of
from longhouse.memory import View as GraphView
from longhouse.memory.graph import NodeFilter, apply_ops, edges_at, node_from, node_page
from longhouse.memory.types.graph import EdgeUpsert, Node, Op
from longhouse.store.tx import Tx
from longhouse.thinking.finding import card_in
from longhouse.thinking.moves import rewritten
from longhouse.thinking.parsing import GivenCard
from longhouse.thinking.places import Place, place_of
from longhouse.thinking.room import room
from longhouse.thinking.types.cards import (
    CardsApplied,
    MergedGroup,
    MergeNominal,
    NominalMerged,
    Publish,
    Published,
)
from longhouse.thinking.vocabulary import CANON, DRAFT, PINNED, TYPES, lane_of
from longhouse.thinking.writing import write_card

__all__ = ["merge_nominal", "publish"]

PUBLISHED = "CARD-PUB-"
_MOST_EDGES = 200
_ARGUMENTS = ("supports", "blocks")


@room.command(
    "think.publish",
    writes=True,
    additive=True,
    idempotent=True,
    example=Publish(card_id="CARD-D1", pin=True),
)
def publish(tx: Tx, req: Publish) -> Published:
    """Create or update the published copy of a card, which everyone sees."""
    place = place_of(tx, req)
    graph = view_of(tx, place.branch, place.graph_doc)
    source = card_in(tx, graph, req.card_id, "card_id")
    published_id = f"{PUBLISHED}{source.id}"
    kept = [tag for tag in source.tags if not tag.startswith("lane:")]
    tags = {*kept, "lane:shared", CANON} - {DRAFT, PINNED}
    origin: dict[str, Any] = {"card_id": source.id, "lane": lane_of(source.tags)}
    if tx.actor:
        origin["agent_id"] = tx.actor
    meta = {**(source.meta or {}), "published_from": origin}
    draft = GivenCard(
        id=published_id,
        type=source.type,
        title=source.title,
        text=source.text,
        status=source.status,
        tags=sorted(tags | ({PINNED} if req.pin else set())),
        refs=meta.pop("refs", None),
        meta=meta,
        supports=[],
        blocks=[],
    )
    made = write_card(tx, place, draft, edges=_same_arguments(tx, graph, source.id, published_id))
    copy = card_in(tx, view_of(tx, place.branch, place.graph_doc), published_id, "card_id")
    return Published(
        branch=place.branch,
        trace_doc=place.trace_doc,
        graph_doc=place.graph_doc,
        source_card_id=source.id,
        published_card_id=published_id,
        inserted=made.inserted,
        pinned=PINNED in copy.tags,
        trace_ref=made.trace_ref,
    )


def _same_arguments(tx: Tx, graph: GraphView, source: str, copy: str) -> list[EdgeUpsert]:
    """The supports and blocks edges of a card, for its copy."""
    out = [
        EdgeUpsert(from_=copy, rel=row["rel"], to=row["to_id"])
        for row in edges_at(tx, graph, [source], "from", _MOST_EDGES)
    ]
    into = [
        EdgeUpsert(from_=row["from_id"], rel=row["rel"], to=copy)
        for row in edges_at(tx, graph, [source], "into", _MOST_EDGES)
    ]
    edges = [edge for edge in (*out, *into) if edge.rel in _ARGUMENTS]
    return sorted(
        (edge for edge in edges if edge.from_ != edge.to),
        key=lambda edge: (edge.from_, edge.rel, edge.to),
    )


@room.command(
    "think.nominal.merge",
    writes=True,
    idempotent=True,
    example=MergeNominal(),
    trim=[Pop("merged_groups", leave=1)],
)
def merge_nominal(tx: Tx, req: MergeNominal) -> NominalMerged:
    """Merge duplicate cards into the oldest of each group."""
    place = place_of(tx, req)
    graph = view_of(tx, place.branch, place.graph_doc)
    groups = _groups(_candidates(tx, graph, req))
    nodes = edges = 0
    merged: list[MergedGroup] = []
    for canonical, doubles in groups[: req.limit_groups]:
        applied = _merge(tx, place, graph, canonical, doubles)
        nodes, edges = nodes + applied.nodes_upserted, edges + applied.edges_upserted
        merged.append(
            MergedGroup(canonical_id=canonical.id, merged_ids=[one.id for one in doubles])
        )
    return NominalMerged(
        branch=place.branch,
        graph_doc=place.graph_doc,
        merged_groups=merged,
        applied=CardsApplied(nodes_upserted=nodes, edges_upserted=edges),
        has_more=len(groups) > req.limit_groups,
    )


def _candidates(tx: Tx, graph: GraphView, req: MergeNominal) -> list[Node]:
    if req.candidate_ids is not None:
        return [card_in(tx, graph, card_id, "candidate_ids") for card_id in req.candidate_ids]
    wanted = NodeFilter(types=frozenset(TYPES))
    rows = node_page(tx, graph, wanted, before=ENDLESS, limit=req.limit_candidates).rows
    return [node_from(row) for row in rows]


def _groups(nodes: Sequence[Node]) -> list[tuple[Node, list[Node]]]:
    """Groups of cards with the same words, ignoring case, spacing and a final `.` or `!`."""
    alike: dict[tuple[str, str, str], list[Node]] = {}
    for node in nodes:
        if node.status != "superseded" and not node.id.startswith(PUBLISHED):
            alike.setdefault((node.type, _words(node.title), _words(node.text)), []).append(node)
    groups = [sorted(one, key=lambda node: (node.last_seq, node.id)) for one in alike.values()]
    return [(group[0], group[1:]) for group in groups if len(group) > 1]


def _words(text: str | None) -> str:
    return " ".join((text or "").lower().split()).rstrip(".!")


def _merge(
    tx: Tx, place: Place, graph: GraphView, canonical: Node, doubles: Sequence[Node]
) -> CardsApplied:
    """Move the duplicates' tags and edges to the canonical card and mark them superseded."""
    tags = sorted({tag for node in (canonical, *doubles) for tag in node.tags})
    ops: list[Op] = [rewritten(canonical, canonical.status or "open", tags)]
    for double in doubles:
        ops += [
            EdgeUpsert(from_=canonical.id, rel=edge.rel, to=edge.to)
            if edge.from_ == double.id
            else EdgeUpsert(from_=edge.from_, rel=edge.rel, to=canonical.id)
            for edge in _edges(tx, graph, double.id)
            if canonical.id not in (edge.from_, edge.to)
        ]
        tags_left = [tag for tag in double.tags if tag != PINNED]
        ops.append(rewritten(double, "superseded", tags_left))
        ops.append(EdgeUpsert(from_=double.id, rel="merged_into", to=canonical.id))
    branch = ensure_branch(tx, place.branch)
    applied = apply_ops(tx, branch, place.graph_doc, ops, only_changes=True).applied
    return CardsApplied(
        nodes_upserted=applied.nodes_upserted, edges_upserted=applied.edges_upserted
    )


def _edges(tx: Tx, graph: GraphView, card_id: str) -> list[EdgeUpsert]:
    rows = [
        *edges_at(tx, graph, [card_id], "from", _MOST_EDGES),
        *edges_at(tx, graph, [card_id], "into", _MOST_EDGES),
    ]
    edges = [EdgeUpsert(from_=row["from_id"], rel=row["rel"], to=row["to_id"]) for row in rows]
    return [edge for edge in edges if edge.rel != "merged_into" and edge.from_ != edge.to]
