"""Request and result of `tasks.macro.start`."""

from __future__ import annotations

from typing import Any, Literal

from longhouse.desk.types.lenses import ResumeChars, ResumeView
from longhouse.kernel.values import Result, Value
from longhouse.work.types.creating import NewWork
from longhouse.work.types.entities import StepPlaced

__all__ = ["Reference", "Start", "Started"]


class Start(NewWork["Started"], frozen=True, kw_only=True):
    """Create a task with steps, focus on it, and get what you need to begin."""

    view: ResumeView | None = None
    refs: bool = False
    resume_max_chars: ResumeChars | None = None


class Reference(Value, frozen=True, kw_only=True):
    """Something that `open` can show."""

    kind: Literal["TASK", "PLAN"]
    id: str
    summary: str


class Started(Result, frozen=True, kw_only=True):
    """The task, now in focus, and what it needs next; the rest comes with a view."""

    task_id: str
    plan_id: str
    next: str
    task_qualified_id: str | None = None
    plan_qualified_id: str | None = None
    plan_created: bool | None = None
    steps: list[StepPlaced] = []
    focus: str | None = None
    focus_previous: str | None = None
    resume: dict[str, Any] | None = None
    references: list[Reference] = []
