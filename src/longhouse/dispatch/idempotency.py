"""Idempotency keys: a call repeated with its key has one effect and gets the same answer.

The answer is stored in the transaction that made the change, so a refused call is not remembered,
and two concurrent calls have one effect. A key is scoped to its workspace and to the token that
used it, so no caller is given another caller's answer. Credentials are never stored: a repeated
call gets a new one, and the one in the first answer stops working.
"""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.kernel.errors import Conflict
from longhouse.kernel.redact import HIDDEN
from longhouse.kernel.registry import Command
from longhouse.kernel.values import Request
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["recall", "remember"]

CREDENTIAL = "credential_digest"
"""The field of a stored answer that holds the digest of its credential."""


def recall(tx: Tx, key: str, row: Row, command: Command, request: Request) -> Any:
    """The earlier answer to this key; raises Conflict if the key was for another call."""
    if (row["cmd"], row["digest"]) != (command.cmd, _digest(command, request)):
        raise Conflict(
            f"idempotency_key: {key!r} was already used for a different {row['cmd']} call",
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


def remember(tx: Tx, key: str, command: Command, request: Request, result: Any) -> bytes | None:
    """Store the answer to a scoped key; returns it if it is the encoded result as it is."""
    if not command.reveals:
        raw = msgspec.json.encode(result)
        tx.remember(key, command.cmd, _digest(command, request), raw.decode())
        return raw
    answer = msgspec.to_builtins(result)
    for field in command.reveals:
        answer = {**answer, field: HIDDEN, CREDENTIAL: _credential(answer[field])}
    text = msgspec.json.encode(answer).decode()
    tx.remember(key, command.cmd, _digest(command, request), text)
    return None


def _credential(token: str) -> str:
    """The digest of a credential, by which its room recognizes it."""
    import hashlib

    return hashlib.sha256(token.encode()).hexdigest()


def _digest(command: Command, request: Request) -> str:
    """A digest of what the request means: order, nulls and explicit defaults do not matter.

    An argument in `unkept` may be a typed password, which its digest could reveal, so only its
    length counts.
    """
    import hashlib

    said: Any = request
    if command.unkept:
        said = msgspec.to_builtins(request)
        for name in command.unkept:
            said[name] = len(msgspec.json.encode(said.get(name)))
    raw = msgspec.json.encode([command.cmd, said], order="deterministic")
    return hashlib.sha256(raw).hexdigest()
