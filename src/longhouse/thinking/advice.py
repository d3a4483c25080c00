"""What `status` reports about cards: an open one about the work in focus."""

from __future__ import annotations

from longhouse.kernel.advice import Advice
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.memory import ENDLESS, reasoning_ref, standing, view_of
from longhouse.memory.graph import NodeFilter, node_page
from longhouse.store.tx import Tx
from longhouse.thinking.room import room

__all__ = ["open_cards"]

_TYPES = frozenset({"hypothesis", "question"})


@room.advises
def open_cards(tx: Tx) -> Advice:
    """Suggest the newest open hypothesis or question about the work in focus."""
    focus = standing(tx).focus
    if focus is None:
        return Advice()
    ref = reasoning_ref(focus)
    wanted = NodeFilter(types=_TYPES, status=frozenset({"open"}))
    graph = view_of(tx, ref.branch, ref.graph_doc)
    if not node_page(tx, graph, wanted, before=ENDLESS, limit=1).rows:
        return Advice()
    from longhouse.thinking.places import place_of
    from longhouse.thinking.selecting import OPEN, Looker
    from longhouse.thinking.types.reads import ShowWatch

    try:
        place = place_of(tx, ShowWatch(target=focus))
    except UnknownId:
        return Advice()
    looker = Looker(tx, graph, place, drafts=False)
    found = looker.page(1, types=_TYPES, status=OPEN)
    if not found:
        return Advice()
    why = f"{found[0].type} {found[0].id} is open: {found[0].label}"
    return Advice(suggestions=[Suggestion(ShowWatch(target=focus), why, priority="low")])
