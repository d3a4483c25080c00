"""What `open` finds in this room: `CARD-…` and `a:…`."""

from __future__ import annotations

import re
from typing import Any

from longhouse.kernel.clock import rfc3339
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.memory import view_of
from longhouse.memory.graph import edges_at
from longhouse.store.tx import Tx
from longhouse.thinking.anchor_views import lens_on, unknown_anchor
from longhouse.thinking.finding import find_card
from longhouse.thinking.room import room
from longhouse.thinking.types.anchors import AnchorOpened
from longhouse.thinking.types.opening import CardBody, CardEdges, CardHead, CardOpened
from longhouse.thinking.types.reads import QueryCards

__all__ = ["open_anchor", "open_card"]

_MOST_EDGES = 100


@room.opens(
    "card",
    r"CARD-[^\s@|]{1,195}",
    "a card",
    "CARD-12",
    mention=r"CARD-[A-Za-z0-9](?:[\w.-]*\w)?",
)
def open_card(tx: Tx, req: Any, match: re.Match[str]) -> CardOpened:
    """A card, in any graph, with its supports and blocks edges."""
    found = find_card(tx, match[0])
    if found is None:
        raise UnknownId(
            f"id: there is no card {match[0][:80]}",
            recovery="copy an id from think.query or a snapshot",
            suggest=[Suggestion(QueryCards(), "list the cards")],
        )
    node = found.node
    graph = view_of(tx, found.branch, found.doc)
    out = edges_at(tx, graph, [node.id], "from", _MOST_EDGES)
    into = edges_at(tx, graph, [node.id], "into", _MOST_EDGES)

    def ends(rows: list[dict[str, Any]], rel: str, end: str) -> list[str]:
        return sorted(row[end] for row in rows if row["rel"] == rel)

    return CardOpened(
        kind="card",
        id=node.id,
        head=CardHead(
            seq=node.last_seq,
            ts=rfc3339(node.last_ts_ms),
            ts_ms=node.last_ts_ms,
            branch=found.branch,
            doc=found.doc,
        ),
        card=CardBody(
            id=node.id,
            type=node.type,
            title=node.title,
            text=node.text,
            status=node.status or "open",
            tags=node.tags,
            meta=node.meta or {},
        ),
        edges=CardEdges(
            supports=ends(out, "supports", "to_id"),
            blocks=ends(out, "blocks", "to_id"),
            supported_by=ends(into, "supports", "from_id"),
            blocked_by=ends(into, "blocks", "from_id"),
        ),
    )


@room.opens(
    "anchor",
    r"[Aa]:[A-Za-z0-9][A-Za-z0-9-]{0,63}",
    "an anchor",
    "a:core",
    mention=r"a:[a-z0-9][a-z0-9-]{0,63}",
    proves=False,  # it names a part of the code, not what was done
    cites=False,
)
def open_anchor(tx: Tx, req: Any, match: re.Match[str]) -> AnchorOpened:
    """An anchor with the cards about it, settled cards first."""
    lens = lens_on(tx, match[0], drafts=req.include_drafts, limit=req.limit)
    if lens is None:
        raise unknown_anchor(match[0])
    return AnchorOpened(
        kind="anchor",
        id=lens.anchor.id,
        anchor=lens.anchor,
        stats=lens.stats,
        cards=lens.cards,
        count=len(lens.cards),
    )
