"""Tokens of clients on this machine whose entry was removed by hand: still valid, used by nobody.

An entry counts as present if a server in a settings file of the client has our name or starts us,
or if the file cannot be read, so that none is reported by mistake.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from longhouse.config import Settings
from longhouse.kernel.errors import LonghouseError
from longhouse.surfaces.cli.setup.targets import NAME, WRITTEN, targets
from longhouse.surfaces.client_tokens import ClientTokens

__all__ = ["leftover", "said_about"]

_MOST_BYTES = 16 << 20
_PROGRAM = re.compile(rf"{NAME}(\.\w+|[@=\[<>~!].*)?")
"""Our program, or our package with a version, for programs that fetch it."""
_SERVERS = ("mcpServers", "mcp_servers")


def leftover(settings: Settings, ask: Callable[..., Any]) -> Iterator[dict[str, Any]]:
    """The live tokens that this machine keeps for a client that no longer starts us.

    `ask` makes a call; each token is asked for by its id, however many the store has.
    """
    for client in WRITTEN:
        with suppress(LonghouseError):
            kept = ClientTokens(settings, client).kept()
            if kept is None or _starts_us(client):
                continue
            for row in ask("system.token.list", id=kept.id)["tokens"]:
                if not row.get("revoked_at_ms"):
                    yield row


def said_about(row: dict[str, Any]) -> tuple[str, str]:
    """What is wrong with such a token, and the command that mends it."""
    return (
        f"{row['id']} is still valid, but no entry of {row['client']} uses it any more",
        f"longhouse token revoke {row['id']}",
    )


def _starts_us(client: str) -> bool:
    files = [
        target.path
        for scope in ("project", "user")
        for target in targets([client], scope, [NAME], approve=False, remove=False)
    ]
    return any(_holds_entry(path) for path in files)


def _holds_entry(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            text = file.read(_MOST_BYTES).decode()
    except FileNotFoundError:
        return False
    except (OSError, UnicodeDecodeError):
        return True  # unknown, so nothing is reported
    try:
        found = tomllib.loads(text) if path.suffix == ".toml" else json.loads(text or "{}")
    except (ValueError, RecursionError):
        return NAME in text
    return any(_is_ours(name, entry) for name, entry in _servers(found))


def _servers(found: Any) -> Iterator[tuple[str, Any]]:
    """The servers in a settings file; Claude Code's own file also has some for each project."""
    if not isinstance(found, dict):
        return
    for key, value in found.items():
        if key in _SERVERS and isinstance(value, dict):
            yield from value.items()
        elif key == "projects" and isinstance(value, dict):
            for project in value.values():
                yield from _servers(project)


def _is_ours(name: str, entry: Any) -> bool:
    """Whether a server has our name, or is started by it."""
    if name == NAME:
        return True
    said = [entry.get("command"), *_list(entry.get("args"))] if isinstance(entry, dict) else []
    return any(isinstance(word, str) and _PROGRAM.fullmatch(Path(word).name) for word in said)


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []
