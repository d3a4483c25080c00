"""Which behaviour pack a job's agent is given, and how much of it. Deterministic, never fatal."""

from __future__ import annotations

from typing import Any, Protocol

from longhouse.kernel.errors import LonghouseError
from longhouse.runner.options import SKILL_PROFILES, Options

__all__ = ["MOST_CHARS", "choose_skill", "skill_text"]

MOST_CHARS = 8_000
LEAST_CHARS = 80


class Asks(Protocol):
    """As far as packs go, the control plane."""

    def once(self, cmd: str, /, **args: Any) -> Any: ...


def choose_skill(kind: str, meta: dict[str, Any], options: Options) -> tuple[str, int]:
    """Profile and size: from the job's meta, else from its kind, else the runner's own."""
    profile = meta.get("skill_profile")
    if profile not in SKILL_PROFILES:
        profile = "research" if "research" in kind.lower() else options.skill_profile
    return profile, _size(meta.get("skill_max_chars"), options.skill_max_chars)


def _size(asked: Any, default: int) -> int:
    if isinstance(asked, bool) or not isinstance(asked, int | float) or asked != asked:
        return default
    if asked <= 0:
        return 0
    return int(min(max(asked, LEAST_CHARS), MOST_CHARS))


def skill_text(plane: Asks, kind: str, meta: dict[str, Any], options: Options) -> str:
    """The pack, or nothing: none is wanted, or there is none to be had."""
    profile, chars = choose_skill(kind, meta, options)
    if not chars:
        return ""
    try:
        text = plane.once("system.skill", profile=profile, max_chars=chars, fmt="lines")
    except LonghouseError:
        return ""
    lines = text.splitlines() if isinstance(text, str) else []
    return "\n".join(line for line in lines if not line.startswith("MORE: "))
