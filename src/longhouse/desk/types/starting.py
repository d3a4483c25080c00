"""Request and result of `tasks.macro.start`."""

from __future__ import annotations

from typing import Any, Literal

from longhouse.desk.types.lenses import ResumeChars, View
from longhouse.kernel.values import Result, Value
from longhouse.work.types.creating import NewWork
from longhouse.work.types.entities import StepPlaced

__all__ = ["Reference", "Start", "Started"]


class Start(NewWork["Started"], frozen=True, kw_only=True):
    """Create a task with steps, focus on it, and get what you need to begin."""

    view: View = "smart"
    refs: bool = False
    resume_max_chars: ResumeChars = 6_000


class Reference(Value, frozen=True, kw_only=True):
    """Something that `open` can show."""

    kind: Literal["TASK", "PLAN"]
    id: str
    summary: str


class Started(Result, frozen=True, kw_only=True):
    task_id: str
    task_qualified_id: str
    plan_id: str
    plan_qualified_id: str
    plan_created: bool
    steps: list[StepPlaced]
    focus: str
    focus_previous: str | None
    next: str
    resume: dict[str, Any]
    references: list[Reference] = []
