"""Request and result of `status`."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.desk.types.callers import ByAgent
from longhouse.kernel.values import Result, Value
from longhouse.memory.types.documents import LastEntry

__all__ = [
    "Defaults",
    "Docs",
    "ExecuteNext",
    "GetStatus",
    "Happening",
    "Happenings",
    "Held",
    "JobLine",
    "Me",
    "NextFound",
    "Server",
    "Since",
    "Status",
    "WorkspacePolicy",
]


class Docs(Value, frozen=True, kw_only=True):
    notes: str
    graph: str
    trace: str


class Defaults(Value, frozen=True, kw_only=True):
    """The branch and documents that a workspace starts with."""

    branch: str
    docs: Docs


class Server(Value, frozen=True, kw_only=True):
    version: str
    engine: str


class WorkspacePolicy(Value, frozen=True, kw_only=True):
    default_workspace: str | None = None
    workspace_lock: bool
    workspace_allowlist: tuple[str, ...] = ()
    project_guard_configured: str | None = None
    project_guard_stored: str | None = None
    default_agent_id: str | None = None


class ExecuteNext(ByAgent["NextFound"], frozen=True, kw_only=True):
    """Get the next actions."""


class NextFound(Result, frozen=True, kw_only=True):
    headline: str
    focus: str | None
    state_fingerprint: str


class GetStatus(ByAgent["Status"], frozen=True, kw_only=True):
    """Show the current state and the best next action."""

    view: Annotated[
        Literal["short", "full"],
        Meta(description="full adds versions, policy, last events and further actions"),
    ] = "short"


class Held(Value, frozen=True, kw_only=True):
    """A step or path that an agent holds; `mine` if the caller holds it."""

    what: str
    by: str
    mine: bool = False
    ref: str


class JobLine(Value, frozen=True, kw_only=True):
    """The active job of a task, with its marker and its question or latest message."""

    id: str
    status: str
    title: str | None = None
    runner: str | None = None
    percent: int | None = None
    marker: str | None = None
    said: str | None = None
    ref: str | None = None


class Happening(Value, frozen=True, kw_only=True):
    """One change made by another caller."""

    what: str
    by: str | None = None
    ref: str | None = None


class Happenings(Value, frozen=True, kw_only=True):
    """What others did after `since`, newest first; `until` is where to continue."""

    since: int
    until: int
    changes: list[Happening] = []
    count: int
    has_more: bool


class Since(Value, frozen=True, kw_only=True):
    """How many changes others made since the caller last asked, up to a hundred."""

    seq: int
    changes: int
    has_more: bool = False


class Me(Value, frozen=True, kw_only=True):
    """The caller: its role and, if it has proved to be one, its identity."""

    agent: str | None = None
    role: str


class Status(Result, frozen=True, kw_only=True):
    """Where the caller is. `more` says how to get what the short view had no room for."""

    workspace: str
    headline: str | None = None
    server: Server | None = None
    schema_version: int
    workspace_exists: bool
    seq: int
    checkout: str | None
    focus: str | None
    target: dict[str, str] | None = None
    me: Me
    here: list[str] = []
    processes: list[str] = []
    state_fingerprint: str | None = None
    jobs: dict[str, Any] | None = None
    runner: dict[str, Any] | None = None
    runner_autostart: dict[str, Any] | None = None
    inbox: dict[str, Any] | None = None
    job: JobLine | None = None
    held: list[Held] = []
    since: Since | None = None
    defaults: Defaults
    golden_path: list[str] = []
    last_task_event: dict[str, Any] | None = None
    last_event: dict[str, Any] | None = None
    last_doc_entry: LastEntry | None = None
    workspace_policy: WorkspacePolicy | None = None
    more: str | None = None
