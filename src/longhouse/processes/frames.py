"""Frames: the record of a task, as flat JSON objects in the order of events.

A frame is a log row of the stream `processes` whose subject is the task; a second number is its
position in the task's own stream. Envelopes and payloads are built only here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from longhouse.kernel.refs import seq_ref
from longhouse.kernel.tool_tasks import STREAMS, Mode, Stream
from longhouse.store.engine import Row

__all__ = [
    "OUTCOMES",
    "STREAM",
    "Frame",
    "frame_from",
    "log_id",
    "log_path",
    "logs_of",
    "named_logs",
    "status_payload",
]

STREAM = "processes"
"""The stream of the workspace's log that holds frames."""

OUTCOMES = frozenset(
    {
        "tool_task_stdin_written",
        "tool_task_resized",
        "tool_task_signalled",
        "tool_task_op_failed",
    }
)
"""The frames that tell what became of an operation."""

Frame = dict[str, Any]


def frame_from(task_id: str, row: Row) -> Frame:
    """The frame of a log row joined with its position: the envelope, then the payload."""
    return {
        "id": seq_ref(task_id, row["seq"]),
        "session_id": task_id,
        "stream_kind": "task",
        "stream_id": task_id,
        "timestamp_ms": row["ts_ms"],
        "seq": row["at"],
        "type": row["kind"],
        **msgspec.json.decode(row["data"]),
    }


def log_id(task_id: str, stream: str) -> str:
    """The name of a log, known from the first frame on."""
    return f"{task_id}/{stream}"


def log_path(task_id: str, stream: str) -> str:
    """The path of a log, relative to the folder of the workspace's host."""
    return f"{task_id}/{stream}.log"


def logs_of(task_id: str, mode: Mode) -> dict[Stream, dict[str, str]]:
    """The logs that a task of this mode will have."""
    return {
        stream: {"id": log_id(task_id, stream), "path": log_path(task_id, stream)}
        for stream in STREAMS[mode]
    }


def named_logs(task_id: str, seals: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The seal of each log, with the log's name and path."""
    return {
        stream: {"id": log_id(task_id, stream), "path": log_path(task_id, stream), **seal}
        for stream, seal in seals.items()
    }


def status_payload(**fields: Any) -> dict[str, Any]:
    """The payload of a status frame: all its fields, null where there is no value."""
    names = (
        "status",
        "exit_code",
        "signal",
        "cause",
        "started_at_ms",
        "ended_at_ms",
        "pid",
        "leftovers",
        "artifacts",
        "error",
    )
    return {name: fields.get(name) for name in names}
