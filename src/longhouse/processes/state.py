"""Folds the frames of a task into its state: pure, and the only source of its status.

Transitions are a table. A frame that the state does not allow raises `IllegalFrame`, so a stream
that was accepted frame by frame is a legal sequence from its first frame to its last.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

import msgspec
from msgspec.structs import replace

from longhouse.kernel.tool_tasks import ENDED, STREAMS, Mode, Status, Stream, stream_of
from longhouse.kernel.values import Value

__all__ = ["MOVES", "Gap", "IllegalFrame", "LogSeal", "StreamState", "TaskState", "apply", "fold"]

MOVES: Final[dict[Status, frozenset[Status]]] = {
    "queued": frozenset({"running", "cancelled", "failed"}),
    "running": frozenset({"exited", "cancelled", "failed"}),
    "exited": frozenset(),
    "cancelled": frozenset(),
    "failed": frozenset(),
}
"""For each status, the statuses that may follow it."""
MOST_SIZES: Final = 50
"""How many sizes of a terminal are kept; earlier ones do not affect the current screen."""


class IllegalFrame(ValueError):
    """The state of the task does not allow this frame."""


class Gap(Value, frozen=True, kw_only=True, rename={"start": "from", "end": "to"}):
    """What the cap removed from a log: `from` is the first missing byte, `to` the next kept one."""

    start: int
    end: int


class LogSeal(Value, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=False):
    """One log at its end. `sha256` covers all bytes seen, `stored_sha256` the bytes kept."""

    bytes_total: int
    bytes_stored: int
    truncated: bool = False
    gap: Gap | None = None
    sha256: str | None = None
    stored_sha256: str | None = None
    artifact: str | None = None
    error: str | None = None


class StreamState(Value, frozen=True, kw_only=True):
    """How much of one stream the frames have reported, and how it was sealed."""

    bytes: int = 0
    inline: int = 0
    seal: LogSeal | None = None


class TaskState(Value, frozen=True, kw_only=True):
    """Everything that the frames say about a task."""

    status: Status = "queued"
    next_seq: int = 0
    mode: Mode = "pipes"
    streams: dict[Stream, StreamState] = {}
    pid: int | None = None
    started_at_ms: int | None = None
    ended_at_ms: int | None = None
    exit_code: int | None = None
    signal: str | None = None
    cause: str | None = None
    error: str | None = None
    cancel_reason: str | None = None
    cancelled: bool = False
    denied: bool = False
    ports: list[int] = []
    leftovers: list[dict[str, Any]] = []
    sizes: list[tuple[int, int, int]] = []
    """The last sizes of its terminal: from which byte on, rows and columns."""

    @property
    def ended(self) -> bool:
        return self.status in ENDED


def fold(frames: Iterable[Mapping[str, Any]]) -> TaskState:
    """The state after these frames, from the first on."""
    state = TaskState()
    for frame in frames:
        state = apply(state, frame["type"], frame)
    return state


def apply(state: TaskState, kind: str, payload: Mapping[str, Any]) -> TaskState:
    """The state after one more frame."""
    if state.ended:
        raise IllegalFrame(f"the task is {state.status}: no frame follows its last frame")
    if (kind == "tool_task_spawned") != (state.next_seq == 0):
        raise IllegalFrame("tool_task_spawned must be the first frame of a stream, and only that")
    stream = stream_of(kind)
    step = _delta if stream else _STEPS.get(kind)
    if step is None:
        raise IllegalFrame(f"{kind!r} is not a type of task frame")
    return replace(step(state, {"stream": stream, **payload}), next_seq=state.next_seq + 1)


def _spawned(state: TaskState, payload: Mapping[str, Any]) -> TaskState:
    mode: Mode = payload["execution_mode"]
    return replace(state, mode=mode, streams={name: StreamState() for name in STREAMS[mode]})


def _status(state: TaskState, payload: Mapping[str, Any]) -> TaskState:
    status: Status = payload["status"]
    if status not in MOVES[state.status]:
        raise IllegalFrame(f"a task that is {state.status} cannot become {status}")
    if (status == "cancelled") != state.cancelled:
        raise IllegalFrame("tool_task_cancelled must come just before the status cancelled")
    if state.denied and status != "failed":
        raise IllegalFrame("a task that policy refused can only fail")
    if status == "running":
        return replace(
            state,
            status=status,
            started_at_ms=payload.get("started_at_ms"),
            pid=payload.get("pid"),
        )
    return replace(
        state,
        status=status,
        started_at_ms=payload.get("started_at_ms") or state.started_at_ms,
        ended_at_ms=payload.get("ended_at_ms"),
        exit_code=payload.get("exit_code"),
        signal=payload.get("signal"),
        cause=payload.get("cause"),
        error=payload.get("error"),
        leftovers=list(payload.get("leftovers") or ()),
        streams=_sealed(state, (payload.get("artifacts") or {}).get("logs") or {}),
    )


def _sealed(state: TaskState, logs: Mapping[str, Any]) -> dict[Stream, StreamState]:
    streams = dict(state.streams)
    for name, seal in logs.items():
        if name not in streams:
            raise IllegalFrame(f"a {state.mode} task has no stream {name}")
        known = {field: seal.get(field) for field in LogSeal.__struct_fields__}
        sealed = msgspec.convert(known, LogSeal)
        before = streams[name]
        if sealed.bytes_total < before.bytes:
            raise IllegalFrame(
                f"{name} ends at {sealed.bytes_total}, but already had {before.bytes} bytes"
            )
        streams[name] = replace(before, bytes=sealed.bytes_total, seal=sealed)
    return streams


def _delta(state: TaskState, payload: Mapping[str, Any]) -> TaskState:
    name: Stream = payload["stream"]
    if state.status != "running":
        raise IllegalFrame(f"a task that is {state.status} has no output")
    if name not in state.streams:
        raise IllegalFrame(f"a {state.mode} task has no stream {name}")
    before = state.streams[name]
    if payload["offset_bytes"] != before.bytes:
        raise IllegalFrame(
            f"{name} continues at {before.bytes}, not at {payload['offset_bytes']}: bytes must be "
            "neither skipped nor repeated"
        )
    inline = payload["bytes"] if payload.get("chunk") else 0
    after = replace(before, bytes=before.bytes + payload["bytes"], inline=before.inline + inline)
    return replace(state, streams={**state.streams, name: after})


def _cancel_requested(state: TaskState, payload: Mapping[str, Any]) -> TaskState:
    if state.cancel_reason is not None:
        raise IllegalFrame("the task has already been asked to end")
    return replace(state, cancel_reason=payload["reason"])


def _cancelled(state: TaskState, payload: Mapping[str, Any]) -> TaskState:
    if state.cancel_reason is None or state.cancelled:
        raise IllegalFrame("tool_task_cancelled must follow one tool_task_cancel_requested")
    return replace(state, cancelled=True)


def _decided(state: TaskState, payload: Mapping[str, Any]) -> TaskState:
    return replace(state, denied=state.denied or payload["decision"] == "deny")


def _ports(state: TaskState, payload: Mapping[str, Any]) -> TaskState:
    _must_run(state)
    return replace(state, ports=list(payload["ports"]))


def _resized(state: TaskState, payload: Mapping[str, Any]) -> TaskState:
    _must_run(state)
    at = state.streams["pty"].bytes if "pty" in state.streams else 0
    before = [size for size in state.sizes if size[0] != at]
    return replace(state, sizes=[*before, (at, payload["rows"], payload["cols"])][-MOST_SIZES:])


def _controlled(state: TaskState, payload: Mapping[str, Any]) -> TaskState:
    _must_run(state)
    return state


def _must_run(state: TaskState) -> None:
    if state.status != "running":
        raise IllegalFrame(f"the task is {state.status}, not running")


_STEPS: Final[dict[str, Callable[[TaskState, Mapping[str, Any]], TaskState]]] = {
    "tool_task_spawned": _spawned,
    "tool_task_status": _status,
    "tool_task_cancel_requested": _cancel_requested,
    "tool_task_cancelled": _cancelled,
    "tool_policy_decided": _decided,
    "tool_task_ports": _ports,
    "tool_task_stdin_written": _controlled,
    "tool_task_resized": _resized,
    "tool_task_signalled": _controlled,
    "tool_task_op_failed": _controlled,
}
