"""Which of the suggested calls are offered: those that exist here and that the caller may make."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from longhouse.dispatch.calls import Caller
from longhouse.dispatch.speaking import role_needed
from longhouse.kernel.errors import Suggestion
from longhouse.kernel.registry import Registry

__all__ = ["offered"]


def offered(
    registry: Registry, caller: Caller | None, suggestions: Iterable[Suggestion]
) -> list[Suggestion]:
    """Those that this house has and this caller may make; of fallbacks, the last where need be."""
    found = [s for s in suggestions if _may(registry, caller, s)]
    return [s for s in found if not s.fallback] or found[-1:]


def _may(registry: Registry, caller: Caller | None, suggestion: Suggestion) -> bool:
    command = registry.outline(suggestion.request)
    if command is None or caller is None:
        return command is not None
    writes = command.writes_given(msgspec.to_builtins(suggestion.request))
    return caller.role >= role_needed(command, writes=writes)
