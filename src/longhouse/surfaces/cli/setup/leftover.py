"""Tokens of clients on this machine whose entry was removed by hand: still valid, used by nobody.

An entry counts as present if a settings file of the client mentions us at all, so that none is
reported by mistake.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

from longhouse.config import Settings
from longhouse.kernel.errors import LonghouseError
from longhouse.surfaces.cli.setup.targets import NAME, WRITTEN, targets
from longhouse.surfaces.client_tokens import ClientTokens

__all__ = ["leftover", "said_about"]

_MOST_BYTES = 16 << 20


def leftover(settings: Settings, tokens: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The live tokens that this machine keeps for a client that no longer starts us."""
    for row in tokens:
        client = row.get("client")
        if client not in WRITTEN or row.get("revoked_at_ms"):
            continue
        with suppress(LonghouseError):
            kept = ClientTokens(settings, client).kept()
            if kept is not None and kept.id == row["id"] and not _mentions_us(client):
                yield row


def said_about(row: dict[str, Any]) -> tuple[str, str]:
    """What is wrong with such a token, and the command that mends it."""
    return (
        f"{row['id']} is still valid, but no entry of {row['client']} uses it any more",
        f"longhouse token revoke {row['id']}",
    )


def _mentions_us(client: str) -> bool:
    files = [
        target.path
        for scope in ("project", "user")
        for target in targets([client], scope, [NAME], approve=False, remove=False)
    ]
    return any(_holds_entry(path) for path in files)


def _holds_entry(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return NAME.encode() in file.read(_MOST_BYTES)
    except FileNotFoundError:
        return False
    except OSError:
        return True  # unknown, so nothing is reported
