"""The control plane as the runner sees it: MCP tool calls over streamable HTTP, and nothing else.

Each call stands alone (protocol 2026-07-28 has no session), so a server that restarts, even on
another port, is simply asked again. A write carries an idempotency key and may therefore be
repeated until it was answered. A refusal is raised; none is ever swallowed.
"""

from __future__ import annotations

import json
import re
import threading
import uuid
from collections.abc import Callable
from typing import Any

from longhouse.__about__ import __version__
from longhouse.client.replies import error_of, outcome_of
from longhouse.client.wire import Reply, Wire
from longhouse.kernel.errors import InternalError, LonghouseError, Unauthenticated, Unreachable

__all__ = ["Plane"]

PROTOCOL = "2026-07-28"
TIMEOUT_S = 40.0
BEAT_TIMEOUT_S = 10.0
PAUSES_S = (0.02, 2.0)
OFFERS = 8
_META = {
    "io.modelcontextprotocol/protocolVersion": PROTOCOL,
    "io.modelcontextprotocol/clientInfo": {"name": "longhouse-runner", "version": __version__},
    "io.modelcontextprotocol/clientCapabilities": {},
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
        """A read; repeated until there is an answer."""
        return self._patiently(cmd, args)

    def write(self, cmd: str, /, **args: Any) -> Any:
        """A write; repeated until there is an answer, with one effect."""
        return self._patiently(cmd, {**args, "idempotency_key": f"runner-{uuid.uuid4().hex}"})

    def offer(self, cmd: str, /, **args: Any) -> Any:
        """A write that can be done without: a server that answers, but cannot, is asked so often.

        A full disk would else hold a job for ever that only wanted to leave its transcript there.
        """
        key = f"runner-{uuid.uuid4().hex}"
        return self._patiently(cmd, {**args, "idempotency_key": key}, OFFERS)

    def once(self, cmd: str, /, **args: Any) -> Any:
        """One try, for what is said again soon anyway: a heartbeat."""
        return self._call(cmd, args, BEAT_TIMEOUT_S)

    def listen(self, cmd: str, /, **args: Any) -> Any:
        """One try of a call that takes its time to answer."""
        return self._call(cmd, args, TIMEOUT_S)

    def give_up(self) -> None:
        """From now on nobody waits for a server that is away."""
        self._enough.set()

    def close(self) -> None:
        self.give_up()
        if self._wire is not None:
            self._wire.close()

    def _patiently(self, cmd: str, args: dict[str, Any], tries: int | None = None) -> Any:
        pause_s, longest_s = PAUSES_S
        answers = 0
        while True:
            try:
                return self._call(cmd, args, TIMEOUT_S)
            except LonghouseError as error:
                answers += not isinstance(error, Unreachable)
                if not error.retryable or answers == tries or self._enough.wait(pause_s):
                    raise
            pause_s = min(pause_s * 2, longest_s)

    def _call(self, cmd: str, args: dict[str, Any], timeout_s: float) -> Any:
        tool = cmd.partition(".")[0]
        call = {
            "workspace": self._workspace,
            "op": "call",
            "cmd": cmd,
            "args": {"agent_id": self._actor, **args},
        }
        body = {
            "jsonrpc": "2.0",
            "id": 1,
            "method": "tools/call",
            "params": {"name": tool, "arguments": call, "_meta": _META},
        }
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
            "MCP-Protocol-Version": PROTOCOL,
            "Mcp-Method": "tools/call",
            "Mcp-Name": tool,
        }
        wire = self._connected()
        try:
            reply = wire.request(
                "POST",
                "/mcp",
                headers=headers,
                body=json.dumps(body).encode(),
                timeout_s=timeout_s,
            )
            text = _tool_text(reply)
        except (Unreachable, Unauthenticated) as error:  # another server may have that port now
            self._lost(wire, error)
            raise
        if self._away:
            self._away = False
            self._tell("server.back", url=wire.origin.url)
        return _result(text)

    def _connected(self) -> Wire:
        with self._lock:
            if self._wire is None:
                self._wire = self._find()
            if self._wire is None:
                error = Unreachable("no server of this store answers")
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


def _tool_text(reply: Reply) -> str:
    """The text of a tool's answer; anything else is trouble with the server."""
    if reply.status != 200:
        if error := outcome_of(reply).error:
            raise error
        raise Unreachable(f"the server answered with status {reply.status}")
    message = _message(reply)
    if "error" in message:
        raise InternalError(f"MCP: {message['error'].get('message')}")
    try:
        text: str = message["result"]["content"][0]["text"]
    except (KeyError, IndexError, TypeError):
        raise InternalError("MCP: an answer without text") from None
    return text


def _message(reply: Reply) -> dict[str, Any]:
    """The JSON-RPC answer: the body itself, or the last event of a stream."""
    text = reply.body.decode("utf-8", "replace")
    if not reply.is_json:
        text = next(
            (line[5:] for line in reversed(text.splitlines()) if line.startswith("data:")), ""
        )
    try:
        message: dict[str, Any] = json.loads(text)
    except ValueError:
        raise Unreachable("that address answers, but not as a Longhouse server does") from None
    return message


def _result(text: str) -> Any:
    """The result of a command, lines as they are; a refusal is raised as the error it is."""
    try:
        envelope = json.loads(text)
    except ValueError:
        if text.startswith("ERROR: "):
            code, _, message = text.removeprefix("ERROR: ").partition(" ")
            raise error_of({"code": code, "message": message}) from None
        return text
    if error := envelope.get("error"):
        raise error_of(error, envelope.get("actions"))
    return envelope["result"]
