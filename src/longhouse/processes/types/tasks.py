"""Requests and results for starting, watching and ending tool tasks."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.kernel.delegation import JOB_ID
from longhouse.kernel.names import also, holds
from longhouse.kernel.tool_tasks import TASK_ID, Lifetime, Mode, Status
from longhouse.kernel.values import Json, Limit, PastRequest, Request, Result, Title, Value

__all__ = [
    "RECORDING",
    "CancelTask",
    "ListTasks",
    "ProcessOpened",
    "ProcessRef",
    "ReleaseTask",
    "SpawnTask",
    "TaskList",
    "TaskName",
    "TaskStatus",
    "TaskView",
    "ToolTaskId",
    "ToolTaskSpawned",
    "ToolTaskStatus",
]

ToolTaskId = Annotated[
    str,
    Meta(pattern=rf"\A{TASK_ID}\Z", title="an id like PROC-001", examples=["PROC-001"]),
]
ProcessRef = Annotated[
    str,
    Meta(
        pattern=rf"\A(?:{TASK_ID}|[a-z0-9][a-z0-9._-]{{0,63}})\Z",
        title="an id like PROC-001, or a process's name",
        examples=["PROC-001"],
    ),
    also(
        *("id", "ref", "task", "name", "process", "process_id", "proc", "pid", "session", "pane"),
        *("target", "bash_id", "shell_id", "process_name"),
    ),
]
"""A background process by its id, or by the name that it has now or had last."""
TaskName = Annotated[
    str,
    Meta(
        pattern=r"\A[a-z0-9][a-z0-9._-]{0,63}\Z",
        title="lower-case letters, digits, . _ and -",
        examples=["dev-server"],
    ),
]
JobId = Annotated[str, Meta(pattern=JOB_ID, title="an id like JOB-001", examples=["JOB-001"])]
Reason = Annotated[str, Meta(min_length=1, max_length=400)]
Ms = Annotated[int, Meta(ge=1, le=2_592_000_000)]

RECORDING = "recording"
"""The tool of an imported task: it describes what happened elsewhere, and never ran here."""


class SpawnTask(Request["ToolTaskSpawned"], frozen=True, kw_only=True):
    """Start a tool in the background.

    `bash` takes `command`, `exec` takes `argv`, and both take `cwd`, `env`, `artifact_max_bytes`
    and `max_bytes`; every other tool is a command of the registry and takes its arguments.
    """

    tool: Annotated[str, Meta(min_length=1, max_length=128), also("tool_name")]
    args: Annotated[
        Json,
        also("arguments", "params"),
        holds(
            **{one: {"": "argv", "tool": "exec"} for one in ("command[]", "cmd[]")},
            command={"tool": "bash"},
            cmd={"": "command", "tool": "bash"},
            script={"": "command", "tool": "bash"},
            argv={"tool": "exec"},
            cwd={},
            workdir={"": "cwd"},
            env={},
        ),
    ] = {}
    title: Title | None = None
    execution_mode: Annotated[Mode, also("mode")] = "pipes"
    origin_session_id: Annotated[str, Meta(min_length=1, max_length=160)] | None = None
    name: TaskName | None = None
    job: Annotated[JobId, also("job_id")] | None = None
    step: Annotated[str, Meta(min_length=1, max_length=160), also("step_id")] | None = None
    lifetime: Lifetime | None = None
    timeout_ms: Ms | None = None
    idle_timeout_ms: Ms | None = None
    grace_ms: Annotated[int, Meta(ge=0, le=600_000)] = 5_000
    max_processes: Annotated[int, Meta(ge=1, le=100_000)] | None = None


class ToolTaskSpawned(Result, frozen=True, kw_only=True):
    task_id: str
    status: Status
    ref: str


class TaskView(Value, frozen=True, kw_only=True, omit_defaults=False):
    """A task: the state from its frames, and the parameters it was spawned with."""

    task_id: str
    ref: str
    status: Status
    held: Annotated[
        str | None,
        Meta(description="how it came here; it waits until a manager releases it"),
    ]
    tool: str
    args: dict[str, Any]
    title: str | None
    name: str | None
    execution_mode: Mode
    cwd: str | None
    agent_id: str | None
    yours: Annotated[bool, Meta(description="whether you may control it")]
    job: str | None
    step: str | None
    lifetime: Lifetime
    created_at_ms: int
    started_at_ms: int | None
    ended_at_ms: int | None
    exit_code: int | None
    signal: str | None
    cause: str | None
    error: str | None
    cancel_reason: str | None
    pid: int | None
    ports: list[int]
    leftovers: list[dict[str, Any]]
    queue_position: int | None
    host: Literal["connected", "silent", "frozen"] | None
    next_seq: int
    artifacts: dict[str, Any]


class CursorPlace(Value, frozen=True, kw_only=True, omit_defaults=False):
    """The cursor's position, counted from 0."""

    row: int
    col: int


class ScreenView(Value, frozen=True, kw_only=True, omit_defaults=False):
    """What a terminal shows, as text without trailing spaces and trailing empty lines."""

    rows: int
    cols: int
    text: str
    cursor: CursorPlace
    alternate: bool


class TaskStatus(PastRequest["ToolTaskStatus"], frozen=True, kw_only=True):
    """Get the state of a task by id or name; with `screen`, also what its terminal shows."""

    task_id: ProcessRef | None = None
    name: TaskName | None = None
    screen: bool = False


class ToolTaskStatus(Result, frozen=True, kw_only=True):
    task: TaskView
    screen: ScreenView | None = None


class ListTasks(PastRequest["TaskList"], frozen=True, kw_only=True):
    """List tasks, newest first."""

    status: Status | Literal["active"] | None = None
    agent: Annotated[str, Meta(min_length=1, max_length=160)] | None = None
    job: Annotated[JobId, also("job_id")] | None = None
    name: TaskName | None = None
    limit: Limit = 25
    cursor: ToolTaskId | None = None


class TaskList(Result, frozen=True, kw_only=True):
    tasks: list[TaskView]
    count: int
    has_more: bool
    cursor: str | None
    next_cursor: str | None


class CancelTask(Request["ToolTaskStatus"], frozen=True, kw_only=True):
    """End a task: at once if it is waiting, else with TERM and, after its grace period, KILL.

    If its host is silent, it ends within a minute as `host_lost`; with `force`, at once. Should the
    host return, it ends what is left of the program.
    """

    task_id: ProcessRef
    reason: Reason = "cancel"
    force: bool = False


class ReleaseTask(Request["ToolTaskStatus"], frozen=True, kw_only=True):
    """Let a task start that came with an import or a restored backup."""

    task_id: ProcessRef


class ProcessOpened(Result, frozen=True, kw_only=True):
    kind: Literal["process"]
    id: str
    task: TaskView
    frames: list[dict[str, Any]]
    has_more_frames: bool
    tail: dict[str, str] = {}

    @property
    def receipt(self) -> dict[str, Any]:
        """The task as proof: the command, its exit code, the digest of its output.

        A recording proves nothing, since anyone could have written the file.
        """
        args, logs = self.task.args, self.task.artifacts["logs"]
        line = args.get("command") or " ".join(map(str, args.get("argv", ())))
        digests = (log.get("sha256") for log in logs.values())
        return {
            "command": line or self.task.tool,
            "exit_code": self.task.exit_code,
            "digest": next((digest for digest in digests if digest), None),
            "proves": self.task.tool != RECORDING
            and (self.task.status, self.task.exit_code) == ("exited", 0),
        }
