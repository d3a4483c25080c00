"""Calls that may be repeated: one key, one effect, the same answer again.

The answer is remembered in the transaction that made it true, so a refused call is not remembered
and two at once have one effect. Keys belong to a workspace and to the token that used them: nobody
is answered with what another caller was told. A credential is never stored. A repeated call gets a
new one in its place, and the one that the first answer carried stops working.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.kernel.errors import Conflict
from longhouse.kernel.redact import HIDDEN
from longhouse.kernel.registry import Command
from longhouse.kernel.values import Request
from longhouse.store.tx import Tx

__all__ = ["recall", "remember", "scoped"]

CREDENTIAL = "credential_digest"
"""Where the digest of a credential is kept, beside the answer that carried it."""


def scoped(owner: str, key: str | None) -> str | None:
    """The key as it is stored: of one caller."""
    return f"{owner}\n{key}" if key else None


def recall(tx: Tx, key: str, command: Command, request: Request) -> Any:
    """What this key was answered before, or None; another call under the same key is refused."""
    row = tx.remembered(scoped(tx.by.owner, key) or "")
    if row is None:
        return None
    if (row["cmd"], row["digest"]) != (command.cmd, _digest(command, request)):
        raise Conflict(
            f"idempotency_key: {key!r} was used for another call of {row['cmd']}",
            recovery="use a new key for a new call",
        )
    answer = msgspec.json.decode(row["answer"])
    if command.reissue is None:
        return answer
    (field,) = command.reveals
    token = command.reissue(tx, answer, answer.pop(CREDENTIAL))
    kept = {**answer, field: HIDDEN, CREDENTIAL: _credential(token)}
    tx.remember_anew(row["key"], msgspec.json.encode(kept).decode())
    return {**answer, field: token}


def remember(tx: Tx, key: str, command: Command, request: Request, result: Any) -> None:
    answer = msgspec.to_builtins(result) if command.reveals else result
    for field in command.reveals:
        answer = {**answer, field: HIDDEN, CREDENTIAL: _credential(answer[field])}
    text = msgspec.json.encode(answer).decode()
    tx.remember(scoped(tx.by.owner, key) or "", command.cmd, _digest(command, request), text)


def _credential(token: str) -> str:
    """What is kept of a credential: the digest by which its room knows it."""
    import hashlib

    return hashlib.sha256(token.encode()).hexdigest()


def _digest(command: Command, request: Request) -> str:
    """The same for the same meaning: order, nulls and spelled-out defaults do not matter.

    What somebody typed may be a password, which a digest would betray: only its length counts.
    """
    import hashlib

    said: Any = request
    if command.unkept:
        said = msgspec.to_builtins(request)
        for name in command.unkept:
            said[name] = len(msgspec.json.encode(said.get(name)))
    raw = msgspec.json.encode([command.cmd, said], order="deterministic")
    return hashlib.sha256(raw).hexdigest()
