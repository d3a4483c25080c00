"""Which cards a view shows, in a stable order: pins, then open cards, then the newest.

Each part reads a bounded number of rows from an index, regardless of the size of the graph.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from longhouse.memory import ENDLESS
from longhouse.memory import View as GraphView
from longhouse.memory.graph import NodeFilter, edge_from, edges_among, node_page
from longhouse.memory.types.graph import Edge
from longhouse.store.tx import Tx
from longhouse.thinking.finding import card_from
from longhouse.thinking.places import Place
from longhouse.thinking.types.cards import Card
from longhouse.thinking.types.reads import Counted, Frontier, LaneCounts, LaneSummary
from longhouse.thinking.vocabulary import (
    CANON,
    CANON_TYPES,
    PINNED,
    TYPES,
    View,
    is_draft,
    is_shown,
    lane_of,
)

__all__ = ["Looker", "counted", "edges_of", "lane_summary", "lens_of"]

_MOST_PINS = 8
_MOST_OPEN = {"hypotheses": 6, "questions": 6, "subgoals": 4, "tests": 6}
_MOST_EDGES = 2_000
_LOOKED_AT = 400
OPEN = frozenset({"open"})


class ChosenView(NamedTuple):
    """The view that a request asks for, and whether it shows drafts."""

    view: View
    drafts: bool


def lens_of(req: Any) -> ChosenView:
    """`smart` with a context budget, else `explore`; `audit` shows drafts."""
    view: View = req.view or ("smart" if req.context_budget is not None else "explore")
    return ChosenView(view, req.all_lanes or req.include_drafts or view == "audit")


class Looker:
    """Reads cards of one graph through one lens."""

    def __init__(self, tx: Tx, graph: GraphView, place: Place, *, drafts: bool) -> None:
        self._tx = tx
        self._graph = graph
        self._drafts = drafts
        self._tags = frozenset({place.step.tag}) if place.step else frozenset[str]()

    def shows(self, card: Card) -> bool:
        return self._drafts or is_shown(card.type, card.tags)

    def page(
        self,
        limit: int,
        *,
        types: Iterable[str] = TYPES,
        status: frozenset[str] | None = None,
        tags: Iterable[str] = (),
        takes: Callable[[Card], bool] | None = None,
    ) -> list[Card]:
        """Up to `limit` visible cards, newest first."""
        wanted = NodeFilter(
            types=frozenset(types), status=status, tags_all=self._tags | frozenset(tags)
        )
        found: list[Card] = []
        before, looked_at = ENDLESS, 0
        while limit > len(found) and looked_at < _LOOKED_AT:
            count = min(max(limit * 2, 8), 100)
            page = node_page(self._tx, self._graph, wanted, before=before, limit=count)
            cards = [card_from(row) for row in page.rows]
            looked_at += count
            found += [c for c in cards if self.shows(c) and (takes is None or takes(c))]
            if page.more_from is None:
                break
            before = page.more_from
        return found[:limit]

    def pins(self, limit: int) -> list[Card]:
        return self.page(limit, tags=[PINNED])

    def frontier(self, limits: dict[str, int]) -> Frontier:
        """The open cards, newest first; a subgoal is a question tagged `subgoal`."""
        subgoals = self.page(limits["subgoals"], types=["question"], status=OPEN, tags=["subgoal"])
        return Frontier(
            hypotheses=self.page(limits["hypotheses"], types=["hypothesis"], status=OPEN),
            questions=self.page(
                limits["questions"],
                types=["question"],
                status=OPEN,
                takes=lambda card: "subgoal" not in card.tags,
            ),
            subgoals=subgoals,
            tests=self.page(limits["tests"], types=["test"], status=OPEN),
        )

    def recent(self, limit: int, status: frozenset[str] | None) -> list[Card]:
        """The newest cards: of any type if drafts are shown, else those visible by default."""
        if self._drafts:
            return self.page(limit, status=status)
        others = [kind for kind in TYPES if kind not in CANON_TYPES]
        found = self.page(limit, types=CANON_TYPES, status=status)
        found += self.page(limit, types=others, status=status, tags=[CANON])
        return sorted(found, key=lambda card: -card.last_seq)[:limit]

    def select(self, limit: int, view: View) -> list[Card]:
        """Pins, open cards, then the newest; only `explore` includes cards that are not open."""
        chosen = {card.id: card for card in self.pins(min(limit, _MOST_PINS))}
        opened = self.frontier(_MOST_OPEN)
        for part in (opened.hypotheses, opened.questions, opened.subgoals, opened.tests):
            for card in part:
                chosen.setdefault(card.id, card)
        if len(chosen) < limit:
            for card in self.recent(limit, None if view == "explore" else OPEN):
                chosen.setdefault(card.id, card)
        return list(chosen.values())[:limit]


def edges_of(tx: Tx, graph: GraphView, cards: Iterable[Card]) -> list[Edge]:
    """The edges among these cards."""
    ids = [card.id for card in cards]
    return [edge_from(row) for row in edges_among(tx, graph, ids, _MOST_EDGES)]


def counted(cards: list[Card]) -> Counted:
    by_type = Counter(card.type for card in cards)
    return Counted(cards=len(cards), by_type={kind: by_type[kind] for kind in sorted(by_type)})


def lane_summary(cards: list[Card]) -> LaneSummary:
    """The cards counted by lane, with the first pinned and first open card of each."""
    lanes: dict[str, list[Card]] = {}
    for card in cards:
        lanes.setdefault(lane_of(card.tags), []).append(card)
    return LaneSummary(
        lanes=[
            LaneCounts(
                lane=lane,
                cards=len(own),
                pinned=sum(PINNED in card.tags for card in own),
                open=sum(card.status == "open" for card in own),
                top_pinned=next((card.id for card in own if PINNED in card.tags), None),
                top_open=next((card.id for card in own if card.status == "open"), None),
            )
            for lane, own in sorted(lanes.items())
        ],
        drafts=sum(is_draft(card.type, card.tags) for card in cards),
    )
