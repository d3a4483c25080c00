"""Subgoals: a question below another question, closed with the card that answers it."""

from __future__ import annotations

from longhouse.kernel.errors import Conflict, InvalidInput
from longhouse.memory import View as GraphView
from longhouse.memory import ensure_branch, view_of
from longhouse.memory.graph import apply_ops, edges_at
from longhouse.memory.types.graph import EdgeUpsert, Node
from longhouse.store.tx import Tx
from longhouse.thinking.finding import card_in, cards_in
from longhouse.thinking.moves import rewritten
from longhouse.thinking.parsing import GivenCard, parse_card
from longhouse.thinking.places import Place, place_of
from longhouse.thinking.room import room
from longhouse.thinking.types.cards import CloseSubgoal, OpenSubgoal, SubgoalClosed, SubgoalOpened
from longhouse.thinking.vocabulary import is_active
from longhouse.thinking.writing import write_card

__all__ = ["close_subgoal", "open_subgoal"]

TAG = "subgoal"
_MOST_DEEP = 32


@room.command(
    "think.subgoal.open",
    writes=True,
    additive=True,
    idempotent=True,
    example=OpenSubgoal(question_id="CARD-Q1", title="Which requests miss the cache?"),
)
def open_subgoal(tx: Tx, req: OpenSubgoal) -> SubgoalOpened:
    """Open a subgoal under a question; repeating the call has no effect."""
    place = place_of(tx, req)
    graph = view_of(tx, place.branch, place.graph_doc)
    question = card_in(tx, graph, req.question_id, "question_id")
    if question.type != "question":
        raise InvalidInput(
            f"question_id: {question.id} is a {question.type}, not a question",
            recovery="name a question card; think.frontier lists the open ones",
        )
    above = _above(tx, graph, question)
    if len(above) >= _MOST_DEEP:
        raise Conflict(
            f"question_id: {question.id} is {len(above)} subgoals deep; the limit is {_MOST_DEEP}",
            recovery="answer one of them first, or ask the question on its own",
        )
    title = req.title or f"Subgoal of: {question.title or question.id}"[:200]
    for child in _children(tx, graph, question.id):
        if child.title == title and is_active(child.status):
            return _opened(place, child.id, question.id)
    draft = GivenCard(
        id=None,
        type="question",
        title=title,
        text=None,
        status="open",
        tags=sorted({TAG, *(tag for tag in question.tags if tag.startswith(("a:", "step:")))}),
        refs=None,
        meta={"subgoal_of": question.id},
        supports=[],
        blocks=[],
    )
    made = write_card(tx, place, draft)
    edge = EdgeUpsert(from_=made.card_id, rel="subgoal_of", to=question.id)
    apply_ops(tx, ensure_branch(tx, place.branch), place.graph_doc, [edge])
    return _opened(place, made.card_id, question.id, made.trace_ref)


def _opened(place: Place, subgoal: str, question: str, ref: str | None = None) -> SubgoalOpened:
    return SubgoalOpened(
        branch=place.branch,
        trace_doc=place.trace_doc,
        graph_doc=place.graph_doc,
        subgoal_id=subgoal,
        question_id=question,
        inserted=ref is not None,
        trace_ref=ref,
    )


@room.command(
    "think.subgoal.close",
    writes=True,
    idempotent=True,
    example=CloseSubgoal(subgoal_id="CARD-S1", return_card="Only requests without a session."),
)
def close_subgoal(tx: Tx, req: CloseSubgoal) -> SubgoalClosed:
    """Close a subgoal, optionally with the card that answers it."""
    place = place_of(tx, req)
    graph = view_of(tx, place.branch, place.graph_doc)
    subgoal = card_in(tx, graph, req.subgoal_id, "subgoal_id")
    if TAG not in subgoal.tags:
        raise InvalidInput(
            f"subgoal_id: {subgoal.id} is not a subgoal",
            recovery="open one with think.subgoal.open, or close the card with think.set.status",
        )
    parent = next(iter(_parents(tx, graph, subgoal.id)), None)
    answer = _answer(tx, graph, place, req)
    ops = [] if answer is None else [EdgeUpsert(from_=answer, rel="answers", to=subgoal.id)]
    if answer is not None and parent is not None and answer != parent:
        ops.append(EdgeUpsert(from_=answer, rel="answers", to=parent))
    written = apply_ops(
        tx,
        ensure_branch(tx, place.branch),
        place.graph_doc,
        [rewritten(subgoal, "closed", subgoal.tags), *ops],
        only_changes=True,
    )
    return SubgoalClosed(
        branch=place.branch,
        trace_doc=place.trace_doc,
        graph_doc=place.graph_doc,
        subgoal_id=subgoal.id,
        question_id=parent,
        return_card_id=answer,
        changed=written.last_seq is not None,
    )


def _answer(tx: Tx, graph: GraphView, place: Place, req: CloseSubgoal) -> str | None:
    """The card that answers the subgoal: an existing one, named by id, or a new one."""
    given = req.return_card
    if given is None:
        return None
    if isinstance(given, str) and given.strip() in cards_in(tx, graph, [given.strip()]):
        found = given.strip()
    elif isinstance(given, str) and given.strip().startswith("CARD-") and " " not in given.strip():
        found = card_in(tx, graph, given.strip(), "return_card").id
    else:
        draft = parse_card(given, field="return_card")
        found = write_card(tx, place, draft, supports=draft.supports, blocks=draft.blocks).card_id
    if found == req.subgoal_id:
        raise InvalidInput(
            f"return_card: {found} cannot answer itself", recovery="name another card"
        )
    return found


def _parents(tx: Tx, graph: GraphView, card_id: str) -> list[str]:
    rows = edges_at(tx, graph, [card_id], "from", 50)
    return [row["to_id"] for row in rows if row["rel"] == "subgoal_of"]


def _children(tx: Tx, graph: GraphView, card_id: str) -> list[Node]:
    rows = edges_at(tx, graph, [card_id], "into", 200)
    ids = [row["from_id"] for row in rows if row["rel"] == "subgoal_of"]
    return list(cards_in(tx, graph, ids).values())


def _above(tx: Tx, graph: GraphView, card: Node) -> list[str]:
    """A question and those above it, nearest first; a cycle is refused."""
    found, at = [card.id], card.id
    while parents := _parents(tx, graph, at):
        at = parents[0]
        if at in found:
            raise Conflict(
                f"question_id: {card.id} is a subgoal of itself, through {at}",
                recovery=f"break the cycle: delete the edge subgoal_of into {at} with graph.apply",
            )
        found.append(at)
        if len(found) > _MOST_DEEP:
            break
    return found
