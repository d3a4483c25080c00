"""How much of each kind a resume shows, by view and budget."""

from __future__ import annotations

from typing import NamedTuple

from longhouse.desk.types.lenses import View
from longhouse.desk.types.resume import ResumeSuper

__all__ = ["ViewLimits", "limits_of", "view_of_request"]


class ViewLimits(NamedTuple):
    """The maximum number of each kind."""

    events: int
    decisions: int
    evidence: int
    blockers: int
    notes: int
    trace: int
    cards: int
    signals: int
    actions: int


_UNASKED = 12_000
_FIXED = {
    "full": ViewLimits(20, 5, 5, 5, 10, 20, 20, 6, 6),
    "focus_only": ViewLimits(12, 3, 3, 3, 3, 8, 40, 6, 2),
    "audit": ViewLimits(14, 6, 6, 6, 12, 24, 60, 8, 2),
}
_SMART = (
    (2_000, ViewLimits(6, 3, 3, 3, 4, 10, 18, 5, 2)),
    (6_000, ViewLimits(10, 4, 4, 4, 8, 16, 26, 6, 2)),
    (12_000, ViewLimits(14, 5, 5, 5, 12, 24, 40, 6, 2)),
)
_MOST = ViewLimits(20, 6, 6, 6, 12, 30, 60, 8, 2)
_EXPLORED = {18: 26, 26: 40, 40: 70, 60: 100}
"""The number of cards `explore` shows, by the number `smart` shows."""


def view_of_request(req: ResumeSuper) -> View:
    """The requested view, else `smart` if a budget is given, else `full`."""
    return req.view or ("full" if req.context_budget is None else "smart")


def limits_of(view: View, chars: int | None) -> ViewLimits:
    """Fixed for most views; `smart` and `explore` follow the budget."""
    if view in _FIXED:
        return _FIXED[view]
    room = _UNASKED if chars is None else chars
    found = next((limits for most, limits in _SMART if room <= most), _MOST)
    return found._replace(cards=_EXPLORED[found.cards]) if view == "explore" else found
