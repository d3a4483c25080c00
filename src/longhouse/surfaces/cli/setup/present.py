"""The entries for Longhouse that clients have here, whoever wrote them, and where they lead.

An entry over HTTP sends its token to whatever listens at its address: a client of that kind cannot
ask for a proof first, as our own programs do. So whoever moves a server has to be told about them.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from longhouse.config import client_homes, worktree_root
from longhouse.surfaces.cli.setup.targets import NAME

__all__ = ["PresentEntry", "entries_here", "stray_entries"]

_LOCAL = re.compile(
    r"https?://(?:localhost|127(?:\.\d{1,3}){3}|\[::1\]):(\d{1,5})(?:/|\Z)", re.ASCII
)


class PresentEntry(NamedTuple):
    """One entry: what it starts, or where it connects; `trouble` if it cannot be read."""

    client: str
    path: Path
    command: str | None = None
    url: str | None = None
    trouble: str | None = None

    @property
    def local_port(self) -> int | None:
        """The port on this machine that it connects to, if it does."""
        found = _LOCAL.match(self.url or "")
        return int(found[1]) if found else None


def entries_here() -> Iterator[PresentEntry]:
    """The entries for Longhouse in this checkout's and this user's settings files of clients."""
    homes, root = client_homes(), worktree_root(Path.cwd())
    files = {
        "Claude Code": (root / ".mcp.json", homes.claude_json),
        "Codex": (root / ".codex" / "config.toml", homes.codex / "config.toml"),
        "Cursor": (root / ".cursor" / "mcp.json",),
        "VS Code": (root / ".vscode" / "mcp.json",),
    }
    for client, paths in files.items():
        for path in filter(Path.is_file, paths):
            try:
                text = path.read_text(encoding="utf-8")
                held: Any = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text)
                for entry in _named(held, root):
                    command, url = entry.get("command"), entry.get("url")
                    if command is None and url is None:
                        raise ValueError("its entry has neither a command nor a url")
                    yield PresentEntry(
                        client, path, command and str(command), None if command else str(url)
                    )
            except (OSError, ValueError, TypeError, AttributeError, RecursionError) as error:
                yield PresentEntry(client, path, trouble=str(error))


def stray_entries(url: str) -> list[PresentEntry]:
    """The entries that connect to this machine, but not to the server at `url`."""
    port = int(url.rpartition(":")[2])
    return [one for one in entries_here() if one.local_port not in (None, port)]


def _named(held: Any, root: Path) -> Iterator[dict[str, Any]]:
    """Our entry in each table of servers of one file."""
    own = held.get("projects", {}).get(str(root), {})
    for table in (
        held.get("mcp_servers"),
        held.get("mcpServers"),
        held.get("servers"),
        own.get("mcpServers"),
    ):
        if table and table.get(NAME) is not None:
            yield table[NAME]
