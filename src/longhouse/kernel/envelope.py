"""The one shape of every answer, on every surface.

    {success, intent, result, refs, actions[], warnings[], suggestions[], context, error, timestamp}

`actions` are complete portal calls that run as given, most urgent first. `suggestions` is always
empty; it exists only for clients that expect the field.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

import msgspec

from longhouse.kernel.clock import rfc3339
from longhouse.kernel.errors import InvalidInput, LonghouseError, Suggestion
from longhouse.kernel.registry import Command, Outline, Registry
from longhouse.kernel.values import Request, Value

__all__ = [
    "Action",
    "Answer",
    "Warned",
    "action_for",
    "actions_for",
    "envelope",
    "error_body",
    "portal_call",
    "without_nothing",
]

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
    """Something the caller should know even though the call succeeded."""

    code: str
    message: str
    recovery: str | None


class Answer:
    """A finished answer: the envelope and, for `fmt=lines`, the text sent in its place."""

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
        """The bytes to send: the lines if lines were requested, otherwise the JSON envelope."""
        if self.text is not None:
            return self.text.encode()
        return msgspec.json.encode(self.envelope)

    def lean(self) -> str:
        """The same as text for a model, with empty fields left out."""
        if self.text is not None:
            return self.text
        return msgspec.json.encode(without_nothing(self.envelope)).decode()


def without_nothing(whole: dict[str, Any]) -> dict[str, Any]:
    """The answer without its empty fields, for readers who pay per token."""
    kept = ("success", "intent", "result") if whole["success"] else ("success", "intent")
    return {name: item for name, item in whole.items() if name in kept or item not in _NOTHING}


_NOTHING: tuple[Any, ...] = (None, [], {})


def portal_call(
    registry: Registry, request: Request, common: Mapping[str, Any]
) -> tuple[Command | Outline, dict[str, Any]]:
    """The command of a request, and the arguments of the tool call that runs it."""
    command = registry.outline(request) or registry.of(request)
    args = msgspec.to_builtins(request)
    extra = {k: v for k, v in common.items() if k != "workspace" or command.needs_workspace}
    call: dict[str, Any] = {"workspace": extra.pop("workspace")} if "workspace" in extra else {}
    if command.cmd == command.portal:
        call.update(args, **extra)
    elif command.op:
        call.update(op=command.op, args={**args, **extra})
    else:
        call.update(op="call", cmd=command.cmd, args={**args, **extra})
    return command, call


def action_for(registry: Registry, workspace: str | None, suggestion: Suggestion) -> Action:
    """The portal call that runs a suggested request."""
    common = {**({"workspace": workspace} if workspace else {}), **suggestion.common}
    command, call = portal_call(registry, suggestion.request, common)
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
    """All suggestions as actions in built-in values, most urgent first, without duplicate calls."""
    actions: dict[str, dict[str, Any]] = {}
    for suggestion in suggestions:
        action = msgspec.to_builtins(action_for(registry, workspace, suggestion))
        if any(_same_call(action, other) for other in actions.values()):
            continue
        first, number = action["action_id"], 2
        while action["action_id"] in actions:
            action["action_id"] = f"{first}::{number}"
            number += 1
        actions[action["action_id"]] = action
    return sorted(actions.values(), key=lambda a: (_RANK[a["priority"]], a["action_id"]))


def _same_call(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return (one["tool"], one["args"]) == (other["tool"], other["args"])


def error_body(error: LonghouseError) -> dict[str, Any]:
    """`{code, message, recovery, retryable, hints?}`, the same on every surface."""
    body: dict[str, Any] = {
        "code": error.code,
        "message": error.message,
        "recovery": error.recovery
        or ("see the actions" if isinstance(error, InvalidInput) else None),
        "retryable": error.retryable,
    }
    if error.hints:
        body["hints"] = [dict(hint) for hint in error.hints]
    return body


def envelope(
    intent: str,
    now_ms: int,
    *,
    result: Any = None,
    error: dict[str, Any] | None = None,
    actions: list[dict[str, Any]] | None = None,
    warnings: list[dict[str, Any]] | None = None,
    context: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """The whole answer, with every field present."""
    return {
        "success": error is None,
        "intent": intent,
        "result": result,
        "refs": result.get("refs") if isinstance(result, dict) else None,
        "actions": actions or [],
        "warnings": warnings or [],
        "suggestions": [],
        "context": context or {},
        "error": error,
        "timestamp": rfc3339(now_ms),
    }
