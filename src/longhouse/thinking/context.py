"""Reading cards: the slice that matters, pages by filter, open cards, and the next one."""

from __future__ import annotations

from typing import Any

from longhouse.kernel.budget import Clip, Drop, Keep, Pop, Trim
from longhouse.memory import ENDLESS, normal_tags, view_of
from longhouse.memory.graph import NodeFilter, node_page
from longhouse.memory.types.documents import Pagination
from longhouse.store.recall.locating import ask
from longhouse.store.tx import Tx
from longhouse.thinking.finding import card_from
from longhouse.thinking.places import Place, place_of
from longhouse.thinking.room import room
from longhouse.thinking.selecting import Looker, counted, lens_of
from longhouse.thinking.types.cards import Card
from longhouse.thinking.types.reads import (
    CardPage,
    ContextSlice,
    Frontier,
    FrontierLens,
    FrontierShown,
    NextShown,
    QueryCards,
    ShowContext,
    ShowFrontier,
    ShowNext,
)
from longhouse.thinking.vocabulary import TYPES, check_status, check_type, is_shown

__all__ = ["FRONTIER_TRIM", "limits_of", "query_cards", "show_context", "show_frontier"]

_LOOKED_AT = 2_000
_KINDS = ("hypotheses", "questions", "subgoals", "tests")
FRONTIER_TRIM: list[Trim] = [
    *(Clip(f"frontier.{kind}.text", 200) for kind in _KINDS),
    *(Drop(f"frontier.{kind}.meta") for kind in _KINDS),
    *(Pop(f"frontier.{kind}", leave=1) for kind in reversed(_KINDS)),
]


@room.command(
    "think.context",
    also="show overview",
    example=ShowContext(limit_cards=30),
    trim=[
        Clip("cards.text", 400),
        Pop("cards", leave=1),
        Drop("cards.meta"),
        Clip("cards.text", 80),
        Drop("stats"),
    ],
)
def show_context(tx: Tx, req: ShowContext) -> ContextSlice:
    """Show the cards that matter now: pins, open cards, then the newest."""
    place, lens = place_of(tx, req), lens_of(req)
    graph = view_of(tx, place.branch, place.graph_doc)
    cards = Looker(tx, graph, place, drafts=lens.drafts).select(req.limit_cards, lens.view)
    return ContextSlice(
        branch=place.branch,
        graph_doc=place.graph_doc,
        step_focus=place.step,
        view=lens.view,
        stats=counted(cards),
        cards=cards,
    )


@room.command(
    "think.query",
    also=(
        "search find think.card.search cards think.card.list list filter "
        "hypotheses:types=hypothesis decisions:types=decision tests:types=test"
    ),
    example=QueryCards(types=["hypothesis"], status="open"),
    trim=[
        Clip("cards.text", 400),
        Pop("cards", leave=1, cursor="last_seq"),
        Drop("cards.meta"),
        Clip("cards.text", 80),
    ],
)
def query_cards(tx: Tx, req: QueryCards) -> CardPage:
    """Find cards that match all filters, newest first."""
    place = place_of(tx, req)
    return page_of_cards(tx, place, req, drafts=req.all_lanes or req.include_drafts)


def page_of_cards(tx: Tx, place: Place, req: QueryCards, *, drafts: bool) -> CardPage:
    """One page; reads a bounded number of rows, so it may stop early if many are hidden."""
    graph = view_of(tx, place.branch, place.graph_doc)
    wanted = _filter(req, place)
    found: list[Card] = []
    before = req.cursor if req.cursor is not None else ENDLESS
    more: int | None = before
    looked_at = 0
    while more is not None and len(found) <= req.limit and looked_at < _LOOKED_AT:
        page = node_page(tx, graph, wanted, before=more, limit=req.limit + 1)
        looked_at += req.limit + 1
        cards = map(card_from, page.rows)
        found += [card for card in cards if drafts or is_shown(card.type, card.tags)]
        more = page.more_from
    if len(found) > req.limit:
        found = found[: req.limit]
        more = found[-1].last_seq
    return CardPage(
        branch=place.branch,
        graph_doc=place.graph_doc,
        step_focus=place.step,
        cards=found,
        pagination=Pagination(
            cursor=req.cursor,
            next_cursor=more,
            has_more=more is not None,
            limit=req.limit,
            count=len(found),
        ),
    )


def _filter(req: QueryCards, place: Place) -> NodeFilter:
    status = [req.status] if isinstance(req.status, str) else req.status
    tags_any = normal_tags(req.tags_any, "tags_any") if req.tags_any else None
    tags = normal_tags(req.tags_all or (), "tags_all")
    step = [place.step.tag] if place.step else []
    return NodeFilter(
        ids=frozenset(req.ids) if req.ids is not None else None,
        types=frozenset(check_type(kind, "types") for kind in req.types or TYPES),
        status=frozenset(check_status(word) for word in status) if status else None,
        tags_any=frozenset(tags_any) if tags_any else None,
        tags_all=frozenset([*tags, *step]),
        text=ask(req.text) if req.text else None,
    )


def limits_of(req: FrontierLens[Any]) -> dict[str, int]:
    return {kind: getattr(req, f"limit_{kind}") for kind in _KINDS}


@room.command(
    "think.frontier",
    also="think.open.questions status questions",
    example=ShowFrontier(),
    trim=[
        *FRONTIER_TRIM,
        Drop("step_focus"),
        Keep(("branch", "graph_doc", "next")),
        Keep(("next",)),
    ],
)
def show_frontier(tx: Tx, req: ShowFrontier) -> FrontierShown:
    """List the open hypotheses, questions, subgoals and tests, newest first."""
    place, lens = place_of(tx, req), lens_of(req)
    graph = view_of(tx, place.branch, place.graph_doc)
    frontier = Looker(tx, graph, place, drafts=lens.drafts).frontier(limits_of(req))
    first, _ = _first_two(frontier)
    return FrontierShown(
        branch=place.branch,
        graph_doc=place.graph_doc,
        step_focus=place.step,
        frontier=frontier,
        next=first.id if first else None,
    )


@room.command(
    "think.next",
    example=ShowNext(),
    trim=[
        Clip("candidate.text", 400),
        Drop("backup"),
        Drop("candidate.meta"),
        Clip("candidate.text", 80),
    ],
)
def show_next(tx: Tx, req: ShowNext) -> NextShown:
    """Show the open card to work on next, and a backup."""
    place, lens = place_of(tx, req), lens_of(req)
    graph = view_of(tx, place.branch, place.graph_doc)
    frontier = Looker(tx, graph, place, drafts=lens.drafts).frontier(limits_of(req))
    first, second = _first_two(frontier)
    return NextShown(
        branch=place.branch,
        graph_doc=place.graph_doc,
        step_focus=place.step,
        candidate=first,
        backup=second,
        why=f"the newest open {first.type}" if first else "nothing is open here",
    )


def _first_two(frontier: Frontier) -> tuple[Card | None, Card | None]:
    """The two most recently changed open cards."""
    parts = (frontier.hypotheses, frontier.questions, frontier.subgoals, frontier.tests)
    cards = sorted((card for part in parts for card in part), key=lambda card: -card.last_seq)
    return next(iter(cards), None), next(iter(cards[1:]), None)
