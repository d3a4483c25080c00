"""Requests and results of the strict gate and of the macros that finish work."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.desk.types.lenses import ResumeChars, ResumeView
from longhouse.kernel.names import also
from longhouse.kernel.values import Result, Value
from longhouse.work import ReasoningMode
from longhouse.work.types.changing import Checkpoints, EndOrKeep
from longhouse.work.types.creating import Bootstrapped, NewWork
from longhouse.work.types.entities import (
    EntityMoved,
    Event,
    Hanging,
    Step,
    StepMoved,
    StepTarget,
    Target,
)
from longhouse.work.types.views import Handoff

__all__ = [
    "CloseStepNow",
    "CreateDone",
    "CreatedDone",
    "Finish",
    "Finished",
    "GateCode",
    "GateMiss",
    "GateShown",
    "Override",
    "ShowGate",
    "StepClosed",
]

GateCode = Literal["NO_CLAIM", "BM4_HYPOTHESIS_NO_TEST", "BM10_NO_COUNTER_EDGES"]
Said = Annotated[str, Meta(min_length=1, max_length=2_000)]
Proof = Annotated[
    Annotated[str, Meta(min_length=1, max_length=20_000)]
    | Annotated[list[Annotated[str, Meta(max_length=4000)]], Meta(max_length=20)],
    Meta(
        description="proof, one per line: CMD: make test (exit 0), LINK: …, a ref",
        examples=["CMD: make test (exit 0)"],
    ),
    also("evidence", "proofs", "checks", "receipts", "items"),
]
Note = Annotated[str, Meta(min_length=1, max_length=100_000), also("text", "message", "comment")]


class ShowGate(StepTarget["GateShown"], frozen=True, kw_only=True):
    """Check whether the strict gate would let a step close."""


class GateMiss(Value, frozen=True, kw_only=True):
    """Something the gate finds missing; `refs` are the cards it is about."""

    code: GateCode
    message: str
    refs: list[str] = []


class GateShown(Result, frozen=True, kw_only=True):
    task: str
    step_id: str
    path: str
    reasoning_mode: ReasoningMode
    passes: bool
    missing: list[GateMiss] = []
    cards: int


class Override(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Why the strict gate is skipped, and the risk of doing so; both are recorded."""

    reason: Said
    risk: Said


class CloseStepNow(StepTarget["StepClosed"], frozen=True, kw_only=True):
    """Add a note and proof, close a step, and get what you need to continue."""

    checkpoints: Annotated[Checkpoints, also("checkpoint", "confirm", "gates")] = "gate"
    proof: Proof = []
    note: Note | None = None
    override: Override | None = None
    view: ResumeView | None = None
    resume_max_chars: ResumeChars | None = None


class StepClosed(Result, frozen=True, kw_only=True):
    """The closed step, what was recorded, and what is next; with a view also all of it."""

    task: str
    revision: int
    path: str
    title: str
    next: str
    refs: list[str] = []
    step: Step | None = None
    events: list[Event] = []
    overrode: list[str] = []
    resume: dict[str, Any] | None = None


class Finish(Target["Finished"], frozen=True, kw_only=True):
    """Finish or cancel a plan or task, with a final note and a handoff."""

    status: Annotated[Literal["DONE", "CANCELED"], also("state", "outcome")] = "DONE"
    final_note: Annotated[Note, also("note", "summary")] | None = None
    hanging: EndOrKeep | None = None


class Finished(Result, frozen=True, kw_only=True):
    id: str
    status: str
    changed: bool
    final_note: str | None = None
    hanging: list[Hanging] = []
    handoff: Handoff


class CreateDone(NewWork["CreatedDone"], frozen=True, kw_only=True):
    """Record work that is already done: a task with one step, proved and closed."""

    checkpoints: Annotated[Checkpoints, also("checkpoint", "confirm", "gates")] = "gate"
    proof: Proof
    override: Override | None = None


class CreatedDone(Result, frozen=True, kw_only=True):
    task_id: str
    bootstrap: Bootstrapped
    close: StepMoved
    complete: EntityMoved
