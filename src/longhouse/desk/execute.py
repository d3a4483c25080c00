"""`tasks.execute.next`: the next actions of `status`, without the rest."""

from __future__ import annotations

from typing import Any

from longhouse.desk.next import derive_next
from longhouse.desk.room import room
from longhouse.desk.status import asking
from longhouse.desk.types.status import ExecuteNext, NextFound
from longhouse.kernel.budget import Drop, Keep
from longhouse.kernel.envelope import actions_for
from longhouse.store.tx import Tx

__all__ = []


def _lines(result: dict[str, Any]) -> list[str]:
    return [f"next {result['headline']}"]


@room.command(
    "tasks.execute.next",
    also="next execute tasks.what.next tasks.next.step tasks.step.next",
    op="execute.next",
    example=ExecuteNext(),
    lines=_lines,
    trim=[Drop("state_fingerprint"), Keep(("headline", "focus"))],
)
def execute_next(tx: Tx, req: ExecuteNext) -> NextFound:
    """Get the next actions, most urgent first, as `status` gives them."""
    asking(tx, req)
    derived = derive_next(tx)
    tx.suggestions.extend(derived.suggestions)
    focus = derived.targeting.focus
    first = actions_for(tx.facts.registry, tx.workspace, derived.suggestions)[0]["why"]
    return NextFound(
        headline=f"{focus}: {first}" if focus else first,
        focus=focus,
        state_fingerprint=derived.state_fingerprint,
    )
