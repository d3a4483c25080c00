"""The line formats of the room, to the character."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.kit import Lh
from tests.work.kit import close, new_task, step

GOLDEN = Path(__file__).parents[1] / "golden"

CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "tasks_context": ("tasks.context", {"tasks_limit": 3}),
    "tasks_delta": ("tasks.delta", {"limit": 6}),
    "tasks_error": ("tasks.step.close", {"task": "TASK-001", "checkpoints": "gate"}),
    "tasks_history": ("tasks.history", {"task": "TASK-001", "limit": 4}),
    "tasks_lint": ("tasks.lint", {"task": "TASK-002"}),
    "tasks_next": ("tasks.execute.next", {}),
    "tasks_radar": ("tasks.radar", {"task": "TASK-001"}),
    "tasks_ready": ("tasks.ready", {"limit": 2}),
    "tasks_snapshot": ("tasks.snapshot", {}),
}


@pytest.fixture
def office(lh: Lh) -> Lh:
    """A plan with a little of everything."""
    lh("tasks.plan.create", title="Faster search", contract="Search answers in 50 ms.")
    new_task(
        lh,
        "Measure",
        step("Index", proof={"tests": "require"}, blockers=["No access"]),
        "Tell",
        parent="PLAN-001",
        description="It takes 900 ms.",
        assignee="amber-otter",
    )
    new_task(lh, "Read", title="Research: what others do", parent="PLAN-001")
    new_task(lh, title="A title that is long | and strange\nand goes on " + "on " * 40)
    new_task(lh, title="Urgent", priority="HIGH")
    lh("tasks.edit", task="TASK-002", depends_on=["TASK-001"])
    lh("tasks.note", task="TASK-001", note="It is the full scan.\nSee the log.", agent_id="otter")
    close(lh, "TASK-001")
    lh("tasks.focus.set", task="TASK-001")
    return lh


@pytest.mark.parametrize("name", CASES)
def test_lines_look_as_they_did(office: Lh, name: str) -> None:
    cmd, args = CASES[name]
    said = "\n".join(office.lines(cmd, **args)) + "\n"
    golden = GOLDEN / f"{name}.txt"
    assert said == golden.read_text(encoding="utf-8"), f"{golden} is not what is said now"
