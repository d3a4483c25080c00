"""The budget that a call asks for, from its common arguments and its own."""

from __future__ import annotations

from typing import Any

from longhouse.kernel.budget import PROFILES, Budget
from longhouse.kernel.registry import Command
from longhouse.kernel.schema import Common

__all__ = ["budget_of"]


def budget_of(command: Command, common: Common, own: dict[str, Any]) -> Budget:
    """The requested budget; a command may define some of these arguments itself.

    A size over the cap is lowered in the command's own arguments too.
    """

    def asked(knob: str) -> int | None:
        value = own.get(knob, getattr(common, knob, None))
        return value if type(value) is int else None

    budget = Budget.of(
        common.budget_profile or command.profile,
        max_chars=asked("max_chars"),
        context_budget=asked("context_budget"),
        max_bytes=common.max_bytes,
        max_lines=common.max_lines,
        limit=asked("limit"),
    )
    for knob, _ in budget.clamped:
        if knob in own:
            own[knob] = PROFILES[budget.profile].cap(knob)
    return budget
