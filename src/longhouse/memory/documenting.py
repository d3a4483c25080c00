"""Entries and nodes as search reads them back: what a hit says, and whether the caller sees it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from longhouse.memory.branches import NOW, Branch, View, view_of
from longhouse.memory.graph.view import edges_at, visible
from longhouse.memory.names import is_mirror, target_of
from longhouse.memory.room import room, sql
from longhouse.store.engine import Row
from longhouse.store.queries import Query
from longhouse.store.recall.documents import Document, Visibility
from longhouse.store.tx import Tx

__all__ = ["entries_to_index", "forget_branch", "nodes_to_index", "read_entries", "read_nodes"]

REPLACES = ("supersedes", "replaces", "obsoletes")
REPLACED = ("merged_into", "superseded_by", "replaced_by")
_DEAD = {"superseded": "superseded", "rejected": "rejected", "refuted": "refuted"}
_TRUST = {"accepted": 1.12, "confirmed": 1.12, "passed": 1.05, "parked": 0.95}
_DRAFTS = ("v:draft", "lane:agent:")
_MOST_EDGES = 400


def entries_to_index(tx: Tx, after: int, limit: int) -> list[int]:
    return _seqs(tx, sql.entries_from, after, limit)


def nodes_to_index(tx: Tx, after: int, limit: int) -> list[int]:
    return _seqs(tx, sql.nodes_from, after, limit)


@room.searchable("entry", entries_to_index)
def read_entries(tx: Tx, seqs: Sequence[int], look: Visibility) -> Iterable[Document]:
    """The entries at these seqs that the caller sees."""
    rows = tx.all(sql.entries_at, seqs=_json(seqs))
    seen = _seen(tx, look)
    for row in rows:
        if _hidden(row, look, seen):
            continue
        yield Document(
            kind=row["kind"],
            ref=f"{row['doc']}@{row['seq']}",
            seq=row["seq"],
            ts_ms=row["ts_ms"],
            thing=f"entry {row['origin_seq'] or row['seq']}",
            title=row["title"],
            body=row["content"],
            task=target_of(row["branch"]),
            branch=row["branch"],
            doc=row["doc"],
            doc_id=row["doc_id"],
        )


@room.searchable("node", nodes_to_index)
def read_nodes(tx: Tx, seqs: Sequence[int], look: Visibility) -> Iterable[Document]:
    """The nodes at these seqs that the caller sees; replaced ones say by what."""
    rows = tx.all(sql.node_versions_at, seqs=_json(seqs))
    seen = _seen(tx, look)
    shown = [row for row in rows if not _hidden(row, look, seen)]
    replaced: dict[tuple[str, str, str], str] = {}
    if look.all:
        pass
    elif look.branch is not None:
        shown = _on_branch(tx, shown, look)
    else:
        cut = NOW if look.as_of is None else look.as_of
        shown = [row for row in shown if row["until"] > cut]
    if not look.all:
        replaced = _replaced(tx, shown, look)
    for row in shown:
        tags = msgspec.json.decode(row["tags"]) if row["tags"] else []
        instead = replaced.get((row["branch"], row["doc"], row["key"]))
        gone = _DEAD.get(row["status"] or "", "superseded" if instead else None)
        trust = _TRUST.get(row["status"] or "", 1.0) * (1.05 if row["type"] == "decision" else 1.0)
        if any(tag.startswith(_DRAFTS) for tag in tags):
            trust *= 0.9
        yield Document(
            kind="node",
            ref=f"{row['doc']}@{row['seq']}",
            seq=row["seq"],
            ts_ms=row["ts_ms"],
            thing=f"node {row['doc']} {row['key']}",
            title=row["title"],
            body=row["text"],
            id=row["key"],
            ids=(row["key"],),
            tags=tags,
            task=target_of(row["branch"]),
            branch=row["branch"],
            doc=row["doc"],
            doc_id=row["doc_id"],
            type=row["type"],
            status=row["status"],
            trust=trust,
            gone=gone,
            instead=instead,
            ranked=not is_mirror(row["key"]),
        )


def forget_branch(tx: Tx, branch: Branch) -> None:
    """Take everything on a branch out of the index, before it is deleted."""
    from longhouse.store.recall.folding import remove
    from longhouse.store.recall.rebuilding import signed

    for query in (sql.entries_of_branch, sql.nodes_of_branch):
        seqs = [row["seq"] for row in tx.all(query, branch_id=branch.branch_id)]
        read = read_entries if query is sql.entries_of_branch else read_nodes
        for at in range(0, len(seqs), 500):
            remove(tx, [one.text() for one in signed(tx, read, seqs[at : at + 500])])


def _seen(tx: Tx, look: Visibility) -> dict[str, int] | None:
    """The newest visible seq on each branch that the requested branch is built from."""
    if look.branch is None:
        return None
    view = view_of(tx, look.branch, look.doc or "", look.as_of)
    return {source.name: source.cut for source in view.sources}


def _hidden(row: Row, look: Visibility, seen: dict[str, int] | None) -> bool:
    if look.all:
        return False
    if row["branch"].startswith("deleted@") or (look.doc is not None and row["doc"] != look.doc):
        return True
    if seen is not None:
        return bool(row["seq"] > seen.get(row["branch"], -1))
    return look.as_of is not None and row["seq"] > look.as_of


def _on_branch(tx: Tx, rows: list[Row], look: Visibility) -> list[Row]:
    """The versions that the branch shows."""
    assert look.branch is not None
    kept = []
    for doc in dict.fromkeys(row["doc"] for row in rows):
        some = [row for row in rows if row["doc"] == doc]
        now = visible(tx, view_of(tx, look.branch, doc, look.as_of), [row["key"] for row in some])
        kept += [row for row in some if (held := now.get(row["key"])) and held["seq"] == row["seq"]]
    return kept


def _replaced(tx: Tx, rows: list[Row], look: Visibility) -> dict[tuple[str, str, str], str]:
    """What replaced each of these nodes, by the edges of the branch they are on."""
    found: dict[tuple[str, str, str], str] = {}
    places = dict.fromkeys((row["branch"], row["doc"]) for row in rows)
    for branch, doc in places:
        keys = [r["key"] for r in rows if (r["branch"], r["doc"]) == (branch, doc)]
        view = view_of(tx, look.branch or branch, doc, look.as_of)
        for key, other in _edges(tx, view, keys):
            found.setdefault((branch, doc, key), other)
    return found


def _edges(tx: Tx, view: View, keys: list[str]) -> Iterable[tuple[str, str]]:
    for edge in edges_at(tx, view, keys, "into", _MOST_EDGES):
        if edge["rel"] in REPLACES:
            yield edge["to_id"], edge["from_id"]
    for edge in edges_at(tx, view, keys, "from", _MOST_EDGES):
        if edge["rel"] in REPLACED:
            yield edge["from_id"], edge["to_id"]


def _seqs(tx: Tx, query: Query, after: int, limit: int) -> list[int]:
    return [row["seq"] for row in tx.all(query, after=after, limit=limit)]


def _json(values: Any) -> str:
    return msgspec.json.encode(values).decode()
