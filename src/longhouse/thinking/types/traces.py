"""Requests and results of the trace commands: steps, numbered thoughts, and their faults."""

from __future__ import annotations

from typing import Annotated, Generic

from msgspec import Meta

from longhouse.kernel.values import Json, Request, Result, ResultT, Seq, Value
from longhouse.memory.types.documents import (
    BranchName,
    DocName,
    Entry,
    Pagination,
    Sequential,
    Target,
)

__all__ = [
    "AddStep",
    "AddThought",
    "Hydrate",
    "TraceAdded",
    "TraceError",
    "TraceScope",
    "TraceSlice",
    "TraceValid",
    "ValidateTrace",
]

Number = Annotated[int, Meta(ge=1, le=10**9)]
Words = Annotated[str, Meta(min_length=1, max_length=1_000_000)]


class TraceScope(Request[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """Where the trace is: a plan or task, or a branch and a document on it."""

    target: Target | None = None
    branch: BranchName | None = None
    ref: Annotated[BranchName, Meta(description="same as branch")] | None = None
    doc: DocName | None = None

    @property
    def trace_doc(self) -> str | None:
        return self.doc


class AddStep(TraceScope["TraceAdded"], frozen=True, kw_only=True):
    """Append a step to a trace."""

    step: Words
    message: Annotated[str, Meta(min_length=1, max_length=200)] | None = None
    mode: Annotated[str, Meta(min_length=1, max_length=64)] | None = None
    supports: Annotated[list[str], Meta(max_length=64)] | None = None
    blocks: Annotated[list[str], Meta(max_length=64)] | None = None
    base: Annotated[str, Meta(max_length=200)] | None = None
    checkpoint_every: Annotated[int, Meta(ge=1, le=1000)] | None = None
    meta: Json | None = None


class AddThought(TraceScope["TraceAdded"], frozen=True, kw_only=True):
    """Append a numbered thought to a trace."""

    thought: Words
    thoughtNumber: Number  # noqa: N815
    totalThoughts: Number  # noqa: N815
    nextThoughtNeeded: bool  # noqa: N815
    isRevision: bool | None = None  # noqa: N815
    revisesThought: Number | None = None  # noqa: N815
    branchFromThought: Number | None = None  # noqa: N815
    branchId: Annotated[str, Meta(min_length=1, max_length=128)] | None = None  # noqa: N815
    needsMoreThoughts: bool | None = None  # noqa: N815
    confidence: Annotated[float, Meta(ge=0, le=1)] | None = None
    goal: Annotated[str, Meta(min_length=1, max_length=2000)] | None = None
    meta: Json | None = None


class TraceAdded(Result, frozen=True, kw_only=True):
    branch: str
    doc: str
    seq: int
    ref: str
    entry: Entry


class Hydrate(TraceScope["TraceSlice"], frozen=True, kw_only=True):
    """Read the newest steps of a trace."""

    cursor: Seq | None = None
    limit_steps: Annotated[int, Meta(ge=1, le=200)] = 50
    statement_max_bytes: Annotated[int, Meta(ge=16, le=100_000)] | None = None


class TraceSlice(Result, frozen=True, kw_only=True):
    branch: str
    doc: str
    entries: list[Entry]
    sequential: Sequential | None = None
    pagination: Pagination


class ValidateTrace(TraceScope["TraceValid"], frozen=True, kw_only=True):
    """Check that the thoughts of a trace are complete and in order."""

    limit: Annotated[int, Meta(ge=1, le=500)] = 200
    max_errors: Annotated[int, Meta(ge=1, le=200)] = 50


class TraceError(Value, frozen=True, kw_only=True):
    code: str
    ref: str
    message: str


class TraceValid(Result, frozen=True, kw_only=True):
    branch: str
    doc: str
    ok: bool
    checked: int
    has_more: bool
    errors: list[TraceError]
    has_more_errors: bool
