"""Requests and results for viewing the terminal of a task."""

from __future__ import annotations

from longhouse.kernel.values import Request, Result
from longhouse.processes.types.tasks import CursorPlace, ProcessRef, ScreenView

__all__ = ["CursorPlace", "ScreenView", "SnapshotTask", "TaskSnapshot"]


class SnapshotTask(Request["TaskSnapshot"], frozen=True, kw_only=True):
    """Get the screen of a task's terminal as bytes that redraw it in another terminal."""

    task_id: ProcessRef


class TaskSnapshot(Result, frozen=True, kw_only=True):
    """Write `data_b64` into a terminal of this size, then the stream from `offset` on.

    The frames after `seq` carry exactly those bytes.
    """

    task_id: str
    rows: int
    cols: int
    offset: int
    seq: int
    data_b64: str
    alternate: bool
