"""The door to a store through its server; `embedded.py` has the other one.

Both take a command and its arguments and return a CallOutcome, so callers can use either. Through a
server every write carries an idempotency key, so a call whose answer was lost can be repeated.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any, NamedTuple, Protocol
from urllib.parse import quote, urlencode

from longhouse.client.catalog import known_commands
from longhouse.client.http1 import ServerSentEvent
from longhouse.client.replies import CallOutcome, not_ours, outcome_of
from longhouse.client.retry import Retry
from longhouse.client.wire import Reply, Wire
from longhouse.kernel.errors import InvalidInput, TooManyRequests, Unreachable
from longhouse.kernel.refs import check_workspace

__all__ = ["Door", "RemoteDoor"]

PATIENCE_S = 10.0
QUIET_S = 60.0
_GATEWAY = (502, 503, 504)
"""The statuses a proxy returns while the server behind it restarts."""


class Door(Protocol):
    """A connection to a store."""

    def call(self, cmd: str, args: dict[str, Any]) -> CallOutcome: ...

    def events(
        self, after: int, *, streams: tuple[str, ...], follow: bool, workspace: str | None
    ) -> Iterator[dict[str, Any]]: ...

    def close(self) -> None: ...


class Post(NamedTuple):
    """A call to send to the server."""

    path: str
    headers: dict[str, str]
    body: bytes


Steps = Generator[Post | float, Reply | Unreachable | None, CallOutcome]
"""The tries of a call: yields what to send or how long to wait, and is sent the reply."""


class Remote:
    """Shared by both remote doors: how a call is sent, and when it is tried again."""

    def __init__(self, workspace: str | None, agent_id: str | None, patience_s: float) -> None:
        self.workspace = workspace
        self.agent_id = agent_id
        self.patience_s = patience_s

    def headers(self, workspace: str | None = None) -> dict[str, str]:
        name = workspace or self.workspace
        return {"Longhouse-Workspace": check_workspace(name)} if name else {}

    def steps(self, cmd: str, args: dict[str, Any]) -> Steps:
        """A call from its first try to its outcome; it does no I/O itself."""
        if self.agent_id and "agent_id" not in args:
            args = {**args, "agent_id": self.agent_id}
        args = known_commands().keyed(cmd, args)
        post = self._post(cmd, args)
        retry = Retry(
            cmd,
            writes=not known_commands().reads(cmd, args),
            key=args.get("idempotency_key"),
            patience_s=self.patience_s,
        )
        while True:
            reply = yield post
            if not isinstance(reply, Reply):
                yield retry.pause(reply or not_ours())
                continue
            try:
                outcome = outcome_of(reply)
            except Unreachable as trouble:
                if reply.status not in _GATEWAY:
                    raise
                yield retry.pause(trouble)
                continue
            if not isinstance(outcome.error, TooManyRequests):
                return outcome
            try:
                yield retry.pause(outcome.error, after_s=reply.retry_after_s)
            except TooManyRequests:
                return outcome

    def _post(self, cmd: str, args: dict[str, Any]) -> Post:
        try:
            body = json.dumps(args, ensure_ascii=False, separators=(",", ":")).encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInput(
                f"args: not valid JSON ({error})", recovery="pass JSON values"
            ) from None
        headers = {"Content-Type": "application/json", **self.headers()}
        return Post(f"/call/{quote(cmd, safe='')}", headers, body)


class Tail:
    """The position of a reader of `/events`, and whether it has read everything it wants.

    The server's first event says where the log ends. A reader that does not follow stops there; a
    filtered stream might never send that row, so its filter is applied here.
    """

    def __init__(self, after: int, streams: tuple[str, ...], *, follow: bool) -> None:
        self.after = after
        self.done = False
        self._streams = streams
        self._follow = follow
        self._head: int | None = None

    def path(self) -> str:
        asked = self._streams if self._follow else ()
        query = [("after", str(self.after)), *(("stream", stream) for stream in asked)]
        return "/events?" + urlencode(query)

    def take(self, event: ServerSentEvent) -> dict[str, Any] | None:
        """The log row that an event carries, if it matches the filter."""
        try:
            data: dict[str, Any] = json.loads(event.data)
            if not isinstance(data, dict):
                raise TypeError(data)
            if event.id:
                self.after = max(self.after, int(event.id))
            if self._head is None:
                self._head = int(data["head"])  # in the first event of every stream
            wanted = "seq" in data and (not self._streams or data["stream"] in self._streams)
        except (ValueError, TypeError, LookupError, RecursionError):
            raise not_ours() from None
        if not self._follow and self._head is not None:
            self.done = self.after >= self._head
        return data if wanted else None


class RemoteDoor(Remote):
    """A store through its server, which it finds again after a restart, even on another port."""

    def __init__(
        self,
        wire: Wire,
        *,
        workspace: str | None = None,
        agent_id: str | None = None,
        find_again: Callable[[], Wire | None] | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        super().__init__(workspace, agent_id, patience_s)
        self.wire = wire
        self._find_again = find_again or (lambda: None)

    def call(self, cmd: str, args: dict[str, Any]) -> CallOutcome:
        steps = self.steps(cmd, args)
        told: Reply | Unreachable | None = None
        while True:
            try:
                step = steps.send(told)
            except StopIteration as end:
                outcome: CallOutcome = end.value
                return outcome
            told = self._take(step)

    def _take(self, step: Post | float) -> Reply | Unreachable | None:
        if not isinstance(step, Post):
            time.sleep(step)
            self.move()
            return None
        try:
            return self.wire.request("POST", step.path, headers=step.headers, body=step.body)
        except Unreachable as trouble:
            return trouble

    def events(
        self, after: int, *, streams: tuple[str, ...], follow: bool, workspace: str | None
    ) -> Iterator[dict[str, Any]]:
        retry = Retry("events", patience_s=self.patience_s)
        tail = Tail(after, streams, follow=follow)
        while True:
            headers, before = self.headers(workspace), tail.after
            try:
                for event in self.wire.events(tail.path(), headers=headers, quiet_s=QUIET_S):
                    if isinstance(event, Reply):
                        raise_refusal(event)
                    else:
                        if follow or tail.after > before:
                            retry = Retry("events", patience_s=self.patience_s)
                        if row := tail.take(event):
                            yield row
                        if tail.done:
                            return
                if not follow and tail.after == before:
                    raise Unreachable("the server closed the event stream early")
            except Unreachable as trouble:
                time.sleep(retry.pause(trouble))
                self.move()

    def close(self) -> None:
        self.wire.close()

    def move(self) -> None:
        """Switch to where the server is now."""
        if found := self._find_again():
            self.wire.close()
            self.wire = found


def raise_refusal(reply: Reply) -> None:
    """Raise the error that a reply of the server holds."""
    outcome = outcome_of(reply)
    raise outcome.error or Unreachable(f"the server answered with status {reply.status}")
