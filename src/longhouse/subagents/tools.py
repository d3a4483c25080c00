"""A tool, the context of one call, and its result.

A tool holds no session: it gets one with each call, so one definition serves a parent and all its
children.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, is_dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from longhouse.subagents.session import Session
    from longhouse.subagents.snapshots import Snapshot

__all__ = ["Tool", "ToolContext", "ToolHandler", "ToolResult"]

P = TypeVar("P")
P_contra = TypeVar("P_contra", contravariant=True)
R = TypeVar("R")
R_co = TypeVar("R_co", covariant=True)

NAME = re.compile(r"[a-z0-9_-]{1,64}")
DESCRIPTION_LIMIT = 200


@dataclass(slots=True, frozen=True)
class ToolResult(Generic[R_co]):
    """The message of a tool call, its value, and whether it succeeded."""

    message: str
    value: R_co | None
    success: bool = True
    exclude_value_from_context: bool = False
    """Hide the value from the model; sessions still get it."""


@dataclass(slots=True, frozen=True)
class ToolContext:
    """The context of one tool call."""

    session: Session
    tools: tuple[Tool[Any, Any], ...] = ()
    """All tools enabled for the caller; a child inherits them."""
    prompt_name: str = ""
    adapter: str = ""
    snapshot: Snapshot | None = None
    """The state that all calls of one turn start from; None means the current state."""


class ToolHandler(Protocol[P_contra, R_co]):
    def __call__(self, params: P_contra, /, *, context: ToolContext) -> ToolResult[R_co]: ...


@dataclass(slots=True, frozen=True)
class Tool(Generic[P, R]):
    name: str
    description: str
    params_type: type[P]
    result_type: type[R]
    handler: ToolHandler[P, R]
    concurrent: bool = False
    """Whether calls of one turn may run in parallel: the handler writes nothing to its session."""

    def __post_init__(self) -> None:
        if not NAME.fullmatch(self.name):
            raise ValueError(
                f"tool name {self.name!r} must be 1 to 64 of a-z, 0-9, underscore and hyphen"
            )
        if not (self.description.isascii() and 1 <= len(self.description) <= DESCRIPTION_LIMIT):
            raise ValueError(
                f"tool {self.name}: the description must be 1 to {DESCRIPTION_LIMIT} characters of "
                "ASCII text"
            )
        for field_name in ("params_type", "result_type"):
            kind = getattr(self, field_name)
            if not (isinstance(kind, type) and is_dataclass(kind)):
                raise TypeError(f"tool {self.name}: {field_name} must be a dataclass; got {kind!r}")
        try:
            signature(self.handler).bind(None, context=None)
        except TypeError:
            raise TypeError(
                f"tool {self.name}: the handler must be callable as handler(params, context=...)"
            ) from None
