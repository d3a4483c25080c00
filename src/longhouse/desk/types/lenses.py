"""What the views of a plan or task share: who asks, and how much is shown."""

from __future__ import annotations

from typing import Annotated, Generic, Literal

from msgspec import Meta

from longhouse.desk.types.callers import Name, Token
from longhouse.kernel.values import ResultT
from longhouse.work.types.entities import Target

__all__ = ["ByAgentAbout", "ResumeChars", "View"]

View = Literal["full", "smart", "explore", "audit", "focus_only"]
"""How much of a plan or task is shown; see `desk.lenses`."""

ResumeChars = Annotated[int, Meta(ge=200, le=40_000)]
"""How long the resumption in the answer of a macro may be."""


class ByAgentAbout(Target[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """Asked about a plan or task by an agent that may name itself."""

    agent: Name | None = None
    agent_token: Token | None = None
