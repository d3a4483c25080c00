"""What a connection remembers between calls, for surfaces that have connections.

A session is found by its owner and the key its client sent; the least recently used one is dropped
first. Losing one is harmless: it holds only a default workspace.
"""

from __future__ import annotations

from collections import OrderedDict

from longhouse.dispatch import ClientSession

__all__ = ["AGENT_HEADER", "ROLE_HEADER", "SESSION_HEADER", "OpenSessions"]

SESSION_HEADER = "longhouse-session"
AGENT_HEADER = "longhouse-agent-id"
ROLE_HEADER = "longhouse-role"
_KEPT = 4096
_KEY_CHARS = 128


class OpenSessions:
    """A bounded set of sessions; used from one event loop."""

    def __init__(self, kept: int = _KEPT) -> None:
        self._kept = kept
        self._sessions: OrderedDict[tuple[str, str], ClientSession] = OrderedDict()

    def find(self, owner: str, key: str | None) -> ClientSession | None:
        """The owner's session for that key, created on first use; None without a usable key."""
        if not key or len(key) > _KEY_CHARS:
            return None
        session = self._sessions.setdefault((owner, key), ClientSession(key=f"{owner}/{key}"))
        self._sessions.move_to_end((owner, key))
        if len(self._sessions) > self._kept:
            self._sessions.popitem(last=False)
        return session
