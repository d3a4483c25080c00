"""Requests and results of `tasks.lint`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.kernel.values import Result, Value
from longhouse.work.types.entities import Target

__all__ = ["ContextHealth", "FixUp", "Kind", "Lint", "LintIssue", "Linted", "Severity"]

Severity = Literal["error", "warning"]
Kind = Literal[
    "unverifiable",
    "unproveable",
    "unbounded",
    "unnavigable",
    "self_contradicting",
    "actionless",
    "context",
]


class FixUp(Value, frozen=True, kw_only=True):
    """A call that fixes an issue: `apply` is a portal call, complete unless `missing` says not."""

    id: str
    purpose: str
    apply: dict[str, Any]
    missing: list[str] = []


class Lint(Target["Linted"], frozen=True, kw_only=True):
    """Check a plan or task for gaps, and get calls that fix them."""

    patches_limit: Annotated[int, Meta(ge=0, le=50)] = 10


class ContextHealth(Value, frozen=True, kw_only=True):
    """Whether the notes are enough for someone else to take over."""

    status: Literal["ok", "warn"]
    codes: list[str] = []


class LintIssue(Value, frozen=True, kw_only=True):
    """A gap that will cause trouble later."""

    severity: Severity
    kind: Kind
    code: str
    message: str
    recovery: str
    target: str


class Linted(Result, frozen=True, kw_only=True):
    target: str
    summary: dict[str, int]
    issues: list[LintIssue]
    patches: list[FixUp]
    context_health: ContextHealth
