"""The lines that connect an MCP client to this store.

A client may start us with an empty environment and from another folder, so that command, store
and workspace are spelled out.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

from longhouse.config import Settings

__all__ = ["entries", "program"]


def program() -> list[str]:
    """How to start this very Longhouse again, wherever the caller stands."""
    script = Path(sys.argv[0])
    if script.name in ("longhouse", "lh") and script.is_file():
        return [str(script.absolute())]
    return [sys.executable, "-m", "longhouse"]


def entries(settings: Settings) -> dict[str, str]:
    """What to paste, for each kind of client."""
    first, *rest = program()
    args = [*rest, "mcp", "--dir", str(settings.dir), "--workspace", settings.workspace]
    codex = [
        "[mcp_servers.longhouse]",
        f"command = {json.dumps(first)}",
        f"args = {json.dumps(args)}",
        "required = true",
    ]
    return {
        "claude_code": shlex.join(["claude", "mcp", "add", "longhouse", "--", first, *args]),
        "codex": "\n".join(codex),
        "json": json.dumps({"mcpServers": {"longhouse": {"command": first, "args": args}}}),
    }
