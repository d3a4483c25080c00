"""What the views of a plan or task share: who asks, and how much is shown."""

from __future__ import annotations

from typing import Generic, Literal

from longhouse.desk.types.callers import Name, Token
from longhouse.kernel.values import ResultT
from longhouse.work.types.entities import Target

__all__ = ["ByAgentAbout", "View"]

View = Literal["full", "smart", "explore", "audit", "focus_only"]
"""How much of a plan or task is shown; see `desk.lenses`."""


class ByAgentAbout(Target[ResultT], Generic[ResultT], frozen=True, kw_only=True):
    """Asked about a plan or task by an agent that may name itself."""

    agent: Name | None = None
    agent_token: Token | None = None
