"""Chooses the behavior pack for a job's agent, and its size. Deterministic; never fails a job."""

from __future__ import annotations

from typing import Any, Protocol

from longhouse.executors import Options
from longhouse.kernel.delegation import SKILL_PROFILES
from longhouse.kernel.errors import LonghouseError

__all__ = ["MOST_CHARS", "SkillPacks", "choose_skill"]

MOST_CHARS = 8_000
LEAST_CHARS = 80


class Asks(Protocol):
    """The part of the control plane that serves packs."""

    def once(self, cmd: str, /, **args: Any) -> Any: ...


def choose_skill(kind: str, meta: dict[str, Any], options: Options) -> tuple[str, int]:
    """Profile and size: from the job's meta, else its kind, else the runner's settings."""
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


class SkillPacks:
    """A cache of packs: the runner fetches each one once."""

    def __init__(self, plane: Asks, options: Options) -> None:
        self._plane = plane
        self._options = options
        self._read: dict[tuple[str, int], str] = {}

    def text(self, kind: str, meta: dict[str, Any]) -> str:
        """The pack for a job; empty if the job wants none or the server has none."""
        profile, chars = choose_skill(kind, meta, self._options)
        if not chars:
            return ""
        if (profile, chars) not in self._read:
            pack = self._ask(profile, chars)
            if not pack:
                return ""
            self._read[profile, chars] = pack
        return self._read[profile, chars]

    def _ask(self, profile: str, chars: int) -> str:
        try:
            text = self._plane.once("system.skill", profile=profile, max_chars=chars, fmt="lines")
        except LonghouseError:
            return ""
        lines = text.splitlines() if isinstance(text, str) else []
        return "\n".join(line for line in lines if not line.startswith("MORE: "))
