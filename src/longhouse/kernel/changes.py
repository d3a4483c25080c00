"""A report of changed files from a runner or an agent; jobs and the crew both accept it."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from longhouse.kernel.delegation import MAX_CHANGED, MAX_PATH
from longhouse.kernel.values import Value

__all__ = ["ChangedFiles"]


class ChangedFiles(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Files that changed in a work tree, as paths relative to the project's root."""

    paths: Annotated[
        list[Annotated[str, Meta(min_length=1, max_length=MAX_PATH, examples=["src/lexer.py"])]],
        Meta(max_length=MAX_CHANGED),
    ]
    more: Annotated[
        int, Meta(ge=0, le=10**9, description="how many more changed, not named or compared")
    ] = 0
    alone: Annotated[
        bool, Meta(description="only the reporter works in this tree, so the changes are its own")
    ] = False
    over_ms: Annotated[int, Meta(ge=0, le=2**53, description="period the report covers")] = 0
