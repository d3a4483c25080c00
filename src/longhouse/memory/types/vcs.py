"""Requests and results of the commands on branches, commits, refs and tags."""

from __future__ import annotations

from typing import Annotated, Any

from msgspec import Meta

from longhouse.kernel.names import also
from longhouse.kernel.values import Json, Limit, Request, Result, Seq, Text, Title, Value
from longhouse.memory.types.documents import LIMIT_WORDS, AsOf, BranchName, DocName, Pagination

__all__ = [
    "BranchCreated",
    "BranchDeleted",
    "BranchInfo",
    "BranchList",
    "BranchRenamed",
    "CheckedOut",
    "Checkout",
    "Commit",
    "CommitLog",
    "Committed",
    "CreateBranch",
    "CreateTag",
    "DeleteBranch",
    "DeleteTag",
    "ListBranches",
    "ListTags",
    "ListedBranch",
    "LogCommits",
    "MakeCommit",
    "RefLog",
    "RefMove",
    "RefPointer",
    "RenameBranch",
    "ResetRef",
    "ShowRefLog",
    "Tag",
    "TagCreated",
    "TagDeleted",
    "TagList",
]

CommitRef = Annotated[str, Meta(min_length=1, max_length=200)] | Annotated[int, Meta(ge=1)]
_NAME = also("branch", "branch_name", "id")
TagName = Annotated[str, Meta(pattern=r"\A[A-Za-z0-9][A-Za-z0-9._/-]{0,127}\Z")]


class BranchInfo(Value, frozen=True, kw_only=True):
    name: str
    base_branch: str | None
    base_seq: int | None


class CreateBranch(Request, frozen=True, kw_only=True, rename={"from_": "from"}):
    """Create a branch from a snapshot of another; nothing is copied."""

    name: Annotated[BranchName, _NAME]
    from_: Annotated[BranchName, also("base", "source", "parent", "from_branch")] | None = None


class BranchCreated(Result, frozen=True, kw_only=True):
    workspace: str
    branch: BranchInfo


class ListBranches(Request, frozen=True, kw_only=True):
    """List the branches of a workspace, newest first."""

    limit: Limit = 200
    cursor: Seq | None = None
    as_of: AsOf | None = None
    deleted: bool = False
    """Include deleted branches that can be restored."""


class ListedBranch(BranchInfo, frozen=True, kw_only=True):
    created_seq: int
    created_at_ms: int
    canonical: bool = False
    checkout: bool = False


class BranchList(Result, frozen=True, kw_only=True):
    workspace: str
    branches: list[ListedBranch]
    pagination: Pagination


class Checkout(Request, frozen=True, kw_only=True):
    """Choose the branch for commands without a target, unless a focus is set."""

    ref: Annotated[BranchName, also("branch", "branch_name", "name", "to")]


class CheckedOut(Result, frozen=True, kw_only=True):
    workspace: str
    previous: str | None
    current: str


class RenameBranch(Request, frozen=True, kw_only=True):
    """Rename a branch; its content is unaffected."""

    old: Annotated[BranchName, also("branch", "name", "from", "old_name")]
    new: Annotated[BranchName, also("to", "new_name")]


class BranchRenamed(Result, frozen=True, kw_only=True):
    workspace: str
    previous: str
    current: str


class DeleteBranch(Request, frozen=True, kw_only=True):
    """Delete a branch; needs `force` if it has notes or graph changes its base lacks."""

    name: Annotated[BranchName, _NAME]
    force: bool = False


class BranchDeleted(Result, frozen=True, kw_only=True):
    workspace: str
    name: str
    deleted: bool
    kept_as: str | None = None
    """The name its unmerged content is kept under; rename that branch to restore it."""


class Commit(Value, frozen=True, kw_only=True):
    """A note, as shown by version control."""

    ref: str
    seq: int
    ts: str
    ts_ms: int
    branch: str
    doc: str
    message: str | None = None
    artifact: str
    meta: dict[str, Any] | None = None


class MakeCommit(Request, frozen=True, kw_only=True):
    """Append an artifact with a message to the checked-out branch."""

    artifact: Annotated[Text, also("content", "text", "body", "note")]
    message: Annotated[Title, also("title", "subject", "summary", "msg")]
    docs: DocName | Annotated[list[DocName], Meta(min_length=1, max_length=8)] = "notes"
    meta: Json | None = None


class Committed(Result, frozen=True, kw_only=True):
    commit: Commit
    ref: str
    more: list[Commit] = []


class LogCommits(Request, frozen=True, kw_only=True):
    """List recent commits of a branch, or those up to a tag or commit, newest first."""

    ref: Annotated[BranchName, _NAME] | None = None
    cursor: Seq | None = None
    limit: Annotated[Limit, LIMIT_WORDS] = 20
    as_of: AsOf | None = None


class CommitLog(Result, frozen=True, kw_only=True):
    ref: str
    branch: str
    head: str | None
    commits: list[Commit]
    pagination: Pagination


class ShowRefLog(Request, frozen=True, kw_only=True):
    """List ref movements, newest first."""

    ref: Annotated[BranchName, _NAME] | None = None
    cursor: Seq | None = None
    limit: Limit = 50
    as_of: AsOf | None = None


class RefMove(Value, frozen=True, kw_only=True):
    seq: int
    ts: str
    ref: str
    action: str
    previous: str | None = None
    current: str | None = None
    actor: str | None = None


class RefLog(Result, frozen=True, kw_only=True):
    moves: list[RefMove]
    pagination: Pagination


class ResetRef(Request, frozen=True, kw_only=True):
    """Point a branch at one of its commits; no entry is hidden or removed."""

    ref: CommitRef
    branch: BranchName | None = None


class RefPointer(Result, frozen=True, kw_only=True):
    branch: str
    previous: str | None
    current: str


class CreateTag(Request, frozen=True, kw_only=True, rename={"from_": "from"}):
    """Tag a commit."""

    name: TagName
    from_: CommitRef | None = None
    force: bool = False


class Tag(Value, frozen=True, kw_only=True):
    name: str
    ref: str
    seq: int
    branch: str
    doc: str
    created_at_ms: int


class TagCreated(Result, frozen=True, kw_only=True):
    tag: Tag
    previous: str | None = None


class ListTags(Request, frozen=True, kw_only=True):
    """List tags in order of name."""

    limit: Limit = 200
    as_of: AsOf | None = None


class TagList(Result, frozen=True, kw_only=True):
    tags: list[Tag]
    count: int
    has_more: bool


class DeleteTag(Request, frozen=True, kw_only=True):
    """Delete a tag; the commit stays."""

    name: TagName


class TagDeleted(Result, frozen=True, kw_only=True):
    name: str
    deleted: bool
