"""Writing a graph: a batch of operations becomes versions, all of them or none.

Each operation becomes a version with its own seq. The version it replaces on the same branch ends
at that seq, and stays in the indexes only if a derived branch still shows it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import msgspec

from longhouse.kernel.errors import InvalidInput, LonghouseError, UnknownId
from longhouse.memory.branches import ENDLESS, NOW, Branch, ensure_branch, ensure_document, view_of
from longhouse.memory.entries import encoded
from longhouse.memory.graph.room import sql
from longhouse.memory.graph.rows import edge_key, same
from longhouse.memory.graph.view import visible
from longhouse.memory.names import (
    check_label,
    check_node_id,
    check_text,
    is_mirror,
    normal_tags,
    target_of,
)
from longhouse.memory.room import room
from longhouse.memory.targeting import scope
from longhouse.memory.types.graph import (
    Applied,
    ApplyGraph,
    EdgeDelete,
    EdgeUpsert,
    GraphApplied,
    NodeDelete,
    NodeUpsert,
    Op,
)
from longhouse.store.engine import Row
from longhouse.store.recall.index import Text, index_texts
from longhouse.store.tx import Tx

__all__ = [
    "Draft",
    "Written",
    "apply_ops",
    "apply_to_graph",
    "drafts_of",
    "node_text",
    "write_versions",
]

Draft = dict[str, Any]
"""A version without a seq yet, as a mapping of columns."""

_EMPTY: Draft = dict.fromkeys(
    ("type", "title", "text", "status", "tags", "from_id", "rel", "to_id", "meta")
)


class Written(NamedTuple):
    """The outcome of a batch."""

    applied: Applied
    last_seq: int | None


@room.command(
    "graph.apply",
    also=(
        "add write update upsert create graph.node.add graph.add.node graph.edge.add "
        "graph.create.entities graph.create.relations graph.add.observations "
        "think.create.entities think.create.relations think.add.observations"
    ),
    op="apply",
    writes=True,
    example=ApplyGraph(
        ops=[
            NodeUpsert(id="H-1", type="hypothesis", title="The cache is stale", status="open"),
            NodeUpsert(id="T-1", type="test", title="Read after write"),
            EdgeUpsert(from_="T-1", rel="supports", to="H-1"),
        ]
    ),
)
def apply_to_graph(tx: Tx, req: ApplyGraph) -> GraphApplied:
    """Write nodes and edges: all operations apply, or none."""
    where = scope(tx, "graph", target=req.target, branch=req.branch, doc=req.doc)
    written = apply_ops(tx, ensure_branch(tx, where.branch), where.doc, req.ops)
    assert written.last_seq is not None
    return GraphApplied(
        branch=where.branch,
        doc=where.doc,
        applied=written.applied,
        last_seq=written.last_seq,
        last_ts_ms=tx.now_ms,
        ref=f"{where.doc}@{written.last_seq}",
    )


def apply_ops(
    tx: Tx,
    branch: Branch,
    doc: str,
    ops: Sequence[Op],
    *,
    internal: bool = False,
    only_changes: bool = False,
) -> Written:
    """Apply operations to a graph document.

    `internal` lets other rooms write the node ids reserved for them; `only_changes` skips
    operations that would repeat what the branch already shows.
    """
    drafts = [_draft(index, op, internal) for index, op in enumerate(ops)]
    drafts = _against(tx, branch, doc, drafts, only_changes)
    applied = Applied(
        nodes_upserted=sum(d["kind"] == "node" and not d["deleted"] for d in drafts),
        nodes_deleted=sum(d["kind"] == "node" and d["deleted"] for d in drafts),
        edges_upserted=sum(d["kind"] == "edge" and not d["deleted"] for d in drafts),
        edges_deleted=sum(d["kind"] == "edge" and d["deleted"] for d in drafts),
    )
    if not drafts:
        return Written(applied, None)
    first = write_versions(tx, branch, doc, drafts)
    last = first + len(drafts) - 1
    tx.append(
        "memory",
        doc,
        "graph",
        {"branch": branch.name, "first_seq": first, **msgspec.to_builtins(applied)},
        seq=last,
        span=len(drafts),
    )
    return Written(applied, last)


def write_versions(tx: Tx, branch: Branch, doc: str, drafts: list[Draft]) -> int:
    """Give the drafts consecutive seqs, end what they replace, and return the first seq."""
    first = tx.seqs(len(drafts))
    doc_id = ensure_document(tx, branch, doc, first)
    keys = msgspec.json.encode(list({d["key"] for d in drafts})).decode()
    replaced = tx.all(sql.latest_of_keys, doc_id=doc_id, keys=keys, cut=NOW)
    if replaced:
        _end(tx, branch, doc_id, replaced, drafts, first)
    later: dict[str, int] = {}
    for at in range(len(drafts) - 1, -1, -1):
        draft = drafts[at]
        draft["seq"], draft["doc_id"], draft["ts_ms"] = first + at, doc_id, tx.now_ms
        draft["until"] = later.get(draft["key"], ENDLESS)
        draft["live"] = 1 if draft["until"] == ENDLESS else None
        later[draft["key"]] = first + at
    tx.many(sql.version_add, drafts)
    nodes = [d for d in drafts if d["kind"] == "node" and not d["deleted"]]
    tags = [
        {"doc_id": doc_id, "seq": d["seq"], "tag": tag}
        for d in nodes
        if d["tags"] and d["live"]
        for tag in msgspec.json.decode(d["tags"])
    ]
    if tags:
        tx.many(sql.tag_add, tags)
    if nodes:
        index_texts(tx, [node_text(d, tx.actor, target_of(branch.name)) for d in nodes])
    return first


def node_text(row: Draft | Row, author: str | None, task: str | None) -> Text:
    """What a node is found by; one that repeats a task or step is not ranked."""
    return Text(
        row["seq"],
        f"node {row['type']}",
        row["title"],
        row["text"],
        (row["key"],),
        msgspec.json.decode(row["tags"]) if row["tags"] else (),
        author,
        task,
        row["doc_id"],
        not is_mirror(row["key"]),
    )


def _end(
    tx: Tx, branch: Branch, doc_id: int, replaced: list[Row], drafts: list[Draft], first: int
) -> None:
    """End the versions that the drafts replace; those that derived branches show stay indexed."""
    cutoff = tx.value(sql.newest_cutoff, branch_id=branch.branch_id) or 0
    starts: dict[str, int] = {}
    for at, draft in enumerate(drafts):
        starts.setdefault(draft["key"], first + at)
    tx.many(
        sql.version_end,
        [
            {
                "seq": row["seq"],
                "until": starts[row["key"]],
                "live": 0 if row["seq"] <= cutoff else None,
            }
            for row in replaced
        ],
    )
    tagged = [row for row in replaced if row["tags"]]
    for query, rows in (
        (sql.tags_keep, [r for r in tagged if r["seq"] <= cutoff]),
        (sql.tags_drop, [r for r in tagged if r["seq"] > cutoff]),
    ):
        if rows:
            tx.many(query, [{"doc_id": doc_id, "seq": row["seq"]} for row in rows])


def _against(
    tx: Tx, branch: Branch, doc: str, drafts: list[Draft], only_changes: bool
) -> list[Draft]:
    """Check that deletions have a target; with `only_changes`, drop drafts that change nothing."""
    asked = {d["key"] for d in drafts if only_changes or d["deleted"]}
    if not asked:
        return drafts
    now: dict[str, Row | Draft] = dict(visible(tx, view_of(tx, branch.name, doc), asked))
    kept = []
    for index, draft in enumerate(drafts):
        before = now.get(draft["key"])
        if draft["deleted"]:
            if before is None or before["deleted"]:
                if only_changes:
                    continue
                raise UnknownId(
                    f"ops[{index}]: there is no {draft['kind']} {draft['key']!r} to delete",
                    recovery="look it up with graph.query; this call wrote nothing",
                )
            draft = {**draft, "type": before["type"]}
        elif only_changes and before is not None and same(before, draft):
            continue
        now[draft["key"]] = draft
        kept.append(draft)
    return kept


def _draft(index: int, op: Op, internal: bool) -> Draft:
    """Turn an operation into a checked draft; errors name the operation's index."""
    at = f"ops[{index}]"
    if isinstance(op, NodeUpsert | NodeDelete):
        key = check_node_id(op.id, f"{at}.id", internal=internal)
        if isinstance(op, NodeDelete):
            return {**_EMPTY, "kind": "node", "key": key, "deleted": 1}
        for field, text in (("title", op.title), ("text", op.text), ("status", op.status)):
            check_text(text, f"{at}.{field}")
        tags = normal_tags(op.tags, f"{at}.tags") if op.tags else None
        return {
            **_EMPTY,
            "kind": "node",
            "key": key,
            "type": check_label(op.type, f"{at}.type"),
            "title": op.title,
            "text": op.text,
            "status": op.status,
            "tags": msgspec.json.encode(tags).decode() if tags else None,
            "meta": _meta(op.meta, at),
            "deleted": 0,
        }
    return {
        **_EMPTY,
        "kind": "edge",
        "key": _edge(op, at),
        "from_id": op.from_,
        "rel": op.rel,
        "to_id": op.to,
        "meta": _meta(op.meta, at) if isinstance(op, EdgeUpsert) else None,
        "deleted": int(isinstance(op, EdgeDelete)),
    }


def _edge(op: EdgeUpsert | EdgeDelete, at: str) -> str:
    """Check an edge and return its key; it may connect any nodes, including tasks and steps."""
    check_node_id(op.from_, f"{at}.from", internal=True)
    check_label(op.rel, f"{at}.rel")
    check_node_id(op.to, f"{at}.to", internal=True)
    return edge_key(op.from_, op.rel, op.to)


def _meta(meta: dict[str, Any] | None, at: str) -> str | None:
    try:
        return encoded(meta)
    except LonghouseError:
        raise
    except (TypeError, ValueError):
        raise InvalidInput(f"{at}.meta: not JSON", recovery="pass a JSON object") from None


def drafts_of(rows: Iterable[Row]) -> list[Draft]:
    """Copy versions as drafts, to be written to another branch."""
    return [
        {
            **{name: row[name] for name in _EMPTY},
            "kind": row["kind"],
            "key": row["key"],
            "deleted": int(row["deleted"]),
        }
        for row in rows
    ]
