"""The names of tools and commands: which tool takes which command, and how callers write them."""

from __future__ import annotations

import re

from longhouse.kernel.aliases import nearest
from longhouse.kernel.errors import UnknownTool

__all__ = ["PORTALS", "other_names", "plain_name", "portal_named", "portal_of"]

PORTALS = (
    "status",
    "open",
    "workspace",
    "tasks",
    "jobs",
    "think",
    "graph",
    "vcs",
    "docs",
    "system",
)
"""The ten MCP tools, in the order a newcomer meets them."""

_PORTAL_OF_FAMILY = {"agents": "workspace", "tool": "jobs"}


def plain_name(name: str) -> str:
    """A name as we write them: `tasks_macro_start` is `tasks.macro.start`."""
    return re.sub(r"[^a-z0-9]+", ".", name[:128].strip().lower()).strip(".")


def other_names(cmd: str, words: str) -> tuple[str, ...]:
    """The names that callers try: a word without a dot is one of the command's own family."""
    family, dot, _ = cmd.partition(".")
    return tuple(w if "." in w or not dot else f"{family}.{w}" for w in words.split())


def portal_of(cmd: str) -> str:
    """The portal that takes this command: that of its family, or the family itself."""
    family = cmd.partition(".")[0]
    return _PORTAL_OF_FAMILY.get(family, family)


def portal_named(tool: str) -> str:
    """The portal that a tool name means; clients put a server's name before it."""
    name = tool.rpartition("/")[2]
    for prefix in ("longhouse.", "lh.", "branchmind.", "bm."):
        name = name.removeprefix(prefix)
    if name in PORTALS:
        return name
    near = nearest(name, PORTALS)
    raise UnknownTool(
        f"there is no tool {tool[:80]!r}; the tools are {', '.join(PORTALS)}",
        recovery="look the new name up with system.migration.lookup"
        + (f", or use {near!r}" if near else ""),
        name=name[:128],
    )
