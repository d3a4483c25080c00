"""What `status` reports about cards: an open one about the work in focus."""

from __future__ import annotations

from longhouse.kernel.advice import Advice
from longhouse.kernel.errors import Suggestion, UnknownId
from longhouse.memory.targeting import standing
from longhouse.store.tx import Tx
from longhouse.thinking.room import room

__all__ = ["open_cards"]


@room.advises
def open_cards(tx: Tx) -> Advice:
    """Suggest the newest open hypothesis or question about the work in focus."""
    focus = standing(tx).focus
    if focus is None:
        return Advice()
    from longhouse.memory import view_of  # few `status` calls get this far
    from longhouse.thinking.places import place_of
    from longhouse.thinking.selecting import OPEN, Looker
    from longhouse.thinking.types.reads import ShowWatch

    try:
        place = place_of(tx, ShowWatch(target=focus))
    except UnknownId:
        return Advice()
    looker = Looker(tx, view_of(tx, place.branch, place.graph_doc), place, drafts=False)
    found = looker.page(1, types=("hypothesis", "question"), status=OPEN)
    if not found:
        return Advice()
    why = f"{found[0].type} {found[0].id} is open: {found[0].label}"
    return Advice(suggestions=[Suggestion(ShowWatch(target=focus), why, priority="low")])
