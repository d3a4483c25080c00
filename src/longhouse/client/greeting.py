"""How a server of this machine proves that it wrote `server.json`, before it is told anything.

Each new connection begins with a number that was never used before. The answer is that number under
a key which stands in the note, where only the store's owner can read it. So whoever takes the port
of a server that has ended learns nothing, not even by repeating what that server once said.
"""

from __future__ import annotations

import json
import os
from typing import NamedTuple, Self

__all__ = ["GREET_S", "Greeting", "NotTheServer", "proof_of"]

GREET_S = 3.0


class NotTheServer(ConnectionError):
    """Another program listens where the server was."""

    def __init__(self) -> None:
        super().__init__("another program listens there")


class Greeting(NamedTuple):
    """One question that only the server can answer."""

    key: str
    nonce: str

    @classmethod
    def under(cls, key: str) -> Self:
        return cls(key, os.urandom(16).hex())

    @property
    def path(self) -> str:
        return f"/healthz?nonce={self.nonce}"

    def check(self, body: bytes | bytearray) -> None:
        """Go on, or NotTheServer."""
        import hmac

        try:
            said = json.loads(bytes(body))["proof"]
            proved = hmac.compare_digest(str(said), proof_of(self.key, self.nonce))
        except (ValueError, LookupError, TypeError, RecursionError):
            proved = False
        if not proved:
            raise NotTheServer


def proof_of(key: str, nonce: str) -> str:
    """What a server with that key answers."""
    import hmac

    return hmac.digest(key.encode(), nonce.encode(), "sha256").hex()
