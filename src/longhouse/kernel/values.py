"""The base classes of every value that crosses a surface.

Requests come in, results go out; both are frozen, so that a value seen once stays true. A field
without a default is always in the answer, a field with one is left out while it holds it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Generic

import msgspec
from msgspec import Meta

if TYPE_CHECKING:  # defaults of type variables came with Python 3.13, and only checkers need them
    from typing_extensions import TypeVar

    ResultT = TypeVar("ResultT", bound="Result", default="Result", covariant=True)
else:
    from typing import TypeVar

    ResultT = TypeVar("ResultT")

__all__ = ["Json", "Limit", "Request", "Result", "Seq", "Text", "Title", "Value"]

Json = dict[str, Any]
"""A caller's own JSON object, kept as it came."""

Title = Annotated[str, Meta(min_length=1, max_length=200)]
Text = Annotated[str, Meta(min_length=1, max_length=1_000_000)]
Limit = Annotated[int, Meta(ge=1, le=500)]
Seq = Annotated[int, Meta(ge=0, le=2**53)]


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Anything that is stored or sent whole."""


class Request(Value, Generic[ResultT], frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of one command; its class names the command for the SDK.

    `class CreateJob(Request["JobMoved"], …)` tells type checkers what the SDK returns for it; the
    registry holds it to the handler's own annotation.
    """


class Result(Value, frozen=True, kw_only=True):
    """The answer of one command, before budgets and redaction."""
