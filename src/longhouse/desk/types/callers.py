"""How a caller names itself, to see what a view shows only to one agent."""

from __future__ import annotations

from typing import Annotated, Generic

from msgspec import Meta

from longhouse.kernel.values import Request, ResultT

__all__ = ["ByAgent", "Name", "Token"]


Name = Annotated[
    str, Meta(min_length=1, max_length=200, description="your agent name, with agent_token")
]
Token = Annotated[
    str, Meta(min_length=1, max_length=200, description="your token, from agents.register")
]


class ByAgent(Request[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """A request whose caller may name itself, to see its own focus, mail and reservations."""

    agent: Name | None = None
    agent_token: Token | None = None
