"""The requests and results of the ledger's commands, and the record of one subagent."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta

from longhouse.kernel.values import Limit, Request, Result, Text, Value
from longhouse.store.engine import Row

__all__ = [
    "ENDINGS",
    "FinishSubagent",
    "ListSubagents",
    "Params",
    "RenewSubagents",
    "StartSubagent",
    "Status",
    "Subagent",
    "SubagentList",
    "SubagentOpened",
    "SubagentRecorded",
    "SubagentUsage",
    "SubagentsRenewed",
    "ToolCount",
    "number_of",
    "ref_of",
]

Ending = Literal[
    "completed",
    "capture_failed",
    "hydrate_failed",
    "runner_rejected",
    "failed",
    "bad_result",
    "deadline",
    "budget",
    "cancelled",
    "interrupted",
]
ENDINGS: tuple[str, ...] = get_args(Ending)
Status = Literal["running", Ending]

DispatchId = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._-]{0,127}\Z")]
SubagentId = Annotated[
    str, Meta(pattern=r"\ASUB-(?:[0-9]{3}|[1-9][0-9]{3,14})\Z", examples=["SUB-001"])
]
SessionId = Annotated[str, Meta(max_length=1_000)]
Label = Annotated[str, Meta(max_length=160)]
Labels = Annotated[list[Label], Meta(max_length=1_000)]
Name = Annotated[str, Meta(max_length=1_000)]
Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z", examples=["0" * 64])]
Count = Annotated[int, Meta(ge=0, le=2**53)]
Ttl = Annotated[int, Meta(ge=1, description="clamped to 1000..300000")]

LEASE_MS = 60_000


def ref_of(n: int) -> str:
    return f"SUB-{n:03d}"


def number_of(ref: str) -> int:
    return int(ref.removeprefix("SUB-"))


class Params(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the subagent was asked to do, as validated before the dispatch."""

    mode: Literal["plan_step", "ad_hoc"]
    prompt_ns: Name
    prompt_key: Name
    instructions: Annotated[str, Meta(min_length=1, max_length=2_000)]
    expected_artifacts: Labels = []
    plan_step_id: Label | None = None


class ToolCount(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: Name
    calls: Count


class SubagentUsage(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What the subagent and its descendants used."""

    turns: Count = 0
    tokens: Count = 0
    children: Count = 0


class Subagent(Value, frozen=True, kw_only=True):
    """One dispatch: who asked, from which state, for what, and its outcome."""

    id: str
    ref: str
    dispatch_id: str
    status: Status
    depth: int
    params: Params
    started_at_ms: int
    parent_id: str | None = None
    session_id: str | None = None
    snapshot_digest: str | None = None
    snapshot: str | None = None
    presumed: bool = False
    """Inferred to be interrupted, because its program stopped renewing the lease."""
    message: str = ""
    error_type: str | None = None
    tools: list[ToolCount] = []
    usage: SubagentUsage | None = None
    artifacts: list[str] = []
    missing_artifacts: list[str] = []
    finished_at_ms: int | None = None
    lease_expires_at_ms: int | None = None

    @classmethod
    def from_row(cls, row: Row, now_ms: int) -> Subagent:
        """The record at that time; an expired lease means interrupted, recorded as such or not."""
        running = row["status"] == "running"
        stale = running and row["lease_expires_at_ms"] <= now_ms
        return cls(
            id=ref_of(row["n"]),
            ref=f"{ref_of(row['n'])}@{row['last_seq']}",
            dispatch_id=row["dispatch_id"],
            status="interrupted" if stale else row["status"],
            depth=row["depth"],
            params=msgspec.json.decode(row["params"], type=Params),
            started_at_ms=row["started_at_ms"],
            parent_id=row["parent_id"],
            session_id=row["session_id"],
            snapshot_digest=row["snapshot_digest"],
            snapshot=row["snapshot"] and f"artifact:{row['snapshot']}",
            presumed=stale or bool(row["presumed"]),
            message=row["message"],
            error_type=row["error_type"],
            tools=msgspec.json.decode(row["tools"], type=list[ToolCount]),
            usage=None
            if row["usage"] == "{}"
            else msgspec.json.decode(row["usage"], type=SubagentUsage),
            artifacts=msgspec.json.decode(row["artifacts"], type=list[str]),
            missing_artifacts=msgspec.json.decode(row["missing_artifacts"], type=list[str]),
            finished_at_ms=row["finished_at_ms"],
            lease_expires_at_ms=row["lease_expires_at_ms"] if running else None,
        )


class StartSubagent(Request["SubagentRecorded"], frozen=True, kw_only=True):
    """Record a subagent that is about to start."""

    dispatch_id: DispatchId
    depth: Annotated[int, Meta(ge=1, le=10_000)]
    params: Params
    parent_id: DispatchId | None = None
    session_id: SessionId | None = None
    snapshot_digest: Digest | None = None
    snapshot: Text | None = None
    lease_ttl_ms: Ttl = LEASE_MS


class FinishSubagent(Request["SubagentRecorded"], frozen=True, kw_only=True):
    """Record how a subagent ended."""

    dispatch_id: DispatchId
    outcome: Ending
    message: Annotated[str, Meta(max_length=20_000)] = ""
    tools: Annotated[list[ToolCount], Meta(max_length=1_000)] = []
    usage: SubagentUsage = SubagentUsage()
    artifacts: Labels = []
    missing_artifacts: Labels = []
    error_type: Name | None = None


class SubagentRecorded(Result, frozen=True, kw_only=True):
    ref: str
    subagent: Subagent
    changed: bool


class RenewSubagents(Request["SubagentsRenewed"], frozen=True, kw_only=True):
    """Report that the program that dispatched these is still alive."""

    dispatch_ids: Annotated[list[DispatchId], Meta(min_length=1, max_length=500)]
    lease_ttl_ms: Ttl = LEASE_MS


class SubagentsRenewed(Result, frozen=True, kw_only=True):
    renewed: list[str]
    ended: list[str]
    unknown: list[str]
    lease_expires_at_ms: int


class ListSubagents(Request["SubagentList"], frozen=True, kw_only=True):
    """List subagents, newest first."""

    status: Status | None = None
    parent_id: DispatchId | None = None
    session_id: SessionId | None = None
    limit: Limit = 25
    cursor: SubagentId | None = None


class SubagentList(Result, frozen=True, kw_only=True):
    subagents: list[Subagent]
    count: int
    has_more: bool
    cursor: str | None
    next_cursor: str | None


class SubagentOpened(Result, frozen=True, kw_only=True):
    kind: Literal["subagent"]
    id: str
    ref: str
    subagent: Subagent
    parent: str | None
    children: list[str]
    has_more_children: bool
