"""`graph.query` reads a bounded slice of a graph; `graph.validate` checks all of it."""

from __future__ import annotations

from longhouse.kernel.budget import Clip, Drop, Pop
from longhouse.memory.branches import ENDLESS, View, view_of
from longhouse.memory.graph.rows import edge_from, key_of, node_from
from longhouse.memory.graph.view import NodeFilter, edges_among, keys_seen, node_page, visible
from longhouse.memory.names import normal_tags
from longhouse.memory.room import room
from longhouse.memory.targeting import scope
from longhouse.memory.types.documents import Pagination
from longhouse.memory.types.graph import (
    GraphError,
    GraphPage,
    GraphStats,
    GraphValid,
    QueryGraph,
    ValidateGraph,
)
from longhouse.store.recall.locating import ask
from longhouse.store.tx import Tx

__all__ = ["query_graph", "validate_graph"]


@room.command(
    "graph.query",
    also=(
        "search find list get show nodes graph.read.graph graph.search.nodes "
        "graph.open.nodes think.read.graph think.search.nodes think.open.nodes edges "
        "neighbors"
    ),
    op="query",
    example=QueryGraph(types=["hypothesis"], status="open"),
    trim=[
        Clip("nodes.text", 400),
        Pop("edges"),
        Pop("nodes", leave=1, cursor="last_seq"),
        Drop("nodes.meta"),
        Clip("nodes.text", 80),
    ],
)
def query_graph(tx: Tx, req: QueryGraph) -> GraphPage:
    """Find nodes that match all filters, newest first, and the edges between them."""
    where = scope(tx, "graph", target=req.target, branch=req.branch, doc=req.doc)
    view = view_of(tx, where.branch, where.doc, req.as_of)
    before = req.cursor if req.cursor is not None else ENDLESS
    nodes = node_page(tx, view, _filter(req), before=before, limit=req.limit)
    edges = []
    if req.include_edges:
        edges = edges_among(tx, view, [row["key"] for row in nodes.rows], req.edges_limit)
    more = nodes.more_from is not None
    return GraphPage(
        branch=where.branch,
        doc=where.doc,
        nodes=[node_from(row) for row in nodes.rows],
        edges=[edge_from(row) for row in edges],
        pagination=Pagination(
            cursor=req.cursor,
            next_cursor=nodes.more_from,
            has_more=more,
            limit=req.limit,
            count=len(nodes.rows),
            as_of=req.as_of if req.as_of is not None else tx.last_seq(),
        ),
    )


def _filter(req: QueryGraph) -> NodeFilter:
    status = [req.status] if isinstance(req.status, str) else req.status
    tags_any = normal_tags(req.tags_any, "tags_any") if req.tags_any else None
    return NodeFilter(
        ids=frozenset(req.ids) if req.ids is not None else None,
        types=frozenset(req.types) if req.types else None,
        status=frozenset(status) if status else None,
        tags_any=frozenset(tags_any) if tags_any else None,
        tags_all=frozenset(normal_tags(req.tags_all or (), "tags_all")),
        text=ask(req.text) if req.text else None,
    )


@room.command(
    "graph.validate",
    also="check lint",
    example=ValidateGraph(),
    trim=[Pop("errors", leave=1), Clip("errors.message", 80)],
)
def validate_graph(tx: Tx, req: ValidateGraph) -> GraphValid:
    """Find edges whose nodes are missing, at either end."""
    where = scope(tx, "graph", target=req.target, branch=req.branch, doc=req.doc)
    view = view_of(tx, where.branch, where.doc, req.as_of)
    nodes = sum(len(batch) for batch in keys_seen(tx, view, "node"))
    edges, found = 0, list[GraphError]()
    for batch in keys_seen(tx, view, "edge"):
        edges += len(batch)
        if len(found) > req.max_errors:
            continue
        ends = {end for row in batch for end in (row["from_id"], row["to_id"])}
        there = _there(tx, view, ends)
        for row in batch:
            missing = [end for end in (row["from_id"], row["to_id"]) if end not in there]
            if missing:
                found.append(
                    GraphError(
                        code="EDGE_ENDPOINT_MISSING",
                        key=key_of(row["key"]),
                        missing=missing,
                        message=f"{row['key']}: missing node {', '.join(missing)}",
                    )
                )
    return GraphValid(
        branch=where.branch,
        doc=where.doc,
        ok=not found,
        stats=GraphStats(nodes=nodes, edges=edges),
        errors=found[: req.max_errors],
        has_more=len(found) > req.max_errors,
    )


def _there(tx: Tx, view: View, ids: set[str]) -> set[str]:
    return {key for key, row in visible(tx, view, ids).items() if not row["deleted"]}
