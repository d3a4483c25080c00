"""What a request applies to: a plan or task, a branch and its documents, a step."""

from __future__ import annotations

from typing import Annotated, Any, Generic

from msgspec import Meta

from longhouse.kernel.values import Request, ResultT, Value
from longhouse.memory.types.documents import BranchName, DocName, Target
from longhouse.work import inside

__all__ = ["Scoped", "StepPlace", "StepWord", "Stepped", "Traced"]

StepWord = Annotated[
    str,
    Meta(
        min_length=1,
        max_length=800,
        pattern=r"\A(focus|STEP-[0-9A-Fa-f]+|s:[0-9]+(\.s:[0-9]+)*)\Z",
        title='"focus", STEP-… or a path like s:0',
        examples=["focus"],
    ),
]


class Scoped(Request[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """Where the graph is: a plan or task, or a branch and a document on it."""

    target: Target | None = None
    branch: BranchName | None = None
    ref: Annotated[BranchName, Meta(description="same as branch")] | None = None
    graph_doc: DocName | None = None


class Stepped(Scoped[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """Like `Scoped`, optionally limited to one step of a task."""

    step: StepWord | None = None


class Traced(Stepped[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """Like `Stepped`, with the trace document."""

    trace_doc: DocName | None = None


class StepPlace(Value, frozen=True, kw_only=True):
    """The step that a call applies to."""

    task_id: str
    step_id: str
    path: str

    @property
    def tag(self) -> str:
        return f"step:{self.step_id.lower()}"

    def holds(self, meta: dict[str, Any] | None, *, event: bool) -> bool:
        """Whether an entry belongs to this step: a note by `meta.step`, an event by its path."""
        meta = meta or {}
        if event:
            path = meta.get("path")
            here = meta.get("task_id") == self.task_id
            return here and isinstance(path, str) and inside(path, self.path)
        step = meta.get("step")
        return isinstance(step, dict) and step.get("step_id") == self.step_id
