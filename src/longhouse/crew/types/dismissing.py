"""Requests and results of what somebody has put away."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from longhouse.kernel.values import Request, Result

__all__ = ["Dismiss", "Dismissals", "ListDismissals"]

Need = Annotated[str, Meta(min_length=1, max_length=200)]


class Dismiss(Request["Dismissals"], frozen=True, kw_only=True):
    """Put away records that ask for attention, by the ids under which they are shown."""

    needs: Annotated[list[Need], Meta(min_length=1, max_length=100)]
    back: bool = False


class ListDismissals(Request["Dismissals"], frozen=True, kw_only=True):
    """List what the caller has put away."""


class Dismissals(Result, frozen=True, kw_only=True):
    who: str
    needs: list[str]
    count: int
