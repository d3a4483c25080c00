"""Requests and results for reservations, adoption and unreserved changes."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from longhouse.crew.liveness import Liveness
from longhouse.crew.types.entities import (
    Agent,
    AgentName,
    AgentToken,
    BeadId,
    Message,
    OwnBeadId,
    OwnName,
    ProtocolEvent,
    Reason,
    Reservation,
    Root,
    ScopeText,
)
from longhouse.crew.types.identity import Label
from longhouse.kernel.changes import ChangedFiles
from longhouse.kernel.values import Limit, PastRequest, Request, Result, Seq, Value

__all__ = [
    "Adopt",
    "Adopted",
    "Candidate",
    "ChangeOutside",
    "ChangesReported",
    "CrewStatus",
    "FileOutside",
    "GetCrewStatus",
    "Paths",
    "Recommend",
    "Recommended",
    "Release",
    "Released",
    "Renew",
    "Renewed",
    "ReportChanges",
    "ReservationOpened",
    "Reserve",
    "Reserved",
    "Summary",
]

Paths = Annotated[
    list[ScopeText], Meta(max_length=500, description="files with uncommitted changes")
]


class Adopt(Request["Adopted"], frozen=True, kw_only=True):
    """Continue an earlier identity."""

    agent: AgentName
    agent_token: AgentToken | None = None
    scope: ScopeText | None = None
    uncommitted: Paths = []
    root: Root | None = None
    rig: Label | None = None
    interactive: bool = False
    confirm: bool = False


class Adopted(Result, frozen=True, kw_only=True):
    agent: Agent
    agent_token: str
    reason: Reason
    recommendation: str
    event: ProtocolEvent


class Recommend(Request["Recommended"], frozen=True, kw_only=True):
    """Recommend whether to continue an earlier identity."""

    known: Annotated[list[AgentName], Meta(max_length=200, description="your earlier names")] = []
    uncommitted: Paths = []
    root: Root | None = None


class Candidate(Value, frozen=True, kw_only=True):
    """An earlier identity with unfinished work."""

    agent_id: str
    liveness: Liveness
    resume_reason: Reason
    evidence: str


class Recommended(Result, frozen=True, kw_only=True):
    action: Literal["register", "choose"]
    reason: str
    candidates: list[Candidate]


class GetCrewStatus(PastRequest["CrewStatus"], frozen=True, kw_only=True):
    """Show what is reserved and which messages wait to be accepted."""

    agent: AgentName | None = None
    bead_id: BeadId | None = None
    cursor: Seq | None = None
    limit: Limit = 50


class Summary(Value, frozen=True, kw_only=True):
    """Total counts, independent of the page size."""

    active: int
    released: int
    expired: int
    unacked_required_messages: int


class FileOutside(Value, frozen=True, kw_only=True):
    """A changed file, and the holder of the reservation it is in; none if it was not reserved."""

    path: str
    holder: str | None = None


class ChangeOutside(Value, frozen=True, kw_only=True):
    """Unreserved files that a job changed, or that an agent saw changed in its checkout.

    Without a job, `agent_id` is the agent that saw the change; who made it is unknown. `unnamed`
    counts further such files, which are listed only in the log, as far as its size limit allows.
    `more` counts changed files that were not compared with reservations, because a report names at
    most 200.
    """

    seq: int
    ref: str
    agent_id: str
    job_id: str | None = None
    bead_id: str
    at: str
    files: list[FileOutside]
    unnamed: int
    more: int


class ReportChanges(Request["ChangesReported"], frozen=True, kw_only=True):
    """Report which files changed in your checkout."""

    agent: AgentName
    agent_token: AgentToken | None = None
    changed: ChangedFiles
    root: Root | None = None


class ChangesReported(Result, frozen=True, kw_only=True):
    """The unreserved files; `ref` is their record, none if all were recorded recently."""

    outside: list[FileOutside]
    count: int
    ref: str | None = None


class CrewStatus(Result, frozen=True, kw_only=True):
    reservations: list[Reservation]
    unacked_required_messages: list[Message]
    outside: list[ChangeOutside]
    summary: Summary
    count: int
    has_more: bool
    next_cursor: int | None = None


class Reserve(Request["Reserved"], frozen=True, kw_only=True):
    """Reserve files before you edit them."""

    agent: OwnName | None = None
    agent_token: AgentToken | None = None
    scope: ScopeText
    bead_id: OwnBeadId | None = None
    mode: Literal["exclusive", "shared"] = "exclusive"
    ttl_minutes: Annotated[int, Meta(ge=5, le=1440)] = 120
    takeover_stale: bool = False
    root: Root | None = None


class Reserved(Result, frozen=True, kw_only=True):
    reservation: Reservation
    taken_over: list[Reservation] = []
    incursions: list[ProtocolEvent] = []


class ReservationOpened(Result, frozen=True, kw_only=True):
    kind: Literal["reservation"]
    id: str
    reservation: Reservation


class Renew(Request["Renewed"], frozen=True, kw_only=True):
    """Extend your reservations."""

    agent: OwnName | None = None
    agent_token: AgentToken | None = None
    scope: ScopeText | None = None
    ttl_minutes: Annotated[int, Meta(ge=5, le=1440)] | None = None
    root: Root | None = None


class Renewed(Result, frozen=True, kw_only=True):
    reservations: list[Reservation]
    count: int


class Release(Request["Released"], frozen=True, kw_only=True):
    """Release a reservation."""

    agent: OwnName | None = None
    agent_token: AgentToken | None = None
    scope: ScopeText
    root: Root | None = None


class Released(Result, frozen=True, kw_only=True):
    reservation: Reservation
