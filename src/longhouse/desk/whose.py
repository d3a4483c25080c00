"""Which plan or task an identity continues when it names none, and why that one.

In order: its own focus, an open task that is assigned to it, one that it reserved files for, one
that it worked on last. Only then the workspace's focus counts, which may be somebody else's.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from longhouse.crew import held_by
from longhouse.memory import standing
from longhouse.store.tx import Tx
from longhouse.work import CLOSED, known_target, last_acted_on, tasks_page

__all__ = ["OwnWork", "own_work"]

MOST = 50


class OwnWork(NamedTuple):
    """A plan or task, and why it is the one to continue."""

    id: str
    why: str


def own_work(tx: Tx, me: str) -> OwnWork | None:
    """What the identity should continue; None if nothing is its own and there is no focus.

    Something closed is chosen only if nothing open is left.
    """
    closed = None
    for found in _candidates(tx, me):
        known = known_target(tx, found.id)
        if known is not None and known.status not in CLOSED:
            return found
        if known is not None and closed is None:
            closed = found
    return closed


def _candidates(tx: Tx, me: str) -> Iterator[OwnWork]:
    focus = standing(tx)
    if focus.own_focus:
        yield OwnWork(focus.own_focus, "your focus")
    assigned = tasks_page(tx, [f"assignee:{me}", "open"], limit=MOST)
    for row in sorted(assigned, key=lambda r: (r["status"] != "ACTIVE", -r["updated_at_ms"])):
        yield OwnWork(row["task_id"], "assigned to you")
    for one in held_by(tx, me, MOST):
        if one.bead_id:
            yield OwnWork(one.bead_id, f"you hold {one.scope} for it")
    for task in last_acted_on(tx, me):
        yield OwnWork(task, "you worked on it last")
    if focus.focus:
        yield OwnWork(focus.focus, "the workspace's focus: nothing open is yours")
