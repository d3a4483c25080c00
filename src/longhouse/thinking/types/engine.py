"""The engine's output: signals, and the actions that clear them."""

from __future__ import annotations

from typing import Any, Literal

from longhouse.kernel.values import Value

__all__ = ["Engine", "EngineAction", "EngineRef", "Priority", "Severity", "Signal"]

Severity = Literal["critical", "high", "warning", "info"]
Priority = Literal["high", "medium", "low"]


class EngineRef(Value, frozen=True, kw_only=True):
    kind: str
    id: str


class Signal(Value, frozen=True, kw_only=True):
    """Something in the slice that needs attention."""

    code: str
    severity: Severity
    message: str
    refs: list[EngineRef] = []


class EngineAction(Value, frozen=True, kw_only=True):
    """What to do about a signal; the last of `calls` clears it."""

    kind: str
    priority: Priority
    title: str
    why: str | None = None
    refs: list[EngineRef] = []
    calls: list[dict[str, Any]] = []


class Engine(Value, frozen=True, kw_only=True):
    version: str
    mode: str | None = None
    step_tag: str | None = None
    signals: list[Signal]
    actions: list[EngineAction]
    signals_total: int
    actions_total: int
    truncated: bool
