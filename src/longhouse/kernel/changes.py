"""What runners and agents report of changed files; jobs and the crew both take it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from longhouse.kernel.delegation import MAX_CHANGED, MAX_PATH
from longhouse.kernel.values import Value

__all__ = ["ChangedFiles"]


class ChangedFiles(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Files that changed in a work tree, from the root of the project."""

    paths: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=MAX_PATH, examples=["src/lexer.py"])]],
        Meta(max_length=MAX_CHANGED),
    ]
    more: Annotated[
        int, Meta(ge=0, le=10**9, description="how many are not named, and so not compared")
    ] = 0
    alone: Annotated[
        bool, Meta(description="nobody else works in that work tree, so whoever reports did it")
    ] = False
    over_ms: Annotated[int, Meta(ge=0, le=2**53, description="how long that took")] = 0
