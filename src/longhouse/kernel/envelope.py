"""The one shape of every answer, on every surface.

    {success, intent, result, refs, actions[], warnings[], suggestions[], context, error, timestamp}

`actions` are portal calls, most urgent first. One without `missing` is complete and runs as given;
one with `missing` lacks what it names there. `action_for` makes every action: from what the caller
said, what the store holds about that object, and defaults, never from an example. `suggestions` is
always empty; it exists only for clients that expect the field.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from longhouse.kernel.clock import rfc3339
from longhouse.kernel.errors import InvalidInput, LonghouseError, Suggestion
from longhouse.kernel.redact import redact
from longhouse.kernel.registry import Command, Outline, Registry
from longhouse.kernel.values import Draft, Request, Value

__all__ = [
    "Action",
    "Answer",
    "EncodedAnswer",
    "Warned",
    "action_for",
    "actions_for",
    "arguments_of",
    "envelope",
    "error_body",
    "portal_call",
    "without_nothing",
]

_RANK = {"high": 0, "medium": 1, "low": 2}


class Action(Value, frozen=True, kw_only=True):
    """A next call: `tool` with `args` runs as given, unless `missing` names what to add first."""

    action_id: str
    priority: Literal["high", "medium", "low"]
    tool: str
    args: dict[str, Any]
    why: str
    risk: str
    missing: list[str] = msgspec.field(default_factory=list)


class Warned(Value, frozen=True, kw_only=True):
    """Something the caller should know even though the call succeeded."""

    code: str
    message: str
    recovery: str | None


class EncodedAnswer(NamedTuple):
    """The parts of a plain success, as JSON; the result is encoded once, wherever it goes."""

    intent: str
    result: bytes
    actions: bytes
    context: bytes
    timestamp: str

    def body(self) -> bytes:
        """The whole envelope."""
        return (
            b'{"success":true,"intent":"%s","result":%s,"refs":null,"actions":%s,"warnings":[],'
            b'"suggestions":[],"context":%s,"error":null,"timestamp":"%s"}'
        ) % (
            self.intent.encode(),
            self.result,
            self.actions,
            self.context,
            self.timestamp.encode(),
        )

    def lean(self) -> bytes:
        """The envelope without its empty fields."""
        actions = b"" if self.actions == b"[]" else b',"actions":' + self.actions
        context = b"" if self.context == b"{}" else b',"context":' + self.context
        return b'{"success":true,"intent":"%s","result":%s%s%s,"timestamp":"%s"}' % (
            self.intent.encode(),
            self.result,
            actions,
            context,
            self.timestamp.encode(),
        )


class Answer:
    """A finished answer: the envelope and, for `fmt=lines`, the text sent in its place."""

    __slots__ = ("_encoded", "_envelope", "code", "exit_code", "status", "success", "text")

    def __init__(
        self,
        envelope: dict[str, Any] | EncodedAnswer,
        *,
        text: str | None = None,
        error: LonghouseError | None = None,
    ) -> None:
        self._envelope: dict[str, Any] | None = None
        self._encoded: EncodedAnswer | None = None
        if isinstance(envelope, EncodedAnswer):
            self._encoded = envelope
        else:
            self._envelope = envelope
        self.text = text
        self.success = error is None
        self.code = error.code if error else None
        self.status = error.status if error else 200
        self.exit_code = error.exit_code if error else 0

    @property
    def envelope(self) -> dict[str, Any]:
        """The envelope in built-in values."""
        if self._envelope is None:
            assert self._encoded is not None
            self._envelope = msgspec.json.decode(self._encoded.body())
        return self._envelope

    def body(self) -> bytes:
        """The bytes to send: the lines if lines were requested, otherwise the JSON envelope."""
        if self.text is not None:
            return self.text.encode()
        if self._encoded is not None:
            return self._encoded.body()
        return msgspec.json.encode(self.envelope)

    def lean(self) -> str:
        """The same as text for a model, with empty fields left out."""
        if self.text is not None:
            return self.text
        if self._encoded is not None:
            return self._encoded.lean().decode()
        return msgspec.json.encode(without_nothing(self.envelope)).decode()


def without_nothing(whole: dict[str, Any]) -> dict[str, Any]:
    """The answer without its empty fields, for readers who pay per token."""
    kept = ("success", "intent", "result") if whole["success"] else ("success", "intent")
    return {name: item for name, item in whole.items() if name in kept or item not in _NOTHING}


_NOTHING: tuple[Any, ...] = (None, [], {})
MADE_KEY = "auto-"
"""How the idempotency keys start that clients make for a call (`client/catalog.py`)."""


def portal_call(
    registry: Registry, request: Request | Draft, common: Mapping[str, Any]
) -> tuple[Command | Outline, dict[str, Any]]:
    """The command of a request, and the arguments of the tool call that runs it."""
    return _called(registry, request, arguments_of(request), common)


def arguments_of(request: Request | Draft) -> dict[str, Any]:
    """The arguments that a request holds, as built-in values."""
    if isinstance(request, Draft):
        return dict(request.given)
    args: dict[str, Any] = msgspec.to_builtins(request)
    return args


def _called(
    registry: Registry, request: Request | Draft, args: dict[str, Any], common: Mapping[str, Any]
) -> tuple[Command | Outline, dict[str, Any]]:
    command = registry.outline(request) or registry.of(request)
    extra = {k: v for k, v in common.items() if k != "workspace" or command.needs_workspace}
    call: dict[str, Any] = {"workspace": extra.pop("workspace")} if "workspace" in extra else {}
    if command.cmd == command.portal:
        call.update(args, **extra)
    elif command.op:
        call.update(op=command.op, args={**args, **extra})
    else:
        call.update(op="call", cmd=command.cmd, args={**args, **extra})
    return command, call


def action_for(
    registry: Registry,
    workspace: str | None,
    suggestion: Suggestion,
) -> Action:
    """The portal call that makes a suggested request.

    An argument that holds a secret cannot be repeated in an answer, so it is missing; so is text
    with blanks to fill in (`<fill: …>`): nobody wrote it.
    """
    request = suggestion.request
    common = {**({"workspace": workspace} if workspace else {}), **suggestion.common}
    if str(common.get("idempotency_key") or "").startswith(MADE_KEY):
        del common["idempotency_key"]  # a client's program made it; the caller said nothing of it
    given = arguments_of(request)
    shown, shown_common = redact([given, common])
    secret = [k for k, v in given.items() if shown.get(k) != v]
    secret += [k for k, v in common.items() if shown_common.get(k) != v]
    if secret:
        given = {k: v for k, v in given.items() if k not in secret}
        common = {k: v for k, v in common.items() if k not in secret}
    missing = [*(request.missing if isinstance(request, Draft) else ()), *secret]
    for path, holder in list(_blanks(given)):
        missing.append(path)
        del holder[path.rpartition(".")[2]]
    command, call = _called(registry, request, given, common)
    writes = command.writes_given({**given, **dict.fromkeys(missing, True)})
    return Action(
        action_id=suggestion.action_id or f"next::{command.cmd}",
        priority=suggestion.priority,  # type: ignore[arg-type]
        tool=command.portal,
        args=call,
        why=suggestion.why,
        risk="destructive" if command.destructive else "writes" if writes else "none",
        missing=list(dict.fromkeys(missing)),
    )


def _blanks(given: dict[str, Any], path: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Where text has blanks to fill in, and the object that holds it."""
    for name, item in given.items():
        if isinstance(item, dict):
            yield from _blanks(item, f"{path}{name}.")
        elif isinstance(item, str) and "<fill:" in item:
            yield f"{path}{name}", given


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
    return all(one.get(part) == other.get(part) for part in ("tool", "args", "missing"))


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
