"""Requests and results of commands that change, close and delete plans, tasks and steps."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.kernel.names import also
from longhouse.kernel.values import Json, Request, Result, Title, Value
from longhouse.work.proof import Evidence
from longhouse.work.states import Checkpoint, Priority, ReasoningMode, Status
from longhouse.work.types.entities import (
    EntityMoved,
    Event,
    Hanging,
    Line,
    Lines,
    Paragraph,
    PlanId,
    Revision,
    Step,
    StepMoved,
    StepTarget,
    Tags,
    Target,
    TaskId,
)

__all__ = [
    "MAX_OPERATIONS",
    "MAX_PARK_S",
    "MOST",
    "Assignee",
    "Batch",
    "BatchDone",
    "Block",
    "Capture",
    "Checkpoints",
    "CloseStep",
    "Complete",
    "Confirmation",
    "Define",
    "Delete",
    "Deleted",
    "Domain",
    "Done",
    "Edit",
    "EditChecklist",
    "EndOrKeep",
    "Note",
    "Operation",
    "OperationDone",
    "Patch",
    "PatchOp",
    "Patched",
    "Progress",
    "SetContract",
    "StepDone",
    "Verify",
]

MAX_OPERATIONS = 50
MAX_PARK_S = 366 * 24 * 3600
Domain = Annotated[str, Meta(max_length=64)]
Assignee = Annotated[str, Meta(max_length=64, pattern=r"\A([A-Za-z0-9][\w.-]*)?\Z")]
MOST = 20
_CHECKPOINTS = also("checkpoint", "confirm", "confirmed", "gates", "checks")


class Confirmation(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    confirmed: bool


Checkpoints = Literal["gate", "all"] | dict[Checkpoint, bool | Confirmation]


class Operation(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One command of a batch; pass common arguments such as `workspace` to the batch itself."""

    cmd: Annotated[str, Meta(min_length=1, max_length=128)]
    args: Json = {}


class Batch(Request["BatchDone"], frozen=True, kw_only=True):
    """Run several task commands in one transaction."""

    operations: Annotated[
        list[Operation],
        Meta(min_length=1, max_length=MAX_OPERATIONS),
        also("ops", "commands", "calls"),
    ]
    compact: Annotated[bool, Meta(description="omit the results")] = False


class OperationDone(Value, frozen=True, kw_only=True):
    cmd: str
    result: dict[str, Any] = {}


class BatchDone(Result, frozen=True, kw_only=True):
    operations: list[OperationDone]
    count: int


class EditChecklist(Request[EntityMoved], frozen=True, kw_only=True):
    """Set or advance a plan's checklist."""

    plan: PlanId | None = None
    steps: Annotated[Lines, also("checklist", "items")] | None = None
    current: Annotated[int, Meta(ge=0, le=50)] | None = None
    doc: Paragraph | None = None
    advance: bool = False
    expected_revision: Revision | None = None


class SetContract(Request[EntityMoved], frozen=True, kw_only=True):
    """Set or clear a plan's contract."""

    plan: PlanId | None = None
    current: Paragraph | None = None
    contract_data: Json | None = None
    clear: bool = False
    expected_revision: Revision | None = None


class Verify(StepTarget[StepMoved], frozen=True, kw_only=True):
    """Confirm a step's checkpoints."""

    checkpoints: Annotated[Checkpoints, _CHECKPOINTS]


class Done(StepTarget[StepMoved], frozen=True, kw_only=True):
    """Close a verified step."""


class CloseStep(StepTarget["StepDone"], frozen=True, kw_only=True):
    """Confirm checkpoints, attach proof if given, and close the step."""

    checkpoints: (
        Annotated[Checkpoints, also("checkpoint", "confirm", "confirmed", "gates")] | None
    ) = None
    proof: Annotated[
        Annotated[str, Meta(min_length=1, max_length=20_000)]
        | Annotated[list[Annotated[str, Meta(max_length=4000)]], Meta(max_length=MOST)],
        Meta(
            description="proof, one per line: CMD: make test (exit 0), LINK: …, a ref",
            examples=["CMD: make test (exit 0)"],
        ),
        also("evidence", "proofs", "checks", "receipts", "note", "items"),
    ] = []
    view: Annotated[
        Literal["full", "short"], Meta(description="full adds the whole step and its events")
    ] = "short"


class StepDone(Result, frozen=True, kw_only=True):
    """The closed step, and the events that record it; whole with view=full."""

    task: str
    revision: int
    path: str
    title: str
    confirmed: list[Checkpoint]
    refs: list[str]
    step: Step | None = None
    events: list[Event] = []


class Progress(StepTarget[StepMoved], frozen=True, kw_only=True):
    """Close or reopen a step."""

    completed: bool = True
    force: bool = False
    reason: Annotated[Line, also("why", "note", "comment", "message")] | None = None


EndOrKeep = Annotated[
    Literal["end", "keep"],
    Meta(description="end or keep its jobs and reservations; `end` also ends leases"),
    also("force", "jobs", "cascade"),
]


class Complete(Target[EntityMoved], frozen=True, kw_only=True):
    """Move a plan or task to another state."""

    status: Annotated[Status, also("state", "to", "outcome")] = "DONE"
    parked_for_s: Annotated[int, Meta(ge=1, le=MAX_PARK_S)] | None = None
    parked_until_ts_ms: Annotated[int, Meta(ge=1, le=2**53)] | None = None
    expected_revision: Revision | None = None
    hanging: EndOrKeep | None = None


class Delete(StepTarget["Deleted"], frozen=True, kw_only=True):
    """Delete a plan, a task or a step."""

    hanging: EndOrKeep | None = None


class Deleted(Result, frozen=True, kw_only=True):
    id: str
    kind: Literal["plan", "task", "step"]
    task: str | None = None
    revision: int
    event: Event
    hanging: list[Hanging] = []


class Define(StepTarget[StepMoved], frozen=True, kw_only=True):
    """Set a step's title, criteria, tests or blockers."""

    title: Title | None = None
    success_criteria: Annotated[Lines, also("criteria", "acceptance", "done_when")] | None = None
    tests: Lines | None = None
    blockers: Lines | None = None


class Note(StepTarget[StepMoved], frozen=True, kw_only=True):
    """Add a note to a step."""

    note: Annotated[
        str,
        Meta(min_length=1, max_length=100_000),
        also("text", "content", "body", "message", "comment"),
    ]


class Block(StepTarget[StepMoved], frozen=True, kw_only=True):
    """Mark a step as blocked or unblocked."""

    blocked: bool = True
    reason: Annotated[Line, also("why", "note", "comment", "message")] | None = None


class Edit(Target[EntityMoved], frozen=True, kw_only=True):
    """Edit fields of a plan or task."""

    expected_revision: Revision | None = None
    title: Annotated[Title, also("name", "task_title", "new_title")] | None = None
    description: Annotated[Paragraph, also("body", "text", "details")] | None = None
    context: Paragraph | None = None
    priority: Priority | None = None
    new_domain: Domain | None = None
    assignee: Annotated[Assignee, also("owner", "agent", "assigned_to", "to")] | None = None
    reasoning_mode: ReasoningMode | None = None
    tags: Annotated[Tags, also("labels", "tag")] | None = None
    depends_on: (
        Annotated[
            list[TaskId],
            Meta(max_length=100),
            also("after", "blocked_by", "dependencies", "waits_for", "on", "by", "depends"),
        ]
        | None
    ) = None
    contract: Paragraph | None = None
    contract_data: Json | None = None


class Capture(StepTarget[StepMoved], frozen=True, kw_only=True):
    """Attach proof to a step."""

    items: Annotated[list[Evidence], Meta(max_length=MOST), also("receipts")] = []
    artifacts: Annotated[list[Evidence], Meta(max_length=MOST, description="same as items")] = []
    checks: Annotated[
        list[Annotated[str, Meta(max_length=4000)]],
        Meta(max_length=MOST),
        also("evidence", "proof", "text", "commands", "command", "cmds", "content"),
    ] = []
    attachments: Annotated[
        list[Annotated[str, Meta(max_length=2000)]],
        Meta(max_length=MOST),
        also("links", "urls", "url"),
    ] = []
    checkpoint: (
        Annotated[Checkpoint | Annotated[list[Checkpoint], Meta(max_length=5)], _CHECKPOINTS] | None
    ) = None


class PatchOp(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One change to one field."""

    op: Literal["set", "unset", "append", "remove"]
    field: Annotated[str, Meta(min_length=1, max_length=64)]
    value: Any = None


class Patch(StepTarget["Patched"], frozen=True, kw_only=True):
    """Change individual fields of a step, plan or task."""

    kind: Literal["step", "task_detail"] = "step"
    ops: Annotated[list[PatchOp], Meta(min_length=1, max_length=50)]


class Patched(Result, frozen=True, kw_only=True):
    id: str
    kind: Literal["step", "task_detail"]
    revision: int
    step: Step | None = None
    path: str | None = None
    event: Event
