"""`think.blast`: everything that depends on a card, for when it is refuted.

A card depends on what supports it, a decision on its grounds, and any record on what it cites. The
search continues from each card it finds, nearest first, up to a limit.
"""

from __future__ import annotations

from collections import Counter

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.memory import view_of
from longhouse.memory.graph import edges_at
from longhouse.store.tx import Tx
from longhouse.thinking.citing import cited_by
from longhouse.thinking.engine.slice import grounds
from longhouse.thinking.finding import FoundCard, cards_in, find_card
from longhouse.thinking.room import room
from longhouse.thinking.types.cards import Card
from longhouse.thinking.types.opening import Blast, BlastShown, Resting
from longhouse.thinking.types.reads import QueryCards

__all__ = ["show_blast"]

_MOST = 200
_MOST_EDGES = 100


@room.command(
    "think.blast",
    also="impact dependents affected consequences",
    example=Blast(card="CARD-H1"),
    trim=[
        Clip("card.text", 200),
        Drop("card.meta"),
        Pop("rests", leave=1),
        Clip("rests.title", 60),
        Clip("card.text", 60),
    ],
)
def show_blast(tx: Tx, req: Blast) -> BlastShown:
    """Show what depends on a card: cards, decisions, proofs of steps, jobs."""
    start = find_card(tx, req.card)
    if start is None:
        raise UnknownId(
            f"card: there is no card {req.card[:80]}",
            recovery="copy an id from think.query",
            suggest=[Suggestion(QueryCards(), "list the cards")],
        )
    found: dict[str, Resting] = {}
    waiting = [start]
    while waiting and len(found) < _MOST:
        at = waiting.pop(0)
        for resting in _on(tx, at):
            if resting.ref in found or resting.ref == start.node.id:
                continue
            found[resting.ref] = resting
            below = find_card(tx, resting.ref) if resting.ref.startswith("CARD-") else None
            if below is not None:
                waiting.append(below)
    rests = list(found.values())[:_MOST]
    counts = Counter(one.kind for one in rests)
    node = start.node
    return BlastShown(
        card=Card(
            id=node.id,
            type=node.type,
            title=node.title,
            text=node.text,
            status=node.status or "open",
            tags=node.tags,
            meta=node.meta,
            last_seq=node.last_seq,
            last_ts_ms=node.last_ts_ms,
        ),
        rests=rests,
        counts={kind: counts[kind] for kind in sorted(counts)},
        has_more_rests=bool(waiting),
    )


def _on(tx: Tx, at: FoundCard) -> list[Resting]:
    """What depends directly on a card, by an edge in its graph or by citing it."""
    graph = view_of(tx, at.branch, at.doc)
    node = at.node
    out = [r["to_id"] for r in edges_at(tx, graph, [node.id], "from", _MOST_EDGES) if _holds(r)]
    into = [r["from_id"] for r in edges_at(tx, graph, [node.id], "into", _MOST_EDGES) if _holds(r)]
    ends = cards_in(tx, graph, [*out, *into])
    resting = [end for end in out if end in ends and not grounds(node.type, ends[end].type)]
    resting += [end for end in into if end in ends and grounds(ends[end].type, node.type)]
    found = [
        Resting(
            ref=ends[end].id,
            kind=ends[end].type,
            title=ends[end].title,
            status=ends[end].status,
            via=f"supports:{node.id}",
        )
        for end in sorted(set(resting))
    ]
    return found + [
        Resting(
            ref=one.ref, kind=one.kind, title=one.title, status=one.status, via=f"cites:{node.id}"
        )
        for one in cited_by(tx, node.id)
    ]


def _holds(row: dict[str, object]) -> bool:
    return row["rel"] == "supports"
