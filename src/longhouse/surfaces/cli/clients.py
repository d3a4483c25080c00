"""The lines that connect an MCP client to this store.

A client may start us with an empty environment and from another folder, so that command, store
and workspace are spelled out.
"""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import longhouse
from longhouse.config import Settings, own_argv

__all__ = ["as_spoken", "entries", "program", "spoken"]

_OURS = ("longhouse", "lh")


def program() -> list[str]:
    """How to start this very Longhouse again, wherever the caller stands."""
    script = Path(sys.argv[0])
    if script.name in _OURS and script.is_file():
        return [str(script.absolute())]
    return own_argv()


def spoken() -> str:
    """How a person in this shell says it: by name where the shell finds us by name."""
    script = Path(sys.argv[0])
    if script.name not in _OURS and script != Path(longhouse.__file__).with_name("__main__.py"):
        return "longhouse"  # inside of another program
    import shutil

    first, *rest = program()
    found = shutil.which("longhouse")
    if not rest and found and Path(found).samefile(first):
        return "longhouse"
    here = Path.cwd()
    path = Path(first)
    shown = str(path.relative_to(here)) if path.is_relative_to(here) else first
    return shlex.join([shown, *rest])


def as_spoken(line: str) -> str:
    """A command line of ours, as it is pasted into this shell."""
    return line.replace("longhouse ", f"{spoken()} ", 1) if line.startswith("longhouse ") else line


def entries(settings: Settings) -> dict[str, str]:
    """What to paste, for each kind of client."""
    first, *rest = program()
    args = [*rest, "mcp", "--dir", str(settings.dir), "--workspace", settings.workspace]
    claude = [first, *args, "--client", "claude-code"]
    codex = [
        "[mcp_servers.longhouse]",
        f"command = {_quoted(first)}",
        f"args = {_quoted([*args, '--client', 'codex'])}",
        "required = true",
    ]
    return {
        "claude_code": shlex.join(["claude", "mcp", "add", "longhouse", "--", *claude]),
        "codex": "\n".join(codex),
        "json": _quoted({"mcpServers": {"longhouse": {"command": first, "args": args}}}),
    }


def _quoted(value: object) -> str:
    """JSON, which TOML reads alike; a path stays as its owner writes it."""
    return json.dumps(value, ensure_ascii=False)
