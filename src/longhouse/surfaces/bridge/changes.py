"""Reports file changes in the bridge's checkout in its agent's name.

After calls, at most every `changes_every_s`, a thread asks git for changes and reports new ones
with `agents.changed`. No answer waits for it, and a failure is reported once, on standard error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from longhouse.client import jsonrpc, tool_outcome
from longhouse.client.jsonrpc import META, MODERN, routing
from longhouse.kernel.errors import LonghouseError
from longhouse.surfaces.bridge.requests import SentRequest, ServedClient, arguments_of, parsed

if TYPE_CHECKING:
    from longhouse.client import Wire
    from longhouse.git import CheckoutLook
    from longhouse.surfaces.cli.context import Cli

__all__ = ["ChangeReports"]

SHARE = 10
"""The pause after a scan is at least this many times its duration: checkouts may be huge."""
NOT_THEIRS = ("AGENT_NOT_FOUND", "AGENT_TOKEN_REQUIRED")
"""Errors for an identity that is not, or no longer, the client's."""


class _Acting(NamedTuple):
    """An identity whose token the client has used."""

    agent: str
    agent_token: str


class ChangeReports:
    """The reports of one bridge; none for a job's agent, because its runner reports."""

    def __init__(
        self, cli: Cli, client: ServedClient, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._cli = cli
        self._clock = clock
        self._off = client.agent_token is not None
        self._acting: _Acting | None = None
        self._last: CheckoutLook | None = None
        self._last_at = self._due_at = 0.0
        self._looking = self._complained = False

    def answered(self, request: SentRequest, data: bytes) -> None:
        """Learn from an answered call which agent is acting."""
        if not self._off and request.cmd.startswith("agents."):
            here = self._cli.settings.workspace
            self._acting = _acting_after(request, data, self._acting, here)

    def look(self, wire: Wire) -> None:
        """Scan the checkout if it is due; the first scan only sets the baseline."""
        self._off = self._off or not self._cli.settings.changes_every_s
        if self._off or self._looking or self._clock() < self._due_at:
            return
        if self._last is None or self._acting:
            import threading

            self._looking = True
            threading.Thread(target=self._run, args=(wire,), daemon=True).start()

    def end(self) -> None:
        """Report no more failures: a running scan may fail as the process exits."""
        self._complained = True

    def _run(self, wire: Wire) -> None:
        began, acting = self._clock(), self._acting
        try:
            self._report(wire, began, acting)
        except LonghouseError as error:
            if error.code in NOT_THEIRS and self._acting is acting:
                self._acting = None
            self._complain(error)
        except Exception as error:
            self._last = None
            self._complain(error)
        finally:
            now = self._clock()
            every_s = self._cli.settings.changes_every_s
            self._due_at = now + max(every_s, SHARE * (now - began))
            self._looking = False

    def _report(self, wire: Wire, began: float, acting: _Acting | None) -> None:
        from longhouse.git import CheckoutWatch
        from longhouse.surfaces.cli.checkout import checkout_root

        root = checkout_root()
        if not (root / ".git").exists():
            self._off = True
            return
        look, changed = CheckoutWatch(root, self._cli.settings.dir).look(self._last)
        if changed and acting:
            changed["over_ms"] = int((self._clock() - self._last_at) * 1000)
            mine = {**acting._asdict(), "workspace": self._cli.settings.workspace}
            _send(wire, {**mine, "changed": changed, "root": str(root)})
        self._last, self._last_at = look, began

    def _complain(self, error: Exception) -> None:
        if not self._complained:
            self._complained = True
            from longhouse.git import said
            from longhouse.kernel.terminal import tame

            why = tame(said(error).partition("\n")[0])
            sys.stderr.write(f"longhouse: changed files are not reported: {why}\n")


def _acting_after(
    request: SentRequest, data: bytes, before: _Acting | None, workspace: str
) -> _Acting | None:
    """The acting agent after an `agents.*` call: the one that got a token from it or used one.

    An agent in another workspace than the checkout's is a different one, even with the same name.
    """
    given = arguments_of(request.params)
    name, token = given.get("agent"), given.get("agent_token")
    try:
        outcome = tool_outcome(parsed(data) or {})
        result = outcome.result()
        if outcome.envelope and outcome.envelope["context"]["workspace"] != workspace:
            return before
        if request.cmd in ("agents.register", "agents.adopt"):
            name, token = result["agent"]["agent_id"], result["agent_token"]
    except (LonghouseError, LookupError, TypeError):
        return before  # refused, or no token in the lines
    if request.cmd == "agents.retire":
        return None if before and name == before.agent else before
    return _Acting(name, token) if isinstance(name, str) and isinstance(token, str) else before


def _send(wire: Wire, args: dict[str, Any]) -> None:
    """Call `agents.changed` as the client would."""
    params = {
        "name": "workspace",
        "arguments": {"op": "call", "cmd": "agents.changed", "args": args},
        "_meta": {META + "protocolVersion": MODERN, META + "clientCapabilities": {}},
    }
    body = {"jsonrpc": "2.0", "id": "changed", "method": "tools/call", "params": params}
    headers = routing("tools/call", params, MODERN)
    reply = wire.request("POST", "/mcp", headers=headers, body=jsonrpc.encode(body))
    tool_outcome(parsed(reply.body) or {}).result()
