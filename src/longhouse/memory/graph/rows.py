"""Converts stored versions to nodes and edges, and compares versions."""

from __future__ import annotations

from typing import Any

import msgspec

from longhouse.memory.types.graph import Edge, EdgeKey, Node, State
from longhouse.store.engine import Row

__all__ = [
    "FIELDS",
    "changed_fields",
    "edge_from",
    "edge_key",
    "key_of",
    "key_shown",
    "node_from",
    "same",
    "shown",
    "state_from",
]

FIELDS = ("type", "title", "text", "status", "tags", "meta")
"""The fields compared between versions; tags and meta are stored in a canonical form."""


def edge_key(from_: str, rel: str, to: str) -> str:
    """The key of an edge; none of its parts contains a `|`."""
    return f"{from_}|{rel}|{to}"


def key_of(key: str) -> EdgeKey:
    from_, rel, to = key.split("|")
    return EdgeKey(from_=from_, rel=rel, to=to)


def key_shown(kind: str, key: str) -> str | EdgeKey:
    """A node's id, or an edge's parts."""
    return key if kind == "node" else key_of(key)


def node_from(row: Row) -> Node:
    """The node that a row of a page holds."""
    return Node(
        id=row["key"],
        type=row["type"],
        title=row["title"],
        text=row["text"],
        status=row["status"],
        tags=_decoded(row["tags"]) or [],
        meta=_decoded(row["meta"]),
        deleted=bool(row["deleted"]),
        last_seq=row["seq"],
        last_ts_ms=row["ts_ms"],
    )


def edge_from(row: Row) -> Edge:
    """The edge that a row of a page holds."""
    return Edge(
        from_=row["from_id"],
        rel=row["rel"],
        to=row["to_id"],
        meta=_decoded(row["meta"]),
        deleted=bool(row["deleted"]),
        last_seq=row["seq"],
        last_ts_ms=row["ts_ms"],
    )


def state_from(row: Row) -> Node | Edge:
    return node_from(row) if row["kind"] == "node" else edge_from(row)


def shown(row: Row | None) -> State | None:
    """A version as built-in values, for fields that hold a node or an edge."""
    return msgspec.to_builtins(state_from(row)) if row is not None else None


def same(one: Row | None, other: Row | None) -> bool:
    """Whether two versions have the same content; a deleted version equals a missing one."""
    return _said(one) == _said(other)


def changed_fields(before: Row | None, after: Row | None) -> int:
    """How many fields differ; creation or deletion counts as one."""
    one, other = _said(before), _said(after)
    if one is None or other is None:
        return int(one is not other)
    return sum(a != b for a, b in zip(one, other, strict=True))


def _said(row: Row | None) -> tuple[Any, ...] | None:
    if row is None or row["deleted"]:
        return None
    return tuple(row[field] for field in FIELDS)


def _decoded(text: str | None) -> Any:
    return msgspec.json.decode(text) if text else None
