"""The SDK's sessions by token: each keeps its newest few, so that no token takes all there are.

The SDK allows a number of sessions to everybody together, and ends one only long after its last
use. Many clients never end theirs: a token with too many loses the one it used longest ago.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator

from starlette.types import ASGIApp, Message, Scope

__all__ = ["OpenedSessions"]

MOST = 64
"""How many sessions a token may have open: more than the clients of one person."""
HEADER = b"mcp-session-id"
_ACCEPT = (b"accept", b"application/json, text/event-stream")


class OpenedSessions:
    """The sessions of all tokens; only the event loop uses this."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._of: dict[str, OrderedDict[bytes, str]] = {}
        """By token: the owner of each session, the one last used at the end."""

    def note(self, payer: str, scope: Scope, answer: Message) -> None:
        """Note which session a request has opened, used or ended."""
        asked, given = _named(scope["headers"]), _named(answer.get("headers", ()))
        known = self._of.setdefault(payer, OrderedDict())
        if asked is not None and (scope["method"] == "DELETE" or answer["status"] == 404):
            known.pop(asked, None)
        elif asked is not None and asked in known:
            known.move_to_end(asked)
        elif asked is None and given is not None:
            known[given] = scope["longhouse.owner"]
        if not known:
            del self._of[payer]

    async def end_oldest(self, payer: str, scope: Scope, handle: ASGIApp) -> None:
        """End what a token has opened too many of, as if its client had asked for that."""
        for session, owner in self._too_many(payer):
            headers = [pair for pair in scope["headers"] if pair[0] in (b"host", b"origin")]
            ends = {**scope, "method": "DELETE", "longhouse.owner": owner}
            ends["headers"] = [*headers, _ACCEPT, (HEADER, session)]
            await handle(ends, _nothing_more, _unsent)

    def _too_many(self, payer: str) -> Iterator[tuple[bytes, str]]:
        while (known := self._of.get(payer)) and len(known) > self._most:
            yield known.popitem(last=False)


def _named(headers: list[tuple[bytes, bytes]]) -> bytes | None:
    return next((value for name, value in headers if name.lower() == HEADER), None)


async def _nothing_more() -> Message:
    return {"type": "http.request", "body": b"", "more_body": False}


async def _unsent(_message: Message) -> None:
    """Nobody waits for the answer."""
