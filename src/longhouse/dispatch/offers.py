"""Selects the suggested calls to offer: those that exist here and that the caller may make."""

from __future__ import annotations

from collections.abc import Iterable

from longhouse.dispatch.calls import Caller
from longhouse.dispatch.speaking import role_needed
from longhouse.kernel.envelope import arguments_of
from longhouse.kernel.errors import Suggestion
from longhouse.kernel.registry import Command, Registry
from longhouse.kernel.values import Draft

__all__ = ["PROGRAMS", "follow_up", "offered"]

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
    return [Suggestion(registry.request_of(cmd)(), why, priority="low", fallback=True)]


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
