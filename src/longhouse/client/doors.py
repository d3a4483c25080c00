"""The two ways into a store: through its server, or by opening it in this process.

Both take a command with its arguments and give an Outcome; nobody above needs to know which it is.
A call is repeated by itself only when repeating cannot do harm: it never arrived, it only reads, or
it carries an idempotency key.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Protocol
from urllib.parse import quote, urlencode

from longhouse.client.http1 import Event
from longhouse.client.replies import Outcome, error_of, lines_outcome, outcome_of
from longhouse.client.wire import Reply, Wire
from longhouse.kernel.errors import InvalidInput, Unreachable
from longhouse.kernel.refs import check_workspace

if TYPE_CHECKING:
    from longhouse.config import Settings
    from longhouse.house import House

__all__ = ["Door", "EmbeddedDoor", "RemoteDoor"]

PATIENCE_S = 10.0
QUIET_S = 60.0


class Door(Protocol):
    """A way in."""

    def call(self, cmd: str, args: dict[str, Any]) -> Outcome: ...

    def events(
        self, after: int, *, streams: tuple[str, ...], follow: bool, workspace: str | None
    ) -> Iterator[dict[str, Any]]: ...

    def close(self) -> None: ...


class Remote:
    """What a call looks like on the wire; shared by both kinds of remote door."""

    def __init__(self, workspace: str | None, agent_id: str | None) -> None:
        self.workspace = workspace
        self.agent_id = agent_id

    def headers(self, workspace: str | None = None) -> dict[str, str]:
        name = workspace or self.workspace
        return {"Longhouse-Workspace": check_workspace(name)} if name else {}

    def call_parts(self, cmd: str, args: dict[str, Any]) -> tuple[str, dict[str, str], bytes]:
        if self.agent_id and "agent_id" not in args:
            args = {**args, "agent_id": self.agent_id}
        try:
            body = json.dumps(args, ensure_ascii=False, separators=(",", ":")).encode()
        except (TypeError, ValueError) as error:
            raise InvalidInput(f"args: not JSON ({error})", recovery="pass JSON values") from None
        headers = {"Content-Type": "application/json", **self.headers()}
        return f"/call/{quote(cmd, safe='')}", headers, body


class Tail:
    """How far a follower of `/events` has come, and whether it has seen what it came for.

    The server's first event tells where the log ends. Who does not follow reads up to there; since
    a filtered stream may never show that row, the filter is then applied here.
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

    def take(self, event: Event) -> dict[str, Any] | None:
        """The log row that an event carries, if it is one that was asked for."""
        data = json.loads(event.data)
        if event.id:
            self.after = max(self.after, int(event.id))
        if event.event == "hello" and self._head is None:
            self._head = int(data["head"])
        if not self._follow and self._head is not None:
            self.done = self.after >= self._head
        wanted = "seq" in data and (not self._streams or data["stream"] in self._streams)
        return data if wanted else None


class RemoteDoor(Remote):
    """Through a server; finds it again after it was restarted, even on another port."""

    def __init__(
        self,
        wire: Wire,
        *,
        workspace: str | None = None,
        agent_id: str | None = None,
        find_again: Callable[[], Wire | None] | None = None,
        patience_s: float = PATIENCE_S,
    ) -> None:
        super().__init__(workspace, agent_id)
        self.wire = wire
        self._find_again = find_again or (lambda: None)
        self._patience_s = patience_s

    def call(self, cmd: str, args: dict[str, Any]) -> Outcome:
        path, headers, body = self.call_parts(cmd, args)
        patience = Patience(self._patience_s)
        while True:
            try:
                reply = self.wire.request("POST", path, headers=headers, body=body)
                return outcome_of(reply)
            except Unreachable as trouble:
                pause_s = patience.next(trouble, cmd, args)
                if pause_s is None:
                    raise
                time.sleep(pause_s)
                self._move()

    def events(
        self, after: int, *, streams: tuple[str, ...], follow: bool, workspace: str | None
    ) -> Iterator[dict[str, Any]]:
        patience = Patience(self._patience_s)
        tail = Tail(after, streams, follow=follow)
        while True:
            headers = self.headers(workspace)
            try:
                for event in self.wire.events(tail.path(), headers=headers, quiet_s=QUIET_S):
                    if isinstance(event, Reply):
                        raise_refusal(event)
                    else:
                        patience = Patience(self._patience_s)
                        if row := tail.take(event):
                            yield row
                        if tail.done:
                            return
            except Unreachable as trouble:
                pause_s = patience.next(trouble, None, {})
                if pause_s is None:
                    raise
                time.sleep(pause_s)
                self._move()

    def close(self) -> None:
        self.wire.close()

    def _move(self) -> None:
        """Go where the server is now."""
        if found := self._find_again():
            self.wire.close()
            self.wire = found


class Patience:
    """How long to go on trying, and whether it is allowed at all."""

    def __init__(self, total_s: float) -> None:
        self._ends = time.monotonic() + total_s
        self._pause_s = 0.02

    def next(self, trouble: Unreachable, cmd: str | None, args: dict[str, Any]) -> float | None:
        """Seconds to wait before the next try; None: give up."""
        harmless = not trouble.sent or "idempotency_key" in args or cmd is None or reads(cmd, args)
        if not harmless or time.monotonic() + self._pause_s > self._ends:
            return None
        self._pause_s = min(self._pause_s * 2, 0.5)
        return self._pause_s


def reads(cmd: str, args: dict[str, Any]) -> bool:
    """Whether a command only reads; asked after trouble only, for it loads every room."""
    from longhouse.house import registry

    command = registry().commands.get(cmd)
    return command is not None and not command.writes_given(args)


def raise_refusal(reply: Reply) -> None:
    outcome = outcome_of(reply)
    raise outcome.error or Unreachable(f"the server answered with status {reply.status}")


class EmbeddedDoor:
    """The store, opened here; `sparse` when the process makes a call or two and ends."""

    def __init__(self, settings: Settings, *, sparse: bool = False) -> None:
        from longhouse.house import House, registry

        commands = None
        if sparse:
            from longhouse.sparse import SparseRegistry

            commands = SparseRegistry(registry)
        self.house: House = House(settings, commands=commands)

    def call(self, cmd: str, args: dict[str, Any]) -> Outcome:
        answer = self.house.call(cmd, args)
        text = answer.body().decode()
        if answer.text is not None:
            return lines_outcome(text, ok=answer.success)
        error = answer.envelope["error"]
        made = error_of(error, answer.envelope["actions"]) if error else None
        return Outcome(text, answer.envelope, made)

    def events(
        self, after: int, *, streams: tuple[str, ...], follow: bool, workspace: str | None
    ) -> Iterator[dict[str, Any]]:
        from longhouse.client.feed import pages

        for page in pages(self.house, after, workspace=workspace, follow=follow):
            yield from (row for row in page if not streams or row["stream"] in streams)

    def close(self) -> None:
        self.house.close()
