"""The records that the work room's examples need; see tests/contracts/world.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.kit import Lh

STEPS = [
    {"title": "Measure", "success_criteria": ["The slow query is named"]},
    {"title": "Index", "success_criteria": ["It is fast"], "tests": ["make bench"]},
    {"title": "Tell", "success_criteria": ["The team knows"]},
]


def build(lh: Lh) -> None:
    """A plan with a task of three steps."""
    lh("tasks.plan.create", title="Faster search", kind="plan")
    lh("tasks.plan.create", title="Index the search", parent="PLAN-001", steps=STEPS)


def _named(lh: Lh) -> None:
    """Sets an agent, because leases need a holder."""
    lh.house.facts.agent_id = "amber-otter"


def _leased(lh: Lh) -> None:
    _named(lh)
    lh("tasks.step.lease.claim", task="TASK-001")


def _all_closed(lh: Lh) -> None:
    for _ in STEPS:
        lh("tasks.step.close", task="TASK-001", checkpoints="gate")


PREPARE: dict[str, Callable[[Lh], Any]] = {
    "tasks.complete": _all_closed,
    "tasks.macro.finish": _all_closed,
    "tasks.done": lambda lh: lh("tasks.verify", task="TASK-001", checkpoints="gate"),
    "tasks.step.lease.claim": _named,
    "tasks.step.lease.release": _leased,
    "tasks.step.lease.renew": _leased,
}
