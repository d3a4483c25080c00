"""The strict gate: a step of a strict task closes only after its claim was tested and challenged.

`longhouse.thinking` judges the argument on the step's cards; if it lacks nothing, the gate is open.
"""

from __future__ import annotations

from typing import Any, cast

from longhouse.desk.room import room
from longhouse.desk.types.closing import GateCode, GateMiss, GateShown, ShowGate
from longhouse.kernel.budget import Pop
from longhouse.store.tx import Tx
from longhouse.thinking import argument_of_step
from longhouse.work import step_named

__all__ = ["show_gate"]


def _lines(result: dict[str, Any]) -> list[str]:
    state = "open" if result["passes"] else "shut"
    head = f"gate {state} {result['task']} {result['path']} mode={result['reasoning_mode']}"
    rows = [f"{one['code']} {one['message']}" for one in result.get("missing", ())]
    return [f"{head} | ref={result['step_id']}", *rows]


@room.command(
    "tasks.gate",
    also="tasks.strict tasks.step.gate tasks.reasoning.gate",
    example=ShowGate(task="TASK-001"),
    lines=_lines,
    trim=[Pop("missing", leave=1)],
)
def show_gate(tx: Tx, req: ShowGate) -> GateShown:
    """Check whether a step's claim was tested and challenged, as strict tasks require."""
    task, step, path = step_named(tx, req)
    argument = argument_of_step(tx, step.task_id, step.step_id)
    tx.suggestions.extend(argument.help)
    return GateShown(
        task=step.task_id,
        step_id=step.step_id,
        path=path,
        reasoning_mode=task["reasoning_mode"],
        passes=not argument.missing,
        missing=[
            GateMiss(code=cast(GateCode, one.code), message=one.message, refs=one.refs)
            for one in argument.missing
        ],
        cards=argument.cards,
    )
