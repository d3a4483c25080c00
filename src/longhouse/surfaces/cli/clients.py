"""The entries that connect an MCP client to this store.

A client may start us with an empty environment and in another folder, so the command, the store
and the workspace are spelled out.
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
    """How to start this same Longhouse again from any folder."""
    script = Path(sys.argv[0])
    if script.name in _OURS and script.is_file():
        return [str(script.absolute())]
    return own_argv()


def spoken() -> str:
    """How to type this program in this shell: by name if the shell finds it by name."""
    script = Path(sys.argv[0])
    if script.name not in _OURS and script != Path(longhouse.__file__).with_name("__main__.py"):
        return "longhouse"  # called from another program
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
    """A Longhouse command line, ready to paste into this shell."""
    return line.replace("longhouse ", f"{spoken()} ", 1) if line.startswith("longhouse ") else line


BEST_FORMATS = {"codex": "lines"}
"""How a client's reads are best answered, if not in JSON: Codex shows its model the text of an
answer as a JSON string, in which every quotation mark of JSON would be escaped."""


def words_for(client: str, fmt: str | None = None) -> list[str]:
    """The arguments of `longhouse mcp` for one client: its token, and its format if not JSON."""
    fmt = fmt or BEST_FORMATS.get(client, "json")
    return [*(["--format", fmt] if fmt != "json" else []), "--client", client]


def entries(settings: Settings) -> dict[str, str]:
    """The entry to paste, for each kind of client."""
    first, *rest = program()
    args = [*rest, "mcp", "--dir", str(settings.dir), "--workspace", settings.workspace]
    claude = [first, *args, *words_for("claude-code")]
    codex = [
        "[mcp_servers.longhouse]",
        f"command = {_quoted(first)}",
        f"args = {_quoted([*args, *words_for('codex')])}",
        "required = true",
    ]
    return {
        "claude_code": shlex.join(["claude", "mcp", "add", "longhouse", "--", *claude]),
        "codex": "\n".join(codex),
        "json": _quoted({"mcpServers": {"longhouse": {"command": first, "args": args}}}),
    }


def _quoted(value: object) -> str:
    """JSON, which is also valid TOML here; non-ASCII paths stay readable."""
    return json.dumps(value, ensure_ascii=False)
