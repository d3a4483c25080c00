"""Requests and results for reading a task's output and frames, and for waiting for it."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.kernel.names import also
from longhouse.kernel.tool_tasks import Status, Stream
from longhouse.kernel.values import Limit, Request, Result, Seq, Value
from longhouse.processes.state import Gap
from longhouse.processes.types.tasks import ProcessRef, TaskView

__all__ = [
    "FetchOutput",
    "OutputFetched",
    "OutputPart",
    "OutputStored",
    "RawOutput",
    "ReadRawOutput",
    "StoreOutput",
    "StreamEvents",
    "TaskEvents",
    "TaskWaited",
    "WaitTask",
]

TaskArg = ProcessRef
Offset = Annotated[int, Meta(ge=0, le=2**53)]
Count = Annotated[int, Meta(ge=1, le=2**53)]


class FetchOutput(Request["OutputFetched"], frozen=True, kw_only=True):
    """Read output as text: bytes from an offset, lines from a line number, or the last lines."""

    task_id: TaskArg
    stream: Stream | None = None
    offset_bytes: Annotated[Offset, also("offset")] | None = None
    max_bytes: Annotated[int, Meta(ge=1, le=2**53)] = 65_536
    line: Count | None = None
    max_lines: Annotated[int, Meta(ge=1, le=100_000)] | None = None
    tail_lines: (
        Annotated[int, Meta(ge=1, le=100_000), also("tail", "lines", "last", "n")] | None
    ) = None


class OutputPart(Value, frozen=True, kw_only=True):
    """A part of the output; joined in order, the parts are the range that was read."""

    offset_bytes: int
    next_offset: int
    text: str


class OutputFetched(Result, frozen=True, kw_only=True, omit_defaults=False):
    """`capped` means that the middle of the log was not kept; `gap`, that this read reached it."""

    task_id: str
    stream: Stream
    artifact_id: str
    path: str
    status: Status
    total_bytes: int
    capped: bool
    gap: Gap | None
    first_line: int | None
    offset_bytes: int
    parts: list[OutputPart]
    count: int
    has_more: bool
    next_cursor: int


class ReadRawOutput(Request["RawOutput"], frozen=True, kw_only=True):
    """Read output byte for byte, as base64."""

    task_id: TaskArg
    stream: Stream | None = None
    offset_bytes: Offset = 0
    max_bytes: Annotated[int, Meta(ge=1, le=49_152)] = 8_192


class RawOutput(Result, frozen=True, kw_only=True, omit_defaults=False):
    task_id: str
    stream: Stream
    offset_bytes: int
    bytes: int
    total_bytes: int
    gap: Gap | None
    data_b64: str


class StoreOutput(Request["OutputStored"], frozen=True, kw_only=True):
    """Store the output of an ended task as an artifact."""

    task_id: TaskArg
    stream: Stream | None = None


class OutputStored(Result, frozen=True, kw_only=True):
    task_id: str
    stream: Stream
    ref: str
    digest: str
    bytes: int
    created: bool


class StreamEvents(Request["TaskEvents"], frozen=True, kw_only=True):
    """Read the frames after a seq of the task's stream; `timeout_ms` waits until there are any."""

    task_id: TaskArg
    after_seq: Annotated[int, Meta(ge=-1, le=2**53)] = -1
    limit: Limit = 100
    timeout_ms: Annotated[int, Meta(ge=0, le=25_000)] = 0


class TaskEvents(Result, frozen=True, kw_only=True, omit_defaults=False):
    task_id: str
    status: Status
    frames: list[dict[str, Any]]
    count: int
    has_more: bool
    cursor: int
    next_cursor: int


class WaitTask(Request["TaskWaited"], frozen=True, kw_only=True):
    """Wait until a task ends, prints a line, shows a line on its screen, or opens a port."""

    task_id: TaskArg
    until: Literal["exit", "line", "port", "screen"] = "exit"
    pattern: (
        Annotated[
            str,
            Meta(min_length=1, max_length=400, description="text in a line; * matches anything"),
        ]
        | None
    ) = None
    port: Annotated[int, Meta(ge=1, le=65_535)] | None = None
    timeout_ms: Annotated[int, Meta(ge=0, le=25_000), also("timeout")] = 20_000


class TaskWaited(Result, frozen=True, kw_only=True, omit_defaults=False):
    reached: bool
    timed_out: bool
    line: str | None
    offset_bytes: Seq | None
    port: int | None
    task: TaskView
