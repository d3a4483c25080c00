"""How a local server proves that it wrote `server.json` before a client sends it anything.

Each new connection starts with a fresh nonce. The answer is its HMAC under a key in `server.json`,
which only the store's owner can read. So a program that takes over the port of a stopped server
learns nothing, even if it replays that server's earlier answers.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple, Self

__all__ = ["GREET_S", "Greeting", "NotTheServer", "proof_of"]

GREET_S = 3.0


class NotTheServer(ConnectionError):
    """Another program is listening where the server was."""

    def __init__(self) -> None:
        super().__init__("another program is listening there")


class Greeting(NamedTuple):
    """One challenge that only the server can answer."""

    key: str
    nonce: str

    @classmethod
    def under(cls, key: str) -> Self:
        return cls(key, os.urandom(16).hex())

    @property
    def path(self) -> str:
        return f"/healthz?nonce={self.nonce}"

    def check(self, body: bytes | bytearray) -> None:
        """Return if the answer proves the key; otherwise raise NotTheServer."""
        import hmac

        try:
            said = json.loads(bytes(body))["proof"]
            proved = hmac.compare_digest(str(said), proof_of(self.key, self.nonce))
        except (ValueError, LookupError, TypeError, RecursionError):
            proved = False
        if not proved:
            raise NotTheServer


def proof_of(key: str, nonce: str) -> str:
    """The answer of a server with that key."""
    import hmac

    return hmac.digest(key.encode(), nonce.encode(), "sha256").hex()
