"""What an agent's program is given and denied: how it reaches Longhouse, and what is hidden."""

from __future__ import annotations

from pathlib import Path

from longhouse.config import data_home, own_argv, user_file
from longhouse.executors.base import McpEntry
from longhouse.executors.options import Options

__all__ = ["entry_for", "hidden_from_agents"]


def entry_for(options: Options, *, folder: Path, workspace: str) -> McpEntry:
    """How agents reach Longhouse: this store's stdio bridge, or the server at a URL.

    The bridge starts in the folder the agent works in and must import nothing from there. Each job
    adds its own agent token.
    """
    if options.url:
        return McpEntry(url=options.url.rstrip("/"))
    command = own_argv("mcp", "--dir", str(folder), "--workspace", workspace)
    return McpEntry(command=tuple(command))


def hidden_from_agents(store: Path) -> tuple[Path, ...]:
    """The folders that no agent's commands have business in: stores and the user's settings.

    They hold the tokens of the person and of their clients. An agent reaches Longhouse by its MCP
    entry, which runs outside its sandbox.
    """
    own = user_file()
    known = [path for path in (data_home(), store, own and own.parent) if path]
    # A sandbox cannot hide a folder inside one that it has hidden already.
    return tuple(
        path
        for at, path in enumerate(known)
        if not any(path.is_relative_to(other) for other in known[:at])
    )
