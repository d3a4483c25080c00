"""Requests and results of the graph commands: operations, nodes, edges, changes, conflicts."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from msgspec import Meta

from longhouse.kernel.names import also
from longhouse.kernel.values import Json, Limit, Request, Result, Seq, Value
from longhouse.memory.types.documents import (
    SEARCH_WORDS,
    AsOf,
    BranchName,
    DocName,
    MergeLimit,
    Pagination,
    Target,
)

__all__ = [
    "Applied",
    "ApplyGraph",
    "Change",
    "ConflictList",
    "ConflictOpened",
    "ConflictPreview",
    "ConflictResolved",
    "ConflictRow",
    "ConflictShown",
    "DiffGraph",
    "DiffSummary",
    "Edge",
    "EdgeDelete",
    "EdgeKey",
    "EdgeUpsert",
    "GraphApplied",
    "GraphDiff",
    "GraphMerged",
    "GraphPage",
    "GraphValid",
    "ListConflicts",
    "MergeConflict",
    "MergeGraph",
    "Node",
    "NodeDelete",
    "NodeUpsert",
    "Op",
    "QueryGraph",
    "ResolveConflict",
    "ShowConflict",
    "State",
    "ValidateGraph",
]

ConflictId = Annotated[
    str,
    Meta(pattern=r"\ACONFLICT-[0-9a-f]{32}\Z", examples=["CONFLICT-" + "0" * 32]),
    also("conflict", "id"),
]
Words = Annotated[list[str], Meta(max_length=200)]


class NodeUpsert(Value, frozen=True, tag="node_upsert", tag_field="op", forbid_unknown_fields=True):
    """Write a node; fields left out are cleared."""

    id: str
    type: str
    title: Annotated[str, Meta(max_length=1000)] | None = None
    text: Annotated[str, Meta(max_length=200_000)] | None = None
    status: Annotated[str, Meta(max_length=128)] | None = None
    tags: list[str] = []
    meta: Json | None = None


class NodeDelete(Value, frozen=True, tag="node_delete", tag_field="op", forbid_unknown_fields=True):
    """Delete a node; its edges stay, and graph.validate reports them."""

    id: str


class EdgeUpsert(
    Value,
    frozen=True,
    tag="edge_upsert",
    tag_field="op",
    forbid_unknown_fields=True,
    rename={"from_": "from"},
):
    """Write an edge; its nodes may be written later."""

    from_: str
    rel: str
    to: str
    meta: Json | None = None


class EdgeDelete(
    Value,
    frozen=True,
    tag="edge_delete",
    tag_field="op",
    forbid_unknown_fields=True,
    rename={"from_": "from"},
):
    """Delete an edge."""

    from_: str
    rel: str
    to: str


Op = NodeUpsert | NodeDelete | EdgeUpsert | EdgeDelete


class Node(Value, frozen=True, kw_only=True):
    id: str
    type: str
    title: str | None = None
    text: str | None = None
    status: str | None = None
    tags: list[str] = []
    meta: dict[str, Any] | None = None
    deleted: bool
    last_seq: int
    last_ts_ms: int


class Edge(Value, frozen=True, kw_only=True, rename={"from_": "from"}):
    from_: str
    rel: str
    to: str
    meta: dict[str, Any] | None = None
    deleted: bool
    last_seq: int
    last_ts_ms: int


State = dict[str, Any]
"""A node or an edge as built-in values."""


class EdgeKey(Value, frozen=True, kw_only=True, rename={"from_": "from"}):
    from_: str
    rel: str
    to: str


class Applied(Value, frozen=True, kw_only=True):
    nodes_upserted: int
    nodes_deleted: int
    edges_upserted: int
    edges_deleted: int


class ApplyGraph(Request, frozen=True, kw_only=True):
    """Write nodes and edges: all operations apply, or none."""

    ops: Annotated[
        list[Op],
        Meta(min_length=1, max_length=10_000),
        also("operations", "changes", "nodes", "edges"),
    ]
    target: Target | None = None
    branch: BranchName | None = None
    doc: DocName | None = None


class GraphApplied(Result, frozen=True, kw_only=True):
    branch: str
    doc: str
    applied: Applied
    last_seq: int
    last_ts_ms: int
    ref: str


class QueryGraph(Request, frozen=True, kw_only=True):
    """Find nodes that match all filters, newest first, and the edges between them."""

    target: Target | None = None
    branch: BranchName | None = None
    doc: DocName | None = None
    ids: Annotated[Words, also("id", "node", "node_id", "nodes")] | None = None
    types: Annotated[Words, also("type", "kind", "kinds", "node_type")] | None = None
    status: Annotated[str, Meta(max_length=128)] | Words | None = None
    tags_any: Annotated[Words, also("tag", "tags", "labels")] | None = None
    tags_all: Words | None = None
    text: Annotated[str, Meta(max_length=400), SEARCH_WORDS] | None = None
    cursor: Seq | None = None
    limit: Limit = 50
    include_edges: bool = True
    edges_limit: Annotated[int, Meta(ge=0, le=2000)] = 200
    as_of: AsOf | None = None


class GraphPage(Result, frozen=True, kw_only=True):
    branch: str
    doc: str
    nodes: list[Node]
    edges: list[Edge]
    pagination: Pagination


class ValidateGraph(Request, frozen=True, kw_only=True):
    """Find edges whose nodes are missing, at either end."""

    target: Target | None = None
    branch: BranchName | None = None
    doc: DocName | None = None
    max_errors: Annotated[int, Meta(ge=1, le=500)] = 50
    as_of: AsOf | None = None


class GraphStats(Value, frozen=True, kw_only=True):
    nodes: int
    edges: int


class GraphError(Value, frozen=True, kw_only=True):
    code: str
    key: EdgeKey
    missing: list[str]
    message: str


class GraphValid(Result, frozen=True, kw_only=True):
    branch: str
    doc: str
    ok: bool
    stats: GraphStats
    errors: list[GraphError]
    has_more: bool


class DiffGraph(Request, frozen=True, kw_only=True, rename={"from_": "from"}):
    """List nodes and edges that differ between two branches."""

    from_: Annotated[BranchName, also("source", "src", "base", "from_branch", "branch")]
    to: BranchName
    doc: DocName = "graph"
    cursor: Seq | None = None
    limit: Limit = 20
    as_of: AsOf | None = None


class Change(Value, frozen=True, kw_only=True):
    """A node or edge as `to` shows it; `seq` identifies the version and serves as cursor."""

    kind: Literal["node", "edge"]
    seq: int
    id: str | None = None
    key: EdgeKey | None = None
    to: State


class GraphDiff(Result, frozen=True, kw_only=True, rename={"from_": "from"}):
    from_: str
    to: str
    doc: str
    changes: list[Change]
    pagination: Pagination


class MergeGraph(Request, frozen=True, kw_only=True, rename={"from_": "from"}):
    """Merge a branch's graph back into its base with a three-way merge."""

    from_: Annotated[BranchName, also("source", "src", "from_branch", "branch")]
    into: BranchName | None = None
    doc: DocName = "graph"
    cursor: Seq | None = None
    limit: MergeLimit = 200
    dry_run: bool = False
    merge_to_base: bool = False


class ConflictPreview(Value, frozen=True, kw_only=True):
    conflict_id: str
    kind: Literal["node", "edge"]
    key: str | EdgeKey
    status: str


class DiffSummary(Value, frozen=True, kw_only=True):
    """How much the branch changed, counted over merged and conflicting keys."""

    nodes_changed: int
    edges_changed: int
    node_fields_changed: int
    edge_fields_changed: int


class GraphMerged(Result, frozen=True, kw_only=True, rename={"from_": "from"}):
    from_: str
    into: str
    doc: str
    merged: int
    skipped: int
    conflicts_created: int
    conflict_ids: list[str]
    conflicts: list[ConflictPreview]
    diff_summary: DiffSummary
    dry_run: bool = False
    pagination: Pagination


class ListConflicts(Request, frozen=True, kw_only=True):
    """List conflicts of merges into a branch, newest first."""

    into: Annotated[BranchName, also("branch", "branch_name", "to")]
    doc: DocName = "graph"
    status: Literal["open", "resolved"] | None = None
    cursor: Seq | None = None
    limit: Limit = 50
    as_of: AsOf | None = None


class ConflictRow(Value, frozen=True, kw_only=True, rename={"from_": "from"}):
    conflict_id: str
    kind: Literal["node", "edge"]
    key: str | EdgeKey
    from_: str
    status: str
    created_at_ms: int
    seq: int


class ConflictList(Result, frozen=True, kw_only=True):
    into: str
    doc: str
    conflicts: list[ConflictRow]
    pagination: Pagination


class ShowConflict(Request, frozen=True, kw_only=True):
    """Show both sides of a conflict and their common base."""

    conflict_id: ConflictId
    as_of: AsOf | None = None


class MergeConflict(Value, frozen=True, kw_only=True, rename={"from_": "from"}):
    """`theirs` is the branch's version, `ours` the destination's; null means it did not exist."""

    conflict_id: str
    kind: Literal["node", "edge"]
    key: str | EdgeKey
    from_: str
    into: str
    doc: str
    status: str
    resolution: str | None = None
    base: State | None
    theirs: State | None
    ours: State | None
    created_at_ms: int
    resolved_at_ms: int | None = None


class ConflictShown(Result, frozen=True, kw_only=True):
    conflict: MergeConflict


class ConflictOpened(Result, frozen=True, kw_only=True):
    kind: Literal["conflict"]
    id: str
    conflict: MergeConflict


class ResolveConflict(Request, frozen=True, kw_only=True):
    """Resolve a conflict: take the branch's version, or keep the destination's."""

    conflict_id: ConflictId
    resolution: Annotated[
        Literal["use_from", "use_into"], also("choice", "side", "decision", "resolve")
    ]


class ConflictResolved(Result, frozen=True, kw_only=True):
    conflict_id: str
    status: Literal["resolved"]
    applied: bool
    ref: str | None = None
