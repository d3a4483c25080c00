"""The host's loop against a model: whatever visitors do, in whatever order, it serves the others.

The loop runs in this process, one turn at a time, over real sockets and a fake task, so every
interleaving is decided by the test and nothing waits. All that visitors do between two turns
arrives in one `select`, which is where the dangerous orders are.
"""

from __future__ import annotations

import json
import os
import socket
import tempfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    rule,
)

from longhouse.runner.host import loop
from longhouse.runner.host.door import SOCKET
from longhouse.runner.host.loop import Host
from longhouse.runner.host.refusals import HostRefused

MOST_TURNS = 30
GONE = b"gone"


class FakeTask:
    """Looks like a task to the loop; `fails` names the calls that meet a defect."""

    def __init__(self, name: str, fails: str = "") -> None:
        self.name, self.fails = name, fails
        self.root = self.terminal = self.feeds_at = None
        self.wakes_at: float | None = None
        self.is_foreign = self.needs_tree = self.awaits_tree = False
        self.is_hashed = self.is_begun = True
        self.ops: list[str] = []

    def record(self, _kind: str) -> dict[str, Any]:
        return {"pid": 1}

    def confirm(self) -> None:
        self.is_begun = False
        if self.fails == "confirm":
            raise HostRefused("no such program")

    def control(self, asked: dict[str, Any]) -> dict[str, Any]:
        if self.fails == "control":
            raise AssertionError("a defect in control")
        self.ops.append(asked["op_id"])
        return {"op_id": asked["op_id"]}

    def tick(self) -> bool:
        if self.fails == "tick":
            raise AssertionError("a defect in tick")
        return True  # its end is recorded

    def close(self) -> None:
        if self.fails == "close":
            raise AssertionError("a defect in close")

    def end(self, _cause: str) -> None:
        self.wakes_at = 0.0


class Visitor:
    """One connection, what it has asked and what it has heard."""

    def __init__(self) -> None:
        self.line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.line.connect(SOCKET)
        self.line.setblocking(False)
        self.half = b""
        self.asked = 0
        self.answers = 0
        self.grown: list[str] = []
        self.watches = False
        self._heard = b""

    def say(self, what: bytes, requests: int) -> None:
        self.line.sendall(what)
        self.asked += requests

    def hear(self) -> None:
        while True:
            try:
                data = self.line.recv(1 << 16)
            except BlockingIOError:
                break
            assert data, "the host closed the line of a visitor that did nothing wrong"
            self._heard += data
        *lines, self._heard = self._heard.split(b"\n")
        for said in map(json.loads, lines):
            if "grown" in said:
                self.grown.append(said["grown"])
            else:
                self.answers += 1


class HostLoop(RuleBasedStateMachine):
    """Visitors come, ask, watch, stop in mid-sentence and leave; tasks start, grow and end."""

    visitors = Bundle("visitors")

    def __init__(self) -> None:
        super().__init__()
        self.patch = pytest.MonkeyPatch()
        self.folder = tempfile.TemporaryDirectory()
        self.patch.chdir(self.folder.name)
        self.here: list[Visitor] = []
        self.hung_up: list[Visitor] = []
        self.tasks: dict[str, FakeTask] = {}
        self.fails = ""
        self.names = (f"PROC-{n:03d}" for n in range(1, 1_000))
        start = SimpleNamespace(start=self._started, take_back=lambda *_: None)
        self.patch.setattr(loop, "HostedTask", start)
        self.patch.setattr("longhouse.runner.host.loop.Trees.look", lambda *_: {})
        self.wake, self.told = os.pipe()
        self.host = Host(Path(), self.wake)
        self.backwards = False
        select = self.host._ready.select
        self.patch.setattr(self.host._ready, "select", lambda s: self._ordered(select(s)))

    def _started(self, _folder: Path, _id: str, asked: dict[str, Any], *_: Any) -> FakeTask:
        if self.fails == "start":
            raise AssertionError("a defect in start")
        task = self.tasks[asked["task"]] = FakeTask(asked["task"], self.fails)
        return task

    def _ordered(self, ready: list[Any]) -> list[Any]:
        """The kernel promises no order; here it is the order of arrival, or the reverse."""
        by_file = sorted(ready, key=lambda one: one[0].fd)
        return by_file[::-1] if self.backwards else by_file

    def teardown(self) -> None:
        for visitor in (*self.here, *self.hung_up):
            visitor.line.close()
        self.host.close()
        os.close(self.wake)
        os.close(self.told)
        self.patch.undo()
        self.folder.cleanup()

    @initialize(target=visitors)
    def first(self) -> Visitor:
        return self._arrive()

    @rule(target=visitors)
    def come(self) -> Visitor:
        return self._arrive()

    def _arrive(self) -> Visitor:
        self.here.append(Visitor())
        self.turn()
        return self.here[-1]

    @rule(visitor=visitors, is_heard=st.booleans())
    def watch(self, visitor: Visitor, is_heard: bool = True) -> None:
        if not visitor.half:
            visitor.say(b'{"do":"watch"}\n', 1)
            visitor.watches = True
            if is_heard:
                self.turn()

    @rule(
        visitor=visitors,
        many=st.integers(1, 3),
        fails=st.sampled_from(["", "", "start", "confirm"]),
        together=st.booleans(),
    )
    def spawn(self, visitor: Visitor, many: int, fails: str, together: bool = False) -> None:
        if not visitor.half:
            tasks = [{"task": next(self.names)} for _ in range(many)]
            asks: list[dict[str, Any]] = [{"do": "spawn", **one} for one in tasks]
            if together:
                asks = [{"do": "spawn_many", "tasks": tasks}]
            self.fails = fails
            visitor.say(b"".join(json.dumps(one).encode() + b"\n" for one in asks), len(asks))
            if fails:
                self.turn()
                self.fails = ""

    @rule(visitor=visitors, data=st.data())
    def control(self, visitor: Visitor, data: st.DataObject) -> None:
        if self.tasks and not visitor.half:
            name = data.draw(st.sampled_from(sorted(self.tasks)))
            ask = {"do": "control", "task": name, "op": "cancel", "op_id": "1"}
            visitor.say(json.dumps(ask).encode() + b"\n", 1)

    @rule(data=st.data(), fails=st.sampled_from(["", "control", "tick", "close"]))
    def meet_a_defect(self, data: st.DataObject, fails: str) -> None:
        if self.tasks:
            self.tasks[data.draw(st.sampled_from(sorted(self.tasks)))].fails = fails

    @rule(
        visitor=visitors,
        what=st.sampled_from(
            [b"[]", b"nonsense", b"{}", b'{"do":7}', b'{"do":"spawn"}', b"[" * 5_000, b"\xff"]
        ),
    )
    def talk_nonsense(self, visitor: Visitor, what: bytes) -> None:
        if not visitor.half:
            visitor.say(what + b"\n", 1)

    @rule(visitor=visitors)
    def say_half(self, visitor: Visitor) -> None:
        if not visitor.half:
            visitor.half = b'{"do":"list"}\n'
            visitor.say(visitor.half[:5], 0)

    @rule(visitor=visitors)
    def say_the_rest(self, visitor: Visitor) -> None:
        if visitor.half and visitor.half != GONE:
            visitor.say(visitor.half[5:], 1)
            visitor.half = b""

    @rule(visitor=consumes(visitors))
    def leave(self, visitor: Visitor) -> None:
        """Also in mid-sentence, and with answers that nobody will read."""
        if visitor in self.here:
            visitor.line.close()
            visitor.half = GONE
            self.here.remove(visitor)

    @rule(visitor=consumes(visitors))
    def ask_and_leave(self, visitor: Visitor) -> None:
        if not visitor.half:
            visitor.line.sendall(json.dumps({"do": "spawn", "task": next(self.names)}).encode())
            visitor.line.sendall(b"\n")
        self.leave(visitor)

    @rule(visitor=consumes(visitors))
    def hang_up(self, visitor: Visitor) -> None:
        """End of file from a visitor that still listens."""
        if visitor in self.here:
            visitor.line.shutdown(socket.SHUT_WR)
            visitor.half = GONE
            self.here.remove(visitor)
            self.hung_up.append(visitor)

    @rule(data=st.data())
    def end_a_task(self, data: st.DataObject) -> None:
        if self.tasks:
            self.tasks[data.draw(st.sampled_from(sorted(self.tasks)))].wakes_at = 0.0

    @rule(backwards=st.booleans())
    def turn(self, backwards: bool = False) -> None:
        self.backwards = backwards
        self.host.turn(0)

    @rule(data=st.data(), backwards=st.booleans())
    def busy_turn(self, data: st.DataObject, backwards: bool) -> None:
        """Everyone does something, and all of it arrives at once."""
        for visitor in list(self.here):
            match data.draw(st.sampled_from(["spawn", "leave", "watch", "wait"])):
                case "spawn":
                    self.spawn(visitor, 1, "")
                case "leave":
                    self.leave(visitor)
                case "watch":
                    self.watch(visitor, is_heard=False)
        self.turn(backwards)

    @rule(visitor=visitors)
    def settle(self, visitor: Visitor) -> None:
        """After a few turns every request of those who stayed has one answer."""
        self._settled()
        before = {one: len(one.grown) for one in self.here}
        name = next(self.names)
        asks = not visitor.half
        if asks:
            ask = {"do": "spawn", "task": name}
            visitor.say(json.dumps(ask).encode() + b"\n", 1)
        self._settled()
        for one in self.here:
            assert one.answers == one.asked
            if asks and one.watches:
                assert name in one.grown[before[one] :]

    def _settled(self) -> None:
        for _ in range(MOST_TURNS):
            self.host.turn(0)
            for one in self.here:
                one.hear()

    @invariant()
    def the_selector_holds_exactly_what_is_open(self) -> None:
        files = {key.fileobj for key in self.host._ready.get_map().values()}
        visitors = {one.connection for one in self.host._door._visitors}
        others = {self.wake, self.host._hasher.ready, self.host._door._socket}
        assert files == visitors | others


TestHostLoop = HostLoop.TestCase
TestHostLoop.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)


def test_a_watcher_that_leaves_as_another_visitor_spawns_does_not_end_the_host() -> None:
    """Both arrive in one turn: the notice to the first fails, then its own event is served."""
    state = HostLoop()
    try:
        watcher, other = state.come(), state.come()
        state.watch(watcher)
        state.spawn(other, 1, "")
        state.leave(watcher)
        state.turn(backwards=True)
        state.settle(other)
    finally:
        state.teardown()
