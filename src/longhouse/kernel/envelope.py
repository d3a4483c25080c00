"""The one shape of every answer, on every surface.

    {success, intent, result, refs, actions[], warnings[], suggestions[], context, error, timestamp}

`actions` are complete portal calls that run as given, most urgent first. `suggestions` is always
empty: it is kept for clients that read it.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal

import msgspec

from longhouse.kernel.errors import InvalidInput, LonghouseError, Suggestion
from longhouse.kernel.registry import Registry
from longhouse.kernel.values import Value

__all__ = ["Action", "Answer", "Warned", "action_for", "actions_for", "error_body"]

_RANK = {"high": 0, "medium": 1, "low": 2}


class Action(Value, frozen=True, kw_only=True):
    """A next call: `tool` with `args` is complete and runs as given."""

    action_id: str
    priority: Literal["high", "medium", "low"]
    tool: str
    args: dict[str, Any]
    why: str
    risk: str


class Warned(Value, frozen=True, kw_only=True):
    """Something the caller should know although the call succeeded."""

    code: str
    message: str
    recovery: str | None


class Answer:
    """A finished answer: the envelope, or the lines that stand for it."""

    __slots__ = ("code", "envelope", "exit_code", "status", "success", "text")

    def __init__(
        self,
        envelope: dict[str, Any],
        *,
        text: str | None = None,
        error: LonghouseError | None = None,
    ) -> None:
        self.envelope = envelope
        self.text = text
        self.success = error is None
        self.code = error.code if error else None
        self.status = error.status if error else 200
        self.exit_code = error.exit_code if error else 0

    def body(self) -> bytes:
        """What is sent: the lines alone when lines were asked for, else the JSON envelope."""
        if self.text is not None:
            return self.text.encode()
        return msgspec.json.encode(self.envelope)


def action_for(registry: Registry, workspace: str | None, suggestion: Suggestion) -> Action:
    """The portal call that carries out a suggested request."""
    command = registry.of(suggestion.request)
    args = msgspec.to_builtins(suggestion.request)
    call: dict[str, Any] = {"workspace": workspace} if workspace else {}
    if command.cmd == command.portal:
        call.update(args)
    elif command.op:
        call.update(op=command.op, args=args)
    else:
        call.update(op="call", cmd=command.cmd, args=args)
    return Action(
        action_id=suggestion.action_id or f"next::{command.cmd}",
        priority=suggestion.priority,  # type: ignore[arg-type]
        tool=command.portal,
        args=call,
        why=suggestion.why,
        risk="destructive" if command.destructive else "writes" if command.writes else "none",
    )


def actions_for(
    registry: Registry, workspace: str | None, suggestions: Iterable[Suggestion]
) -> list[dict[str, Any]]:
    """All of them as built-in values, most urgent first, each once."""
    actions = {(a := action_for(registry, workspace, s)).action_id: a for s in suggestions}
    ranked = sorted(actions.values(), key=lambda a: (_RANK[a.priority], a.action_id))
    return [msgspec.to_builtins(action) for action in ranked]


def error_body(error: LonghouseError) -> dict[str, Any]:
    """`{code, message, recovery, retryable}`, the same on every surface."""
    return {
        "code": error.code,
        "message": error.message,
        "recovery": error.recovery
        or ("see the actions" if isinstance(error, InvalidInput) else None),
        "retryable": error.retryable,
    }
