"""`tasks.execute.next`: the same next actions as `status`, without the rest of it."""

from __future__ import annotations

from typing import Any

from longhouse.desk.next import derive_next
from longhouse.desk.room import room
from longhouse.desk.status import asking
from longhouse.desk.types.status import ExecuteNext, NextFound
from longhouse.store.tx import Tx

__all__ = []


def _lines(result: dict[str, Any]) -> list[str]:
    return [f"next {result['headline']}"]


@room.command(
    "tasks.execute.next",
    also="next execute tasks.what.next",
    op="execute.next",
    example=ExecuteNext(),
    lines=_lines,
)
def execute_next(tx: Tx, req: ExecuteNext) -> NextFound:
    """What to do next: the actions of `status`, most urgent first."""
    asking(tx, req)
    derived = derive_next(tx)
    tx.suggestions.extend(derived.suggestions)
    focus = derived.targeting.focus
    best = min(derived.suggestions, key=lambda s: ("high", "medium", "low").index(s.priority))
    return NextFound(
        headline=f"{focus}: {best.why}" if focus else best.why,
        focus=focus,
        state_fingerprint=derived.state_fingerprint,
    )
