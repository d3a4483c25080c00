"""Requests and results for identities."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from longhouse.crew.types.entities import Agent, AgentName, AgentToken, Kind, OwnName, Status
from longhouse.kernel.values import Limit, PastRequest, Request, Result

__all__ = [
    "AgentHeartbeat",
    "AgentPage",
    "AgentShown",
    "Label",
    "ListAgents",
    "Register",
    "Registered",
    "Retire",
    "Retired",
    "ShowAgent",
    "Word",
]

Word = Annotated[str, Meta(max_length=64)]
Label = Annotated[str, Meta(max_length=120)]


class Register(Request["Registered"], frozen=True, kw_only=True):
    """Register an identity of your own."""

    name: AgentName | None = None
    role: Word = "agent"
    kind: Kind = "agent"
    display_name: Label | None = None
    rig: Label | None = None
    status: Status | None = None
    force_update: bool = False
    agent_token: AgentToken | None = None


class Registered(Result, frozen=True, kw_only=True):
    agent: Agent
    agent_token: str
    recommendation: str


class Retire(Request["Retired"], frozen=True, kw_only=True):
    """Retire an identity."""

    agent: AgentName
    agent_token: AgentToken | None = None


class Retired(Result, frozen=True, kw_only=True):
    agent: Agent
    released: int


class AgentHeartbeat(Request["AgentShown"], frozen=True, kw_only=True):
    """Report that you are still active."""

    agent: OwnName | None = None
    agent_token: AgentToken | None = None


class AgentShown(Result, frozen=True, kw_only=True):
    agent: Agent


class ShowAgent(Request["AgentShown"], frozen=True, kw_only=True):
    """Show one identity."""

    agent: AgentName


class ListAgents(PastRequest["AgentPage"], frozen=True, kw_only=True):
    """List the identities."""

    role: Word | None = None
    status: Word | None = None
    include_retired: bool = False
    order: Annotated[
        Literal["name", "seen"],
        Meta(description="seen: most recently active first; this order has only one page"),
    ] = "name"
    cursor: Annotated[str, Meta(max_length=48)] | None = None
    limit: Limit = 50


class AgentPage(Result, frozen=True, kw_only=True):
    agents: list[Agent]
    count: int
    has_more: bool
    next_cursor: str | None = None
