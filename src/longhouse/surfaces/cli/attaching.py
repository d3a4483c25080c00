"""Attaches to a program in a terminal: shows its screen here, and sends our keys there.

One loop waits for the keyboard, the screen, the stream of frames and at most two calls: one reads
missing output, the other sends keys. Keys typed while a call is in flight wait and are sent
together, so they stay in order. Output is tracked by byte offset: a viewer that falls behind takes
a snapshot and continues from its offset.
"""

from __future__ import annotations

import base64
import json
import os
import re
import select
import signal
import time
from collections.abc import Callable
from typing import Any, Final

from longhouse.client import CallOutcome, Exchange, Post, RemoteDoor, Reply, Retry, raise_refusal
from longhouse.kernel.errors import Unreachable
from longhouse.kernel.tool_tasks import ENDED, STDIN_BYTES
from longhouse.surfaces.cli.terminal import RawTerminal

__all__ = ["LAG_BYTES", "Attachment"]

LAG_BYTES: Final = 500_000
"""How far a viewer may fall behind before it takes a snapshot."""
_FETCH_BYTES = 32_768
_MOST_TYPED = 65_536
_QUIET_S = 60.0
_LEAVE_S = 2.0
_NOT_YET_S = 0.05
_GATHER_S = 0.015
"""A key goes at once; those that follow it within this time, as in a paste, go together."""
_DETACH = re.compile(
    rb"\x1d|\x1b\[93(?::\d*)*;(?:5|69|133|197)(?::[12])?(?:;[\d:]*)?u|\x1b\[27;5;93~"
)
"""Ctrl-], as plain terminals send it and in the newer keyboard protocols, which also encode Caps
Lock and Num Lock."""


class _Call:
    """One non-blocking call to the server, retried as every client does."""

    def __init__(self, door: RemoteDoor, cmd: str, **args: Any) -> None:
        self.cmd = cmd
        self.outcome: CallOutcome | None = None
        self.wakes_at: float | None = None
        self.exchange: Exchange | None = None
        self._door = door
        self._steps = door.steps(cmd, args)
        self._go_on(None)

    def ready(self) -> None:
        """Handle readable data on its socket."""
        assert self.exchange is not None
        try:
            self.exchange.receive()
        except Unreachable as trouble:
            self._drop()
            return self._go_on(trouble)
        if self.exchange.done:
            exchange, self.exchange = self.exchange, None
            self._door.wire.release(exchange)
            self._go_on(exchange.reply())
        return None

    def awake(self) -> None:
        """Try again after a pause."""
        self.wakes_at = None
        self._door.move()
        self._go_on(None)

    def close(self) -> None:
        self._drop()

    def _drop(self) -> None:
        if self.exchange is not None:
            self.exchange.close()
            self.exchange = None

    def _go_on(self, told: Reply | Unreachable | None) -> None:
        while True:
            try:
                step = self._steps.send(told)
            except StopIteration as end:
                self.outcome = end.value
                return
            if not isinstance(step, Post):
                self.wakes_at = time.monotonic() + step
                return
            try:
                self.exchange = self._door.wire.send(
                    "POST", step.path, headers=step.headers, body=step.body
                )
                return
            except Unreachable as trouble:
                told = trouble


class _Frames:
    """The stream of a task's frames, resumed where it broke off."""

    def __init__(self, door: RemoteDoor, task_id: str, after: int) -> None:
        self.after = after
        self.exchange: Exchange | None = None
        self.wakes_at: float | None = None
        self._door, self._task_id = door, task_id
        self._retry = self._new_retry()
        self._open()

    def ready(self) -> list[dict[str, Any]]:
        """The frames that have arrived."""
        assert self.exchange is not None
        self.wakes_at = time.monotonic() + _QUIET_S
        try:
            self.exchange.receive()
            found = list(self.exchange.events()) if self.exchange.streams else []
            if self.exchange.done and not self.exchange.streams:
                raise_refusal(self.exchange.reply())
        except Unreachable as trouble:
            self._lost(trouble)
            return []
        frames = [json.loads(event.data) for event in found]
        if frames:
            self.after = frames[-1]["seq"]
            self._retry = self._new_retry()
        if self.exchange.done:  # the last frames may arrive together with the end
            self._lost(Unreachable("the server ended the stream"))
        return frames

    def awake(self) -> None:
        if self.exchange is not None:
            return self._lost(Unreachable("the server has gone quiet"))
        self._door.move()
        return self._open()

    def close(self) -> None:
        if self.exchange is not None:
            self.exchange.close()
            self.exchange = None

    def _open(self) -> None:
        path = f"/tasks/{self._task_id}/events?after_seq={self.after}"
        headers = {"Accept": "text/event-stream", **self._door.headers()}
        try:
            self.exchange = self._door.wire.send("GET", path, headers=headers, timeout_s=_QUIET_S)
            self.wakes_at = time.monotonic() + _QUIET_S
        except Unreachable as trouble:
            self._lost(trouble)

    def _lost(self, trouble: Unreachable) -> None:
        self.close()
        self.wakes_at = time.monotonic() + self._retry.pause(trouble)

    def _new_retry(self) -> Retry:
        return Retry("tool.task_stream_events", patience_s=self._door.patience_s)


class Attachment:
    """One person attached to one task, until it exits or they detach."""

    def __init__(self, door: RemoteDoor, terminal: RawTerminal, task: dict[str, Any]) -> None:
        self.task_id: str = task["task_id"]
        self.failure: str | None = None
        """Why the keys typed last did not reach the program."""
        self.detached = False
        self._door, self._terminal = door, terminal
        self._running = task["status"] == "running"
        self._ended = False
        self._have = self._target = 0
        self._typed = bytearray()
        self._size: tuple[int, int] = task["args"].get("rows", 24), task["args"].get("cols", 80)
        self._wants_size = self._others_size = False
        self._sending: _Call | None = None
        self._reading: _Call | None = None
        self._stuck_until: float | None = None
        self._leaves_at: float | None = None
        self._gathers_until: float | None = None
        self._after = task["next_seq"] - 1 if self._running else -1

    def run(self) -> None:
        """Show output and send keys until the task exits or Ctrl-] is pressed."""
        if self._running:
            self._reading = self._call("tool.task_snapshot")
        frames = _Frames(self._door, self.task_id, self._after)
        try:
            while not self._is_over():
                self._turn(frames)
        finally:
            frames.close()
            for call in (self._sending, self._reading):
                if call is not None:
                    call.close()

    def _is_over(self) -> bool:
        if self.detached:
            done = self._sending is None and not (self._typed and self._running)
            return done or time.monotonic() >= (self._leaves_at or 0)
        shown = self._have >= self._target and self._reading is None
        return self._ended and shown and not self._terminal.backlog

    def _turn(self, frames: _Frames) -> None:
        """Wait for the next event and handle it."""
        acts: dict[int, Callable[[], None]] = {self._terminal.bell: self._on_signal}
        if not self.detached and len(self._typed) < _MOST_TYPED:
            acts[self._terminal.keys] = self._on_keys
        waits = [self._leaves_at, self._stuck_until]
        if self._typed and self._sending is None:
            waits.append(self._gathers_until)
        for source, act in (
            (frames, lambda: self._on_frames(frames)),
            (self._sending, self._on_sent),
            (self._reading, self._on_read),
        ):
            if source is not None:
                waits.append(source.wakes_at)
                if source.exchange is not None:
                    acts[source.exchange.fileno()] = act
        look = select.poll()
        for fd in acts:
            look.register(fd, select.POLLIN)
        if self._terminal.backlog:
            look.register(self._terminal.screen, select.POLLOUT)
            acts[self._terminal.screen] = self._terminal.drain
        for fd, _ in look.poll(_until(waits)):
            acts[fd]()
        self._wake(frames)
        self._send()
        self._read()

    def _wake(self, frames: _Frames) -> None:
        now = time.monotonic()
        for source in (frames, self._sending, self._reading):
            if source is not None and source.wakes_at is not None and source.wakes_at <= now:
                source.awake()
        if self._stuck_until is not None and self._stuck_until <= now:
            self._stuck_until = None
        if self._gathers_until is not None and (self._gathers_until <= now or self.detached):
            self._gathers_until = None

    # Keyboard

    def _on_signal(self) -> None:
        if signal.SIGWINCH in self._terminal.heard() and not self._others_size:
            self._wants_size = True

    def _on_keys(self) -> None:
        try:
            data = os.read(self._terminal.keys, _MOST_TYPED)
        except OSError:
            data = b""
        leave = _DETACH.search(data)
        if leave or not data:
            self.detached = True
            self._leaves_at = time.monotonic() + _LEAVE_S
            data = data[: leave.start()] if leave else b""
        self._typed += data
        if data and self._terminal.size != self._size:
            self._wants_size = True  # the last one to type sets the size

    def _send(self) -> None:
        """Start the next call that resizes or types, if none is in flight."""
        if self._sending is not None or not self._running:
            return
        if self._wants_size and self._size == self._terminal.size:
            self._wants_size = False
        if self._wants_size:
            self._wants_size = self._others_size = False
            rows, cols = self._size = self._terminal.size
            self._sending = self._call("tool.task_resize", rows=rows, cols=cols)
        elif self._typed and self._gathers_until is None:
            self._gathers_until = time.monotonic() + _GATHER_S
            chunk = bytes(self._typed[:STDIN_BYTES])
            del self._typed[:STDIN_BYTES]
            coded = base64.b64encode(chunk).decode()
            self._sending = self._call("tool.task_write_stdin", chunk_b64=coded)

    def _on_sent(self) -> None:
        assert self._sending is not None
        self._sending.ready()
        if (outcome := self._sending.outcome) is None:
            return
        self._sending = None
        if outcome.error is not None:
            self._typed.clear()
            self._fail(outcome.error.message)

    def _fail(self, why: str) -> None:
        if not self._ended:
            self.failure = why
            self._terminal.ring()

    # Screen

    def _on_frames(self, frames: _Frames) -> None:
        for frame in frames.ready():
            self._on_frame(frame)

    def _on_frame(self, frame: dict[str, Any]) -> None:
        kind = frame["type"]
        if kind == "tool_task_output_delta":
            self._on_output(frame["offset_bytes"], frame["bytes"], frame["chunk"])
        elif kind == "tool_task_resized":
            self._size = frame["rows"], frame["cols"]
            self._others_size = self._size != self._terminal.size
        elif kind == "tool_task_op_failed":
            self._fail(frame["error"])
        elif kind == "tool_task_status":
            self._running = frame["status"] == "running"
            if frame["status"] in ENDED:
                self._ended = True
                logs = (frame.get("artifacts") or {}).get("logs") or {}
                total = (logs.get("pty") or {}).get("bytes_total") or 0
                self._target = max(self._target, total)

    def _on_output(self, offset: int, size: int, chunk: str | None) -> None:
        """Show a frame's text if it continues what is shown; otherwise it is fetched later."""
        self._target = max(self._target, offset + size)
        if self._reading is not None or chunk is None or not offset <= self._have < offset + size:
            return
        data = chunk.encode()
        if offset == self._have or len(data) == size:
            self._terminal.show(data[self._have - offset :])
            self._have = offset + size

    def _read(self) -> None:
        """Fetch missing output as text, or as a snapshot if there is too much of it."""
        if self._reading is not None or self._stuck_until is not None:
            return
        if max(self._target - self._have, self._terminal.backlog) > LAG_BYTES:
            self._reading = self._call("tool.task_snapshot")
        elif self._have < self._target:
            most = min(self._target - self._have, _FETCH_BYTES)
            self._reading = self._call(
                "tool.output_fetch", stream="pty", offset_bytes=self._have, max_bytes=most
            )

    def _on_read(self) -> None:
        assert self._reading is not None
        self._reading.ready()
        if (outcome := self._reading.outcome) is None:
            return
        cmd, self._reading = self._reading.cmd, None
        result = outcome.result()
        if cmd == "tool.task_snapshot":
            self._terminal.show_anew(base64.b64decode(result["data_b64"]))
            self._have = result["offset"]
            self._target = max(self._target, self._have)
            self._size = result["rows"], result["cols"]
            return
        self._terminal.show("".join(part["text"] for part in result["parts"]).encode())
        if result["next_cursor"] > self._have:
            self._have = result["next_cursor"]
        elif self._ended:
            self._have = self._target  # the rest is no longer stored
        else:
            self._stuck_until = time.monotonic() + _NOT_YET_S  # held back: it may be a secret

    def _call(self, cmd: str, **args: Any) -> _Call:
        return _Call(self._door, cmd, task_id=self.task_id, budget_profile="audit", **args)


def _until(waits: list[float | None]) -> float | None:
    """Milliseconds until the first of these times."""
    times = [one for one in waits if one is not None]
    return max(0.0, (min(times) - time.monotonic()) * 1000) if times else None
