"""Requests and results for runners: claiming, holding, watching and appending."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.kernel.delegation import RUNNER_ID, Projects
from longhouse.kernel.tool_tasks import DELTA_BYTES, HOST_ID, Lifetime, Mode, Status, Stream
from longhouse.kernel.values import Json, Request, Result, Seq, Value
from longhouse.processes.state import Gap, LogSeal, StreamState
from longhouse.processes.types.tasks import ToolTaskId

__all__ = [
    "AppendFrames",
    "AppendMany",
    "AppendOutput",
    "ClaimTasks",
    "EnvVar",
    "FramesAppended",
    "HeldTasks",
    "HostHeld",
    "HostList",
    "HostView",
    "HostWatched",
    "ListHosts",
    "ManyAppended",
    "NewFrame",
    "Op",
    "OutputAppended",
    "TaskAppended",
    "TaskFrames",
    "TasksClaimed",
    "WatchHost",
    "WorkTask",
]

RunnerId = Annotated[str, Meta(pattern=RUNNER_ID)]
HostId = Annotated[
    str,
    Meta(pattern=HOST_ID, title="8 to 64 letters, digits, . _ and -", examples=["host-3f9a1c07"]),
]
Revision = Annotated[int, Meta(ge=0, le=2**53)]
Bytes = Annotated[int, Meta(ge=0, le=2**53)]
Digest = Annotated[str, Meta(pattern=r"\A[0-9a-f]{64}\Z", examples=["0" * 64])]
Said = Annotated[str, Meta(max_length=4_000)]


class Op(Value, frozen=True, kw_only=True, omit_defaults=False):
    """A control operation that has no outcome yet: `cancel`, `stdin`, `resize` or `signal`.

    A `stdin` payload holds the input in `chunk_b64` and, if it differs in application-key mode, in
    `application_b64`; or `lost`, and then the operation must fail. `seq` says in which order they
    were requested.
    """

    op_id: str
    task_id: str
    kind: Literal["cancel", "stdin", "resize", "signal"]
    payload: Json
    seq: int


class EnvVar(Value, frozen=True, kw_only=True, omit_defaults=False):
    """A variable for the task: its `value`, or the runner's variable it comes from.

    These form a list and not an object, since the answer would redact the value of a name that
    looks like a secret.
    """

    name: str
    value: str | None
    source: str | None


class WorkTask(Value, frozen=True, kw_only=True, omit_defaults=False):
    """A task as its host's runner sees it: what to start, and where its frames continue.

    `next_seq` and `streams` say how far it has been reported, so that any runner of the host
    continues exactly there. `rules` are the ones by which the server's policy, whose profile is
    `profile`, allowed it when it was claimed. `made_ms` tells it from a task that had its number
    before the store was restored.
    """

    task_id: str
    made_ms: int
    status: Status
    tool: str
    args: Json
    execution_mode: Mode
    cwd: str
    env: list[EnvVar]
    timeout_ms: int | None
    idle_timeout_ms: int | None
    grace_ms: int
    max_processes: int | None
    artifact_max_bytes: int
    max_bytes: int
    rows: int
    cols: int
    lifetime: Lifetime
    rules: list[Json]
    profile: str
    next_seq: int
    streams: dict[Stream, StreamState]
    cancel_reason: str | None


class HeldTasks(Request["HostHeld"], frozen=True, kw_only=True):
    """Become the runner that speaks for a host, and get its tasks; `after` gets the next page.

    With `only_if_silent`, another runner's lease is respected: until the server has not heard it
    for 30 seconds, the call is refused.
    """

    runner_id: RunnerId
    host_id: HostId
    after: ToolTaskId | None = None
    only_if_silent: bool = False


class HostHeld(Result, frozen=True, kw_only=True):
    """`revision` fences everything this runner does for the host."""

    host_id: str
    revision: int
    tasks: list[WorkTask]
    ops: list[Op]
    count: int
    has_more: bool
    seq: int


class ClaimTasks(Request["TasksClaimed"], frozen=True, kw_only=True):
    """Claim waiting tasks, oldest first, for a host that this runner speaks for.

    Every call also renews the runner's lease; `host_answers` says whether the host answers it.
    """

    runner_id: RunnerId
    host_id: HostId
    revision: Revision
    limit: Annotated[int, Meta(ge=0, le=32)] = 4
    host_answers: bool = True
    projects: Projects | None = None


class TasksClaimed(Result, frozen=True, kw_only=True):
    tasks: list[WorkTask]
    count: int
    waiting: int


class ListHosts(Request["HostList"], frozen=True, kw_only=True):
    """List the process hosts of the workspace, the one heard last first."""

    limit: Annotated[int, Meta(ge=1, le=200)] = 50


class HostView(Value, frozen=True, kw_only=True, omit_defaults=False):
    """A host: `silent` if the server does not hear its runner, `frozen` if the runner does, but
    the host does not answer it."""

    host_id: str
    runner_id: str
    state: Literal["connected", "silent", "frozen"]
    seen_at_ms: int
    unfinished: int


class HostList(Result, frozen=True, kw_only=True):
    hosts: list[HostView]
    count: int


class WatchHost(Request["HostWatched"], frozen=True, kw_only=True):
    """Wait until there is a task to claim, or an operation requested after `after_seq`."""

    runner_id: RunnerId
    host_id: HostId
    revision: Revision
    after_seq: Seq = 0
    timeout_ms: Annotated[int, Meta(ge=0, le=25_000)] = 20_000


class HostWatched(Result, frozen=True, kw_only=True):
    timed_out: bool
    waiting: int
    ops: list[Op]
    seq: int


class NewFrame(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One frame as a runner writes it; each type uses a subset of these fields."""

    type: Literal[
        "tool_task_status",
        "tool_stdout",
        "tool_stderr",
        "tool_task_output_delta",
        "tool_task_ports",
        "tool_task_cancelled",
        "tool_task_stdin_written",
        "tool_task_resized",
        "tool_task_signalled",
        "tool_task_op_failed",
        "tool_policy_decided",
    ]
    status: Literal["running", "exited", "cancelled", "failed"] | None = None
    started_at_ms: Seq | None = None
    ended_at_ms: Seq | None = None
    pid: Annotated[int, Meta(ge=1, le=2**31)] | None = None
    exit_code: Annotated[int, Meta(ge=0, le=2**31)] | None = None
    signal: Annotated[str, Meta(max_length=16)] | None = None
    cause: Annotated[str, Meta(max_length=64)] | None = None
    error: Said | None = None
    leftovers: Annotated[list[dict[str, Any]], Meta(max_length=100)] | None = None
    logs: dict[Stream, LogSeal] | None = None
    offset_bytes: Bytes | None = None
    bytes: Bytes | None = None
    chunk: Annotated[str, Meta(max_length=DELTA_BYTES)] | None = None
    chunk_b64: (
        Annotated[
            str, Meta(max_length=DELTA_BYTES * 2, description="instead of chunk, if it has a NUL")
        ]
        | None
    ) = None
    ports: Annotated[list[Annotated[int, Meta(ge=1, le=65_535)]], Meta(max_length=64)] | None = None
    op_id: Annotated[str, Meta(max_length=64)] | None = None
    reason: Said | None = None
    wall_time_ms: Seq | None = None
    rows: Annotated[int, Meta(ge=1, le=65_535)] | None = None
    cols: Annotated[int, Meta(ge=1, le=65_535)] | None = None
    sha256: Digest | None = None
    decision: Literal["allow", "deny"] | None = None
    rule: Annotated[str, Meta(max_length=64)] | None = None
    profile: Annotated[str, Meta(max_length=16)] | None = None


class AppendFrames(Request["FramesAppended"], frozen=True, kw_only=True):
    """Append frames to a task's stream, as the runner that speaks for its host."""

    task_id: ToolTaskId
    runner_id: RunnerId
    revision: Revision
    base_seq: Seq
    frames: Annotated[list[NewFrame], Meta(min_length=1, max_length=64)]


class TaskFrames(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The next frames of one of several tasks."""

    task_id: ToolTaskId
    base_seq: Seq
    frames: Annotated[list[NewFrame], Meta(min_length=1, max_length=64)]


class AppendMany(Request["ManyAppended"], frozen=True, kw_only=True):
    """Append frames to several tasks' streams, as the runner that speaks for their host.

    Each task is accepted or refused by itself, as by `tool.task_append`.
    """

    runner_id: RunnerId
    host_id: HostId
    revision: Revision
    tasks: Annotated[list[TaskFrames], Meta(min_length=1, max_length=64)]


class AppendOutput(Request["OutputAppended"], frozen=True, kw_only=True):
    """Store output of a task whose host's folder servers cannot read.

    Nothing is stored unless `offset_bytes` is the end of the log; the first call begins it. With
    `skip_to`, the log continues there, and the bytes in between are lost. `eof` seals the log.
    """

    task_id: ToolTaskId
    runner_id: RunnerId
    revision: Revision
    stream: Stream
    offset_bytes: Bytes
    content_b64: Annotated[str, Meta(max_length=1_400_000)] = ""
    skip_to: Bytes | None = None
    eof: bool = False


class OutputAppended(Result, frozen=True, kw_only=True):
    """`next_offset` is the log's length; `artifact` is the stored bytes' digest, once sealed."""

    task_id: str
    stream: Stream
    next_offset: int
    artifact: str | None = None
    bytes_stored: int | None = None
    gap: Gap | None = None


class FramesAppended(Result, frozen=True, kw_only=True):
    task_id: str
    status: Status
    next_seq: int
    repeated: bool


class TaskAppended(Value, frozen=True, kw_only=True):
    """`next_seq` is where the stream continues; or `refused` says why nothing was appended."""

    task_id: str
    next_seq: int | None = None
    repeated: bool = False
    refused: str | None = None


class ManyAppended(Result, frozen=True, kw_only=True):
    """What became of each task's frames, in the order of the request."""

    tasks: list[TaskAppended]
    count: int
