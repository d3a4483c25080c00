"""The base classes of every value that crosses a surface.

Requests come in, results go out; both are frozen, so that a value seen once stays true. A field
without a default is always in the answer, a field with one is left out while it holds it.
"""

from __future__ import annotations

from typing import Annotated, Any

import msgspec
from msgspec import Meta

__all__ = ["Json", "Limit", "Request", "Result", "Seq", "Text", "Title", "Value"]

Json = dict[str, Any]
"""A caller's own JSON object, kept as it came."""

Title = Annotated[str, Meta(min_length=1, max_length=200)]
Text = Annotated[str, Meta(min_length=1, max_length=1_000_000)]
Limit = Annotated[int, Meta(ge=1, le=500)]
Seq = Annotated[int, Meta(ge=0, le=2**53)]


class Value(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """Anything that is stored or sent whole."""


class Request(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The arguments of one command; its class names the command for the SDK."""


class Result(Value, frozen=True, kw_only=True):
    """The answer of one command, before budgets and redaction."""
