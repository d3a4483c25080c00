"""The executors a runner offers: Codex, Claude Code if its CLI is installed, and plug-ins.

What is installed may change while a runner or server runs, so both look again from time to time.
"""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from longhouse.executors.base import Executor
from longhouse.executors.claude_code import ClaudeCode
from longhouse.executors.codex import Codex
from longhouse.kernel.delegation import PROFILES

if TYPE_CHECKING:
    from longhouse.executors.options import Options

__all__ = ["GROUP", "Executor", "agents_here", "built_in", "find_executors", "is_here"]

GROUP = "longhouse.executors"
"""An entry point of this group names a function that takes the runner's options and returns an
Executor, or None if it cannot run on this machine. Jobs use the entry point's name: `executor=` can
ask for one with a dot in it (`acme.shell`); one without a dot gets only jobs with `auto`."""


def find_executors(
    options: Options, tell: Callable[..., None] = lambda *_a, **_k: None
) -> dict[str, Executor]:
    """All executors by name. `codex` is always offered; a broken plug-in is logged and skipped."""
    found = built_in(options)
    for name, executor in _plugged_in(options, tell):
        found.setdefault(name, executor)
    return found


def built_in(options: Options) -> dict[str, Executor]:
    """Codex, and Claude Code if its program is named or found."""
    found: dict[str, Executor] = {"codex": Codex(options.codex_bin)}
    if claude := options.claude_bin or shutil.which("claude"):
        found["claude_code"] = ClaudeCode(claude)
    return found


def agents_here(options: Options) -> dict[str, Sequence[str]]:
    """The executors that a runner started now would probably have, each with its profiles.

    A plug-in counts by its name, because a server does not load it.
    """
    from importlib.metadata import entry_points

    found = {name: one.profiles for name, one in built_in(options).items() if is_here(one)}
    return {**{point.name: PROFILES for point in entry_points(group=GROUP)}, **found}


def is_here(executor: Executor) -> bool:
    """Whether its program, if it names one, is on this machine."""
    program = getattr(executor, "program", None)
    return program is None or shutil.which(str(program)) is not None


def _plugged_in(options: Options, tell: Callable[..., None]) -> list[tuple[str, Executor]]:
    from importlib.metadata import entry_points

    found = []
    for point in sorted(entry_points(group=GROUP), key=lambda point: point.name):
        try:
            executor = point.load()(options)
        except Exception as error:
            tell("executor.broken", name=point.name, why=repr(error))
            continue
        if executor is not None:
            found.append((point.name, executor))
    return found
