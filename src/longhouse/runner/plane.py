"""The control plane as the runner sees it: MCP tool calls over streamable HTTP, and nothing else.

Calls are independent (protocol 2026-07-28 has no session), so after a server restart, even on
another port, the runner simply calls again. A write carries an idempotency key and can be repeated
until it is answered. Refusals are always raised, never swallowed.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable
from typing import Any

from longhouse.__about__ import __version__
from longhouse.client import Retry, Wire, new_key, tool_outcome
from longhouse.client.jsonrpc import META, MODERN, encode, reply_message, routing
from longhouse.kernel.errors import LonghouseError, Unauthenticated, Unreachable
from longhouse.kernel.registry import portal_of

__all__ = ["Plane"]

TIMEOUT_S = 40.0
BEAT_TIMEOUT_S = 10.0
LONGEST_PAUSE_S = 2.0
OFFERS = 8
_META = {
    META + "protocolVersion": MODERN,
    META + "clientInfo": {"name": "longhouse-runner", "version": __version__},
    META + "clientCapabilities": {},
}


class Plane:
    """Calls commands of one workspace; threads may share it."""

    def __init__(
        self,
        find: Callable[[], Wire | None],
        workspace: str,
        *,
        actor: str,
        tell: Callable[..., None] = lambda *_a, **_k: None,
    ) -> None:
        self._find = find
        self._workspace = workspace
        self._actor = re.sub(r"[^A-Za-z0-9._-]+", "-", actor).lstrip("._-")[:64] or "runner"
        self._tell = tell
        self._wire: Wire | None = None
        self._lock = threading.Lock()
        self._away = False
        self._enough = threading.Event()

    def ask(self, cmd: str, /, **args: Any) -> Any:
        """A read, repeated until it is answered."""
        return self._patiently(cmd, args)

    def write(self, cmd: str, /, **args: Any) -> Any:
        """A write, repeated until it is answered, but applied only once."""
        return self._patiently(cmd, {"idempotency_key": new_key(), **args})

    def repeat(self, cmd: str, /, **args: Any) -> Any:
        """A write that says itself where it belongs: repeated until it is answered, without a key.

        The server recognizes a repetition by its position, so it need not remember a key for it.
        """
        return self._patiently(cmd, args)

    def offer(self, cmd: str, /, **args: Any) -> Any:
        """A write the job can do without: given up after OFFERS refusals.

        Otherwise a full disk would block a job forever just to store its transcript.
        """
        return self._patiently(cmd, {**args, "idempotency_key": new_key()}, OFFERS)

    def once(self, cmd: str, /, **args: Any) -> Any:
        """A single attempt, for calls that are repeated soon anyway, such as heartbeats."""
        return self._call(cmd, args, BEAT_TIMEOUT_S)

    def listen(self, cmd: str, /, **args: Any) -> Any:
        """A single attempt at a call that the server may hold open."""
        return self._call(cmd, args, TIMEOUT_S)

    def give_up(self) -> None:
        """From now on, do not wait for an unreachable server."""
        self._enough.set()

    def close(self) -> None:
        self.give_up()
        if self._wire is not None:
            self._wire.close()

    def _patiently(self, cmd: str, args: dict[str, Any], tries: int | None = None) -> Any:
        key = args.get("idempotency_key")
        retry = Retry(cmd, writes=key is not None, key=key, longest_s=LONGEST_PAUSE_S)
        answers = 0
        while True:
            try:
                return self._call(cmd, args, TIMEOUT_S)
            except LonghouseError as error:
                answers += not isinstance(error, Unreachable)
                if answers == tries:
                    raise
                if self._enough.wait(retry.pause(error)):
                    raise retry.given_up(error) from error

    def _call(self, cmd: str, args: dict[str, Any], timeout_s: float) -> Any:
        tool = portal_of(cmd)
        call = {
            "workspace": self._workspace,
            "op": "call",
            "cmd": cmd,
            "args": {"agent_id": self._actor, **args},
        }
        params = {"name": tool, "arguments": call, "_meta": _META}
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            **routing("tools/call", params, MODERN),
        }
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        wire = self._connected()
        try:
            reply = wire.request(
                "POST",
                "/mcp",
                headers=headers,
                body=encode(body),
                timeout_s=timeout_s,
            )
            message = reply_message(reply)
        except (Unreachable, Unauthenticated) as error:  # another server may have that port now
            self._lost(wire, error)
            raise
        if self._away:
            self._away = False
            self._tell("server.back", url=wire.origin.url)
        return tool_outcome(message).result()

    def _connected(self) -> Wire:
        with self._lock:
            if self._wire is None:
                self._wire = self._find()
            if self._wire is None:
                error = Unreachable("no server for this store answers")
                self._note_away(error)
                raise error
            return self._wire

    def _lost(self, wire: Wire, error: LonghouseError) -> None:
        with self._lock:
            if self._wire is wire:
                self._wire = None
                wire.close()
            self._note_away(error)

    def _note_away(self, error: LonghouseError) -> None:
        if not self._away:
            self._away = True
            self._tell("server.away", why=error.message)
