"""Requests and results for the policy on background processes."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from longhouse.kernel.tool_policy import PolicyRule
from longhouse.kernel.tool_tasks import Mode
from longhouse.kernel.values import Json, Request, Result

__all__ = [
    "AllowTool",
    "PolicyShown",
    "PolicyTested",
    "RuleMade",
    "ShowPolicy",
    "TryPolicy",
    "WithdrawRule",
]

ToolName = Annotated[
    str,
    Meta(
        pattern=r"\A[a-z][a-z0-9_.*]{0,127}\Z",
        title="bash, exec, env or a command",
        examples=["bash"],
    ),
]


class ShowPolicy(Request["PolicyShown"], frozen=True, kw_only=True):
    """Show what background processes may do."""


class PolicyShown(Result, frozen=True, kw_only=True):
    profile: str
    max_running: int
    rules: list[PolicyRule]
    count: int


class TryPolicy(Request["PolicyTested"], frozen=True, kw_only=True):
    """Ask what the policy would decide, without starting anything."""

    tool: Annotated[str, Meta(min_length=1, max_length=128)]
    args: Json = {}
    execution_mode: Mode = "pipes"


class PolicyTested(Result, frozen=True, kw_only=True):
    decision: Literal["allow", "deny"]
    rule: str
    profile: str
    why: str


class AllowTool(Request["RuleMade"], frozen=True, kw_only=True):
    """Add a rule for what may start or, with effect=deny, what may not."""

    tool: ToolName
    pattern: Annotated[str, Meta(min_length=1, max_length=400)] | None = None
    effect: Literal["allow", "deny"] = "allow"
    pty: bool = False
    justification: Annotated[str, Meta(min_length=1, max_length=400)] | None = None


class WithdrawRule(Request["RuleMade"], frozen=True, kw_only=True):
    """Withdraw a rule."""

    rule: Annotated[str, Meta(pattern=r"\ARULE-[0-9]{3,12}\Z", examples=["RULE-001"])]


class RuleMade(Result, frozen=True, kw_only=True):
    rule: PolicyRule
    profile: str
    in_force: bool
