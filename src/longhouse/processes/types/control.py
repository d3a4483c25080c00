"""Requests and results for controlling a running task."""

from __future__ import annotations

from typing import Annotated

from msgspec import Meta

from longhouse.kernel.values import Request, Result
from longhouse.processes.types.tasks import ProcessRef

__all__ = ["OpLogged", "ResizeTask", "SignalTask", "WriteStdin"]

TaskArg = ProcessRef
Size = Annotated[int, Meta(ge=1, le=65_535)]


class WriteStdin(Request["OpLogged"], frozen=True, kw_only=True):
    """Type into the terminal of a task, as bytes or named keys; `eof` ends its input."""

    task_id: TaskArg
    chunk_b64: Annotated[str, Meta(max_length=16_384)] | None = None
    keys: (
        Annotated[
            list[Annotated[str, Meta(max_length=8_192)]],
            Meta(
                min_length=1,
                max_length=1_000,
                description="text and keys with their tmux names: Enter, Tab, Up, C-c, M-x",
                examples=[["make test", "Enter"]],
            ),
        ]
        | None
    ) = None
    eof: bool = False


class ResizeTask(Request["OpLogged"], frozen=True, kw_only=True):
    """Set the size of a task's terminal."""

    task_id: TaskArg
    rows: Size
    cols: Size


class SignalTask(Request["OpLogged"], frozen=True, kw_only=True):
    """Send a signal to a task in a terminal."""

    task_id: TaskArg
    signal: Annotated[str, Meta(min_length=1, max_length=16)]


class OpLogged(Result, frozen=True, kw_only=True):
    """The operation waits for the task's runner; its outcome is a frame with the same `op_id`.

    `seq` is the end of the log at the time of the request: that frame comes after it.
    """

    task_id: str
    op_id: str
    seq: int
