"""Frames: the one record of a task, as flat JSON objects in the order in which things happened.

A frame is a log row of stream `processes` whose subject is the task, and has a second number, its
place in the task's own stream. Both the envelope and each payload are made here and nowhere else.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from longhouse.kernel.refs import seq_ref
from longhouse.kernel.tool_tasks import STREAMS, Mode, Stream
from longhouse.store.engine import Row

__all__ = [
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
"""The stream of the workspace's log that frames are rows of."""

Frame = dict[str, Any]


def frame_from(task_id: str, row: Row) -> Frame:
    """The frame of a log row joined with its place: the envelope, then the payload."""
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
    """The name of a log while it grows, known from the first frame on."""
    return f"{task_id}/{stream}"


def log_path(task_id: str, stream: str) -> str:
    """Where it lies, seen from the folder of the workspace's host."""
    return f"{task_id}/{stream}.log"


def logs_of(task_id: str, mode: Mode) -> dict[Stream, dict[str, str]]:
    """The logs that a task of this mode will have."""
    return {
        stream: {"id": log_id(task_id, stream), "path": log_path(task_id, stream)}
        for stream in STREAMS[mode]
    }


def named_logs(task_id: str, seals: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """How each log was sealed, with the name that it has had from the first frame on."""
    return {
        stream: {"id": log_id(task_id, stream), "path": log_path(task_id, stream), **seal}
        for stream, seal in seals.items()
    }


def status_payload(**fields: Any) -> dict[str, Any]:
    """A status frame says all that can be said, with null for what there is not."""
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
