"""Requests and results for wake-ups: rules that notify an agent or a job when a task ends."""

from __future__ import annotations

from typing import Annotated, Literal

from msgspec import Meta

from longhouse.kernel.delegation import JOB_ID
from longhouse.kernel.names import also
from longhouse.kernel.values import Request, Result, Value

__all__ = [
    "AddWakeup",
    "ListWakeups",
    "RemoveWakeup",
    "WakeupMade",
    "WakeupRule",
    "WakeupRules",
]

NamePattern = Annotated[
    str,
    Meta(
        pattern=r"\A[a-z0-9*][a-z0-9._*-]{0,63}\Z",
        title="the name of a task; * matches any characters",
        examples=["tests"],
    ),
]
Ending = Literal["any", "success", "failure"]
"""`success` is exit code 0; `failure` is every other end."""


class WakeupRule(Value, frozen=True, kw_only=True):
    """Which endings to report, and where: to an agent's inbox or the thread of a job."""

    id: str
    name: str | None = None
    tool: str | None = None
    ending: Ending = "any"
    agent: str | None = None
    job: str | None = None
    message: str | None = None


class AddWakeup(Request["WakeupMade"], frozen=True, kw_only=True):
    """Notify an agent or a job whenever a task that matches all given fields ends."""

    name: NamePattern | None = None
    tool: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    ending: Annotated[Ending, also("exit", "on")] = "any"
    agent: Annotated[str, Meta(min_length=1, max_length=160), also("to")] | None = None
    job: (
        Annotated[
            str,
            Meta(pattern=JOB_ID, title="an id like JOB-001", examples=["JOB-001"]),
            also("job_id"),
        ]
        | None
    ) = None
    message: Annotated[str, Meta(min_length=1, max_length=1_000)] | None = None


class WakeupMade(Result, frozen=True, kw_only=True):
    rule: WakeupRule
    in_force: bool


class ListWakeups(Request["WakeupRules"], frozen=True, kw_only=True):
    """Show who is notified when tasks end."""


class WakeupRules(Result, frozen=True, kw_only=True):
    rules: list[WakeupRule]
    count: int


class RemoveWakeup(Request["WakeupMade"], frozen=True, kw_only=True):
    """Withdraw a wake-up rule."""

    rule: Annotated[str, Meta(pattern=r"\AWAKE-[0-9]{3,12}\Z", examples=["WAKE-001"])]
