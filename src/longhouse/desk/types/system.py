"""Requests and results of commands about the house: commands, workspaces, tokens, skills."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.desk.types.status import Defaults
from longhouse.kernel.delegation import ProjectId, SkillProfile
from longhouse.kernel.names import also
from longhouse.kernel.values import Limit, PastRequest, Request, Result, Value

__all__ = [
    "BindWorkspace",
    "BoundProject",
    "CommandFound",
    "CommandPage",
    "CommandRow",
    "CommandSchema",
    "CreateToken",
    "GetSkill",
    "GetStorage",
    "Help",
    "HelpText",
    "Init",
    "Initialised",
    "ListCommands",
    "ListTokens",
    "ListWorkspaces",
    "Lookup",
    "OffsetPagination",
    "Open",
    "OpsSummary",
    "ResetWorkspace",
    "RevokeToken",
    "RoleName",
    "Safety",
    "SchemaGet",
    "Skill",
    "Storage",
    "SummariseOps",
    "TokenCreated",
    "TokenPage",
    "TokenRevoked",
    "TokenRow",
    "UnbindWorkspace",
    "UseWorkspace",
    "WorkspaceBound",
    "WorkspaceChosen",
    "WorkspacePage",
    "WorkspaceRow",
]

RoleName = Literal["viewer", "agent", "manager", "operator"]


class SchemaGet(Request, frozen=True, kw_only=True):
    """Show the arguments of one command."""

    cmd: Annotated[
        str, Meta(min_length=1, max_length=128), also("command", "name", "op", "tool", "cmd_name")
    ]


class Safety(Value, frozen=True, kw_only=True):
    destructive: bool
    idempotent: bool
    confirm_level: Literal["none", "soft", "hard"]


class CommandSchema(Result, frozen=True, kw_only=True):
    cmd: str
    summary: str
    portal: str
    op: str | None
    args_schema: dict[str, Any]
    common_args: list[str]
    """Arguments common to all commands; `system.help` explains them."""
    example_minimal_args: dict[str, Any]
    example_valid_call: dict[str, Any]
    doc_ref: dict[str, str]
    default_budget_profile: str
    tier: str
    stability: Literal["stable", "experimental"]
    role: str
    writes: bool
    safety: Safety


class ListCommands(Request, frozen=True, kw_only=True):
    """List the commands, page by page."""

    prefix: Annotated[
        str,
        Meta(max_length=128, description="else a word in their names or summaries"),
        also("portal", "tool", "domain", "filter", "family", "search", "query", "text", "q"),
    ] = ""
    offset: Annotated[int, Meta(ge=0, le=2**53)] = 0
    cursor: Annotated[int, Meta(ge=0, le=2**53, description="next_cursor of a page")] | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 40
    toolset: Literal["core", "daily", "full"] | None = None


class CommandRow(Value, frozen=True, kw_only=True):
    cmd: str
    summary: str
    portal: str | None = None
    """The tool that accepts it, if that is not the first word of its name."""
    op: str | None = None
    tier: str = "advanced"
    writes: bool = False


class OffsetPagination(Value, frozen=True, kw_only=True):
    offset: int
    limit: int
    total: int
    has_more: bool
    next_cursor: int | None = None
    count: int


class CommandPage(Result, frozen=True, kw_only=True):
    toolset: str
    hidden: int
    cmds: list[CommandRow]
    pagination: OffsetPagination


class SummariseOps(Request, frozen=True, kw_only=True):
    """Summarize the tools, ops and commands."""


class OpsSummary(Result, frozen=True, kw_only=True):
    surface: dict[str, Any]
    registry: dict[str, Any]
    capabilities: dict[str, str]
    """Capability ids used by other tools for background processes, each with its command."""


class Lookup(Request, frozen=True, kw_only=True):
    """Find the command for an old tool name."""

    old_name: Annotated[str, Meta(min_length=1, max_length=128), also("name", "tool", "cmd", "old")]


class CommandFound(Result, frozen=True, kw_only=True):
    old_name: str
    cmd: str
    portal: str
    doc_ref: dict[str, str]
    example_valid_call: dict[str, Any]


class Open(PastRequest, frozen=True, kw_only=True):
    """Open any record by id or ref."""

    id: Annotated[
        str,
        Meta(min_length=1, max_length=300),
        also("ref", "target", "task", "job", "name", "uri", "key", "card"),
    ]
    limit: Annotated[int, Meta(ge=1, le=50)] = 20
    include_drafts: bool = False
    include_content: Annotated[
        bool, Meta(description="false omits the text of an entry, card, message or output")
    ] = True


class GetSkill(Request["Skill"], frozen=True, kw_only=True):
    """Get a behavior pack to put in an agent's prompt."""

    profile: SkillProfile = "daily"


class Skill(Result, frozen=True, kw_only=True):
    profile: SkillProfile
    version: str
    text: str


class GetStorage(Request, frozen=True, kw_only=True):
    """Show where the store is."""


class Storage(Result, frozen=True, kw_only=True):
    storage_dir: str
    engine: str
    schema_version: int
    now_ms: int
    """The store's time, by which leases expire."""


class Init(Request, frozen=True, kw_only=True):
    """Create the workspace with its default branch."""


class Initialised(Result, frozen=True, kw_only=True):
    workspace: str
    storage_dir: str
    schema_version: int
    checkout: str
    defaults: Defaults


class Help(Request, frozen=True, kw_only=True):
    """Explain how to use Longhouse."""


class HelpText(Result, frozen=True, kw_only=True):
    text: str


WorkspaceName = Annotated[str, Meta(min_length=1, max_length=128)]


class CreateToken(Request, frozen=True, kw_only=True):
    """Create a token for callers of this server."""

    role: RoleName = "agent"
    name: Annotated[
        str, Meta(max_length=64, description="the agent it acts as"), also("label", "agent", "for")
    ] = ""
    client: Annotated[
        str,
        Meta(
            pattern=r"\A[a-z0-9-]{0,32}\Z",
            title="up to 32 lowercase letters, digits and -",
            description="the MCP client that uses it",
        ),
    ] = ""
    workspaces: Annotated[
        list[WorkspaceName], Meta(max_length=64, description="only these; empty means all")
    ] = []
    expires_hours: Annotated[int, Meta(ge=1, le=87_600, description="lifetime in hours")] | None = (
        None
    )
    runner: Annotated[
        bool, Meta(description="for a runner: may host background processes and get what is typed")
    ] = False


class TokenCreated(Result, frozen=True, kw_only=True):
    id: str
    role: str
    name: str
    client: str = ""
    token: str
    workspaces: list[str] = []
    expires_at_ms: int | None = None
    runner: bool = False


class ListTokens(Request, frozen=True, kw_only=True):
    """List the tokens."""

    id: Annotated[str, Meta(min_length=1, max_length=64, description="only this token")] | None = (
        None
    )
    limit: Limit = 100


class TokenRow(Value, frozen=True, kw_only=True):
    id: str
    role: str
    name: str
    client: str = ""
    created_at_ms: int
    revoked_at_ms: int | None = None
    workspaces: list[str] = []
    expires_at_ms: int | None = None
    runner: bool = False


class TokenPage(Result, frozen=True, kw_only=True):
    tokens: list[TokenRow]
    count: int
    has_more: bool


class RevokeToken(Request, frozen=True, kw_only=True):
    """Revoke a token."""

    id: Annotated[str, Meta(min_length=1, max_length=64), also("token_id", "token", "name")]


class TokenRevoked(Result, frozen=True, kw_only=True):
    id: str
    revoked: bool


class UseWorkspace(Request, frozen=True, kw_only=True):
    """Make a workspace the default for this connection."""

    workspace: Annotated[
        str, Meta(min_length=1, max_length=128), also("name", "id", "ws", "project")
    ]


class ResetWorkspace(Request, frozen=True, kw_only=True):
    """Return to the configured workspace."""


class WorkspaceChosen(Result, frozen=True, kw_only=True):
    workspace: str | None
    previous: str | None
    default_workspace: str | None
    workspace_override: str | None
    workspace_mode: str
    override_cleared: bool = False


class ListWorkspaces(Request, frozen=True, kw_only=True):
    """List the workspaces in this store, or only the one with that name."""

    name: Annotated[str, Meta(min_length=1, max_length=128)] | None = None
    limit: Annotated[int, Meta(ge=1, le=500)] = 100


class BoundProject(Value, frozen=True, kw_only=True):
    """A project whose files the work of a workspace may touch."""

    project: str
    root: str
    bound_by: str
    bound_at_ms: int


class WorkspaceRow(Value, frozen=True, kw_only=True):
    workspace: str
    seq: int
    created_at_ms: int
    projects: list[BoundProject] = []
    """Where its work is done; only operators see it."""


class BindWorkspace(Request["WorkspaceBound"], frozen=True, kw_only=True):
    """Let the work of a workspace be done in a project: this server's, or the one with that id."""

    workspace: Annotated[str, Meta(min_length=1, max_length=128), also("name")]
    project: ProjectId | None = None
    root: Annotated[str, Meta(max_length=4_096)] | None = None


class UnbindWorkspace(Request["WorkspaceBound"], frozen=True, kw_only=True):
    """Let no more work of a workspace be done in a project, or, without `project`, in any."""

    workspace: Annotated[str, Meta(min_length=1, max_length=128), also("name")]
    project: ProjectId | None = None


class WorkspaceBound(Result, frozen=True, kw_only=True):
    workspace: str
    changed: bool
    projects: list[BoundProject]


class WorkspacePage(Result, frozen=True, kw_only=True):
    workspaces: list[WorkspaceRow]
    count: int
    has_more: bool
