"""Requests and results of the focus commands."""

from __future__ import annotations

from longhouse.kernel.values import Request, Result
from longhouse.work.types.entities import Target

__all__ = ["ClearFocus", "Focus", "FocusMoved", "GetFocus", "SetFocus"]


class GetFocus(Request["Focus"], frozen=True, kw_only=True):
    """Show your current focus."""


class SetFocus(Target["FocusMoved"], frozen=True, kw_only=True):
    """Focus on a plan or task."""


class ClearFocus(Request["FocusMoved"], frozen=True, kw_only=True):
    """Clear your focus."""


class Focus(Result, frozen=True, kw_only=True):
    focus: str | None
    title: str | None = None


class FocusMoved(Result, frozen=True, kw_only=True):
    previous: str | None
    focus: str | None
    cleared: bool = False
