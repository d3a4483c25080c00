"""Tokens of identities registered or adopted here, kept in the store's folder.

One file per identity, readable only by its owner: `agents/<workspace>/<name>`.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any
from urllib.parse import quote

from longhouse.kernel.errors import InvalidInput
from longhouse.kernel.private_files import read_private, write_private
from longhouse.surfaces.cli.context import Cli

__all__ = ["as_agent", "forget", "keep", "kept_names", "kept_token", "rig", "token_file"]


def as_agent(cli: Cli, agent: str | None) -> dict[str, Any]:
    """The acting agent, with the token kept for it."""
    name = (agent or cli.settings.agent_id or "").strip()
    if not name:
        raise InvalidInput(
            "--agent is missing",
            recovery="choose an identity with `longhouse agent init`, then pass --agent NAME or "
            "set LONGHOUSE_AGENT_ID",
        )
    return {"agent": name, "agent_token": kept_token(cli, name)}


def kept_token(cli: Cli, name: str) -> str | None:
    """The token kept here for an identity, if there is one."""
    path = token_file(cli, name)
    return read_private(path).decode().strip() if path.is_file() else None


def keep(cli: Cli, name: str, token: str) -> Path:
    """Save a token atomically in a file that only its owner can read."""
    path = token_file(cli, name)
    for folder in (
        path.parent.parent,
        path.parent,
    ):  # `parents=True` would leave the outer one open
        folder.mkdir(exist_ok=True, mode=0o700)
    write_private(path, f"{token}\n".encode())
    return path


def forget(cli: Cli, name: str) -> None:
    token_file(cli, name).unlink(missing_ok=True)


def kept_names(cli: Cli) -> list[str]:
    """The names of the identities whose tokens are kept here."""
    folder = token_file(cli, "-").parent
    if not folder.is_dir():
        return []
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def token_file(cli: Cli, name: str) -> Path:
    """The file of an identity's token; names are quoted, so none can escape the folder."""
    settings = cli.settings
    return settings.dir / "agents" / quote(settings.workspace, safe="") / quote(name, safe="")


def rig() -> str:
    """The machine: its platform, its architecture and its name."""
    import sys

    system = os.uname()
    return f"{sys.platform}-{system.machine}-{system.nodename}"[:120]
