"""Arguments that the views of a plan or task share: the caller, and how much to show."""

from __future__ import annotations

from typing import Annotated, Generic, Literal

from msgspec import Meta

from longhouse.desk.types.callers import Name, Token
from longhouse.kernel.values import ResultT
from longhouse.work.types.entities import Target

__all__ = ["ByAgentAbout", "ResumeChars", "ResumeView", "View"]

View = Literal["full", "smart", "explore", "audit", "focus_only"]
"""How much of a plan or task to show; see `desk.lenses`."""

ResumeView = Annotated[
    View, Meta(description="also answer with a resume: full, smart, explore, audit or focus_only")
]
"""Which resume a macro's answer includes; by default it has none."""

ResumeChars = Annotated[
    int, Meta(ge=200, le=40_000, description="the most characters of that resume")
]


class ByAgentAbout(Target[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """A request about a plan or task whose caller may name itself."""

    agent: Name | None = None
    agent_token: Token | None = None
