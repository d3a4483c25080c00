"""Calls that may be repeated: one key, one effect, the same answer again.

The answer is remembered in the transaction that made it true, so a refused call is not remembered
and two at once have one effect. Keys belong to a workspace.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.kernel.errors import Conflict
from longhouse.kernel.redact import redact
from longhouse.kernel.registry import Command
from longhouse.kernel.values import Request
from longhouse.store.tx import Tx

__all__ = ["recall", "remember"]


def recall(tx: Tx, key: str, command: Command, request: Request) -> Any:
    """What this key was answered before, or None; another call under the same key is refused."""
    row = tx.remembered(key)
    if row is None:
        return None
    if (row["cmd"], row["digest"]) != (command.cmd, _digest(command, request)):
        raise Conflict(
            f"idempotency_key: {key!r} was used for another call of {row['cmd']}",
            recovery="use a new key for a new call",
        )
    return msgspec.json.decode(row["answer"])


def remember(tx: Tx, key: str, command: Command, request: Request, result: Any) -> None:
    # A credential is shown once; a repeated call must not find it stored.
    kept = redact(msgspec.to_builtins(result)) if command.reveals else result
    answer = msgspec.json.encode(kept).decode()
    tx.remember(key, command.cmd, _digest(command, request), answer)


def _digest(command: Command, request: Request) -> str:
    """The same for the same meaning: order, nulls and spelled-out defaults do not matter."""
    import hashlib

    raw = msgspec.json.encode([command.cmd, request], order="deterministic")
    return hashlib.sha256(raw).hexdigest()
