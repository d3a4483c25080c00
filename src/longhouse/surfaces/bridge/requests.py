"""The client that a bridge serves, and its requests as sent to the server."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, NamedTuple

from longhouse.client import outcome_unknown
from longhouse.kernel.errors import LonghouseError

__all__ = ["SentRequest", "ServedClient", "arguments_of", "parsed"]


class ServedClient(NamedTuple):
    """The client that a bridge serves: the one whose entry started it, or a job's agent.

    `role` limits what it may do; None leaves that to its token. `agent_token` is the token that a
    runner created for its agent. With `lines`, reads that say no format are answered in lines.
    """

    name: str
    role: str | None = None
    agent_token: str | None = None
    lines: bool = False


class SentRequest:
    """One request and how often it was sent; a call known to write carries a key."""

    __slots__ = (
        "answered",
        "body",
        "cmd",
        "denied",
        "headers",
        "id",
        "key",
        "method",
        "modern",
        "params",
        "tries",
        "writes",
    )

    def __init__(
        self,
        id_: Any,
        method: str,
        params: dict[str, Any],
        *,
        headers: Mapping[str, str],
        body: bytes,
        modern: bool,
        cmd: str,
        writes: bool,
        key: str | None,
    ) -> None:
        self.id = id_
        self.method = method
        self.params = params
        self.headers = headers
        self.body = body
        self.modern = modern
        self.cmd = cmd
        self.writes = writes
        self.key = key
        self.tries = 0
        self.answered = False
        self.denied = False
        """Whether the server rejected the client's token for it."""

    @property
    def repeatable(self) -> bool:
        """Whether running it twice is safe."""
        return not self.writes or self.key is not None

    def given_up(self, trouble: LonghouseError) -> LonghouseError:
        """The error for the client when there are no more tries."""
        return outcome_unknown(self.cmd, self.key) if self.writes and self.tries else trouble


def arguments_of(params: Mapping[str, Any]) -> dict[str, Any]:
    """The arguments of a tool call, including those that a portal nests in `args`."""
    arguments = params.get("arguments")
    arguments = arguments if isinstance(arguments, dict) else {}
    inner = arguments.get("args")
    return {**arguments, **inner} if isinstance(inner, dict) else arguments


def parsed(message: bytes) -> dict[str, Any] | None:
    """A JSON-RPC message, or None for anything else, such as a refusal by the access gate."""
    try:
        found = json.loads(message)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and found.get("jsonrpc") == "2.0" else None
