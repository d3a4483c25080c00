"""What a connection remembers between calls, for surfaces that have connections.

A session is found by its owner and the key its client sent. It holds the workspace that the client
chose, so nobody's may be lost through another's: each token keeps its own, of which the least
recently used is dropped first.
"""

from __future__ import annotations

from collections import OrderedDict

from longhouse.dispatch import ClientSession

__all__ = ["AGENT_HEADER", "ROLE_HEADER", "SESSION_HEADER", "OpenSessions"]

SESSION_HEADER = "longhouse-session"
AGENT_HEADER = "longhouse-agent-id"
ROLE_HEADER = "longhouse-role"
_KEPT = 256
"""How many sessions of one token are kept."""
_TOKENS = 4096
_KEY_CHARS = 128


class OpenSessions:
    """A bounded set of sessions; used from one event loop."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept = kept
        self._tokens: OrderedDict[str, OrderedDict[tuple[str, str], ClientSession]] = OrderedDict()

    def find(self, owner: str, key: str | None) -> ClientSession | None:
        """The owner's session for that key, created on first use; None without a usable key."""
        if not key or len(key) > _KEY_CHARS:
            return None
        token = owner.partition("/")[0]
        sessions = self._tokens.setdefault(token, OrderedDict())
        self._tokens.move_to_end(token)
        if len(self._tokens) > _TOKENS:
            self._tokens.popitem(last=False)
        session = sessions.setdefault((owner, key), ClientSession(key=f"{owner}/{key}"))
        sessions.move_to_end((owner, key))
        if len(sessions) > self._kept:
            sessions.popitem(last=False)
        return session
