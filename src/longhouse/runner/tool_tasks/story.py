"""Turns one task's journal and logs into frames, starting where the server's stream ends.

Nothing here makes a call: `tell` returns the next frames, and `told` moves on once the server has
accepted them.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from longhouse.kernel.private_files import read_private
from longhouse.kernel.tool_tasks import STREAMS
from longhouse.runner.host.journal import Record, read_journal
from longhouse.runner.host.numbers import is_another
from longhouse.runner.tool_tasks.deltas import LogReader, OutputDelta, next_delta
from longhouse.runner.tool_tasks.keeping import LogKeeper

__all__ = ["Story", "cancelled_early", "failed"]

MOST_FRAMES = 32
REFER_BYTES = 64 * 1024
REFER_PART = 16
REFER_S = 1.0
"""Output beyond the budget is sent as a reference: after at least REFER_S, and once it has grown by
REFER_BYTES and by one REFER_PART-th of its size."""
REFER_AT_ONCE = 8
REFER_MANY = 3_600
"""Someone may be watching a terminal, so small references are sent too: the first few after each
operation at once, others every second, and less often once there have been many."""
ECHO_S = 0.02
"""How long the outcome of typed input waits for its echo: sent in one call, the echo does not wait
for another call's answer, and both are one commit."""
_OUTRIGHT = {
    "timeout": "it ran longer than timeout_ms",
    "idle_timeout": "it printed nothing for longer than idle_timeout_ms",
    "max_processes": "it had more than max_processes processes at once",
    "host_stopped": "the process host was told to stop",
    "host_lost": "the process host was killed, and the terminal with it",
}

Frame = dict[str, Any]


class Story:
    """The frames of one task, from its first record to its end."""

    def __init__(
        self,
        work: dict[str, Any],
        folder: Path,
        pending: set[str],
        decided: Frame | None = None,
        keeper: LogKeeper | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """`pending` holds the operations whose outcome has not been reported yet.

        `keeper` sends the logs to servers that cannot read our folder.
        """
        self.task_id: str = work["task_id"]
        self._made_ms: int | None = work.get("made_ms")
        self.next_seq: int = work["next_seq"]
        self.cancel_reason: str | None = work["cancel_reason"]
        self.over = False
        self.may_have_more = False
        """Whether it makes sense to call `tell` again at once."""
        self.is_begun = False
        """Whether the host has answered the request to start it; only then is it told."""
        self.host_id = ""
        self.revision = 0
        """The speaker's revision; once there is a newer one, the server refuses these frames."""
        self._folder = folder
        self._running = work["status"] == "running"
        self.first: list[Frame] = [decided] if decided else []
        """The frames that precede its start."""
        self._keeper = keeper
        self._pending = pending
        self._streams = STREAMS[work["execution_mode"]]
        self._logs: dict[str, LogReader] = {}
        at = work["streams"]
        self._offsets: dict[str, int] = {
            name: at.get(name, {}).get("bytes", 0) for name in self._streams
        }
        self._inline = work["max_bytes"] - sum(one.get("inline", 0) for one in at.values())
        self._clock = clock
        self._referred_at = clock() - REFER_S
        self._at_once = self._small = 0
        self._typed_at: float | None = None
        self._records: list[Record] = []
        self._read_to = 0
        self._started_ms = 0

    def has_started(self) -> bool:
        """Whether a host ever started its program, and not another's that had its number."""
        with suppress(FileNotFoundError, ValueError):
            spec = json.loads(read_private(self._folder / "spec.json"))
            if is_another(spec, self._made_ms):
                return False
        return any(one["kind"] == "started" for one in self._journal())

    def has_ended(self) -> bool:
        return any(one["kind"] == "ended" for one in self._journal())

    def _journal(self) -> list[Record]:
        return read_journal(self._folder / "journal.jsonl")[0]

    def op_logged(self, op_id: str, kind: str, reason: str | None) -> None:
        """An operation was requested; its outcome must be reported."""
        self._pending.add(op_id)
        if kind == "cancel":
            self.cancel_reason = reason or "cancel"

    def follows(self, known: dict[str, Any]) -> bool:
        """Continue after frames the server added itself; False if there are others as well."""
        logs = known["artifacts"]["logs"]
        if any(logs[name]["bytes"] != at for name, at in self._offsets.items()):
            return False
        behind: bool = self.next_seq < known["next_seq"]
        self.next_seq, self.cancel_reason = known["next_seq"], known["cancel_reason"]
        return behind

    def tell(self) -> list[Frame]:
        """The next frames, about MOST_FRAMES at most; the same ones until `told` is called."""
        fresh, self._read_to = read_journal(self._folder / "journal.jsonl", self._read_to)
        self._records += [record for record in fresh if record["kind"] != "starting"]
        told = _Told(self._offsets, self._inline)
        frames: list[Frame] = []
        for index, record in enumerate(self._records):
            done = self._tell_output(frames, told, record.get("offsets"), _sizes(record))
            if not done or len(frames) >= MOST_FRAMES:
                self._next = told, index
                return frames
            frames += self._tell_record(record)
        if not self._records or self._records[-1]["kind"] != "ended":
            self._tell_output(frames, told, None, None)
        if self._awaits_echo(frames):
            return []
        self._next = told, len(self._records)
        return frames

    def _awaits_echo(self, frames: list[Frame]) -> bool:
        """Whether these only say that something was typed, and what it shows may be about to come.

        Whoever calls looks again: when the terminal shows something, and now and then.
        """
        if not frames or any(one["type"] != "tool_task_stdin_written" for one in frames):
            self._typed_at = None
            return False
        if self._typed_at is None:
            self._typed_at = self._clock()
        return self._clock() - self._typed_at < ECHO_S

    def told(self, frames: list[Frame]) -> None:
        """The server has accepted these frames, which `tell` returned last."""
        told, records = self._next
        for record in self._records[:records]:
            self._note(record)
        del self._records[:records]
        has_output = any("bytes" in one and "op_id" not in one for one in frames)
        self.may_have_more = has_output or bool(self._records)
        if any("chunk" not in one for one in frames if "bytes" in one and "op_id" not in one):
            self._referred_at = self._clock()
            self._small += not self._at_once
            self._at_once = max(0, self._at_once - 1)
        if any("op_id" in one for one in frames):
            self._at_once = REFER_AT_ONCE
        self._offsets, self._inline = told.offsets, told.inline
        self.next_seq += len(frames)

    @property
    def is_kept(self) -> bool:
        """Whether all of its output was stored on the server."""
        return self._keeper is not None and self._keeper.trouble is None

    def close(self) -> None:
        for log in self._logs.values():
            log.close()

    # ---- output

    def _tell_output(
        self,
        frames: list[Frame],
        told: _Told,
        offsets: dict[str, int] | None,
        ends: dict[str, int] | None,
    ) -> bool:
        """Add frames for output up to `offsets`, or `ends`, or what there is; True if complete."""
        if not self._running and not any(one.get("status") == "running" for one in frames):
            return True
        bounds = offsets if ends is None else ends
        for stream in self._streams:
            if bounds is not None and bounds.get(stream, 0) <= told.offsets[stream]:
                continue  # most short programs print nothing: their logs are never opened
            log = self._log(stream)
            goal = log.size if bounds is None else min(bounds.get(stream, 0), log.size)
            stop = self._keeper.keep(log, goal) if self._keeper else goal
            while len(frames) < MOST_FRAMES:
                last = ends is not None and stop == goal
                delta = next_delta(log, told.offsets[stream], stop, last=last, inline=told.inline)
                if delta is None and bounds is not None and told.offsets[stream] < stop == goal:
                    # Output that is held back precedes the next record: send a reference.
                    at = told.offsets[stream]
                    delta = OutputDelta(log.stream, at, stop - at)
                answers = any("op_id" in one for one in frames)
                if delta is None or (bounds is None and self._is_early(delta, answers)):
                    break
                frames.append(delta.frame())
                told.take(delta)
            if bounds is not None and told.offsets[stream] < goal:
                return False
        return True

    def _is_early(self, delta: OutputDelta, answers: bool) -> bool:
        """Whether a reference can wait for more output; not if it `answers` what was typed."""
        if delta.chunk is not None:
            return False
        waited_s = self._clock() - self._referred_at
        if delta.size >= max(REFER_BYTES, delta.offset // REFER_PART):
            return waited_s < REFER_S
        if delta.stream != "pty":
            return True
        return not (answers or self._at_once) and waited_s < REFER_S * (
            1 + self._small / REFER_MANY
        )

    def _log(self, stream: Any) -> LogReader:
        if stream not in self._logs:
            self._logs[stream] = LogReader(self._folder, stream)
        return self._logs[stream]

    # ---- records

    def _tell_record(self, record: Record) -> list[Frame]:
        if record["kind"] == "started":
            return self._begun(record)
        if record["kind"] == "ports":
            return [{"type": "tool_task_ports", "ports": record["ports"][:64]}]
        if record["kind"] == "op":
            return self._outcome(record)
        return self._ended(record)

    def _begun(self, record: Record) -> list[Frame]:
        self._started_ms = record["ts"]
        if self._running:
            return []
        running = {"type": "tool_task_status", "status": "running", "pid": record["pid"]}
        running["started_at_ms"] = record["ts"]
        return [*self.first, running]

    def _outcome(self, record: Record) -> list[Frame]:
        op_id, kind = record["op_id"], record["op"]
        if op_id not in self._pending or kind == "cancel":  # its outcome is the end of the task
            return []
        if "failed" in record:
            return [{"type": "tool_task_op_failed", "op_id": op_id, "error": record["failed"]}]
        offset = sum(record["offsets"].values())
        if kind == "signal":
            done = {"type": "tool_task_signalled", "signal": record["signal"]}
        elif kind == "resize":
            done = {"type": "tool_task_resized", "rows": record["rows"], "cols": record["cols"]}
        else:
            done = {"type": "tool_task_stdin_written", "bytes": record["bytes"]}
        return [{**done, "op_id": op_id, "offset_bytes": offset}]

    def _ended(self, record: Record) -> list[Frame]:
        cause = record["cause"]
        if "error" in record:  # its program never ran, or nobody knows whether it did
            return [failed(record["error"], cause)]
        status = {
            "type": "tool_task_status",
            "status": "exited",
            "started_at_ms": self._started_ms or None,
            "ended_at_ms": record["ts"],
            "exit_code": record["code"],
            "signal": record["signal"],
            "leftovers": record["leftovers"],
            "logs": {name: self._seal(name, one) for name, one in record["streams"].items()},
        }
        if cause == "cancelled" and self.cancel_reason is not None:
            took = record["ts"] - self._started_ms
            return [_cancelled(self.cancel_reason, max(took, 0)), {**status, "status": cause}]
        if cause in _OUTRIGHT and (cause != "host_lost" or "pty" in self._streams):
            status |= {"status": "failed", "error": _OUTRIGHT[cause]}
        return [_said({**status, "cause": cause})]

    def _seal(self, stream: Any, said: dict[str, Any]) -> dict[str, Any]:
        seal = {
            "bytes_total": max(said["bytes"], self._offsets[stream]),
            "bytes_stored": said["stored"],
            "truncated": said["gap"] is not None,
            "gap": said["gap"],
            "sha256": said["sha256"],
            "stored_sha256": said["stored_sha256"],
            "error": said["trouble"],
        }
        return self._keeper.seal(stream, seal) if self._keeper else seal

    def _note(self, record: Record) -> None:
        """Apply a record to our state once the server has it."""
        if record["kind"] == "started":
            self._running = True
        elif record["kind"] == "op":
            self._pending.discard(record["op_id"])
        elif record["kind"] == "ended":
            self.over = True


class _Told:
    """How much of the output the frames under construction report."""

    def __init__(self, offsets: dict[str, int], inline: int) -> None:
        self.offsets, self.inline = dict(offsets), inline

    def take(self, delta: OutputDelta) -> None:
        self.offsets[delta.stream] += delta.size
        self.inline -= 0 if delta.chunk is None else delta.size


def failed(why: str, cause: str) -> Frame:
    """The last frame of a task that never ran."""
    ended_ms = time.time_ns() // 1_000_000
    frame = {"type": "tool_task_status", "status": "failed", "cause": cause, "error": why[:4_000]}
    return {**frame, "ended_at_ms": ended_ms}


def cancelled_early(reason: str) -> list[Frame]:
    """The last frames of a task that was cancelled before it was started."""
    ended_ms = time.time_ns() // 1_000_000
    status = {"type": "tool_task_status", "status": "cancelled", "ended_at_ms": ended_ms}
    return [_cancelled(reason, 0), status]


def _cancelled(reason: str, wall_time_ms: int) -> Frame:
    return {"type": "tool_task_cancelled", "reason": reason, "wall_time_ms": wall_time_ms}


def _said(frame: Frame) -> Frame:
    return {name: value for name, value in frame.items() if value is not None}


def _sizes(record: Record) -> dict[str, int] | None:
    """The final size of each stream, if this record ends a program that ran."""
    if record["kind"] != "ended" or "streams" not in record:
        return None
    return {name: one["bytes"] for name, one in record["streams"].items()}
