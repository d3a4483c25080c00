"""Selects the calls to offer: those that exist here and that the caller may make.

It sees both the actions beside a result and the calls inside it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from typing import Any

from longhouse.dispatch.calls import Caller
from longhouse.dispatch.speaking import role_needed
from longhouse.kernel.envelope import arguments_of
from longhouse.kernel.errors import LonghouseError, Suggestion
from longhouse.kernel.names import PORTALS
from longhouse.kernel.registry import Command, Registry
from longhouse.kernel.values import Draft

__all__ = ["PROGRAMS", "follow_up", "holds_calls", "offered", "permitted"]

_EXAMPLE = "example_"
"""Calls under such names show how a call is written; they are not offered."""
_GONE: Any = object()

PROGRAMS = frozenset(
    {
        "agents.heartbeat",
        "jobs.claim",
        "jobs.release",
        "jobs.report",
        "jobs.runner.heartbeat",
        "jobs.subagent.finish",
        "jobs.subagent.renew",
        "jobs.subagent.start",
        "tool.output_append",
        "tool.output_store",
        "tool.task_append",
        "tool.task_claim",
        "tool.task_held",
    }
)
"""Commands that programs call in their loops; a program needs no suggestion for what to do next."""

_NEXT = {"jobs": "jobs.radar", "think": "think.watch"}
_NEXT_ELSEWHERE = "tasks.execute.next"


def follow_up(registry: Registry, command: Command) -> list[Suggestion]:
    """The suggestion after a write that suggests nothing itself."""
    cmd = _NEXT.get(command.portal, _NEXT_ELSEWHERE)
    if command.cmd in PROGRAMS or cmd not in registry:
        return []
    why = "see what is next" if cmd == _NEXT_ELSEWHERE else "see what this changed"
    return [Suggestion(Draft(cmd, {}), why, priority="low", fallback=True)]


def offered(
    registry: Registry, caller: Caller | None, suggestions: Iterable[Suggestion]
) -> list[Suggestion]:
    """The suggestions that exist here and are permitted to the caller.

    If only fallbacks remain, the last of them.
    """
    found = [s for s in suggestions if _may(registry, caller, s)]
    return [s for s in found if not s.fallback] or found[-1:]


def _may(registry: Registry, caller: Caller | None, suggestion: Suggestion) -> bool:
    command = registry.outline(suggestion.request)
    if command is None or caller is None:
        return command is not None
    request = suggestion.request
    wanted = dict.fromkeys(request.missing, True) if isinstance(request, Draft) else {}
    writes = command.writes_given({**arguments_of(request), **wanted})
    return caller.role >= role_needed(command, writes=writes)


def holds_calls(raw: bytes) -> bool:
    """Whether an encoded result may hold calls."""
    return b'"tool":' in raw and b'"args":' in raw


def permitted(registry: Registry, caller: Caller, result: Any) -> Any:
    """The result without the calls inside it that the caller may not make.

    What a list holds only for the sake of such a call goes with it; elsewhere it becomes null.
    """
    kept = _kept(registry, caller, result, in_list=False)
    return result if kept is _GONE else kept


def _kept(registry: Registry, caller: Caller, value: Any, *, in_list: bool) -> Any:
    if isinstance(value, list):
        items = (_kept(registry, caller, item, in_list=True) for item in value)
        return [item for item in items if item is not _GONE]
    if not isinstance(value, dict):
        return value
    if value.get("tool") in PORTALS and isinstance(value.get("args"), dict):
        return value if _may_call(registry, caller, value) else _GONE
    made: dict[str, Any] = {}
    for name, item in value.items():
        inner = item
        if not name.startswith(_EXAMPLE):
            inner = _kept(registry, caller, item, in_list=False)
        if inner is _GONE and in_list:
            return _GONE
        made[name] = None if inner is _GONE else inner
    return made


def _may_call(registry: Registry, caller: Caller, call: dict[str, Any]) -> bool:
    args = call["args"]
    with suppress(LonghouseError):
        command = registry.route(call["tool"], args.get("op"), args.get("cmd"))
        inner = args.get("args", args)
        wanted = {**inner, **dict.fromkeys(call.get("missing") or (), True)}
        return caller.role >= role_needed(command, writes=command.writes_given(wanted))
    return True
