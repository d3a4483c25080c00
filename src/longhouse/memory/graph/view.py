"""What a branch shows of a graph: the newest version of each key among the branch's sources.

A nearer source shadows the keys it has, deleted or not. Sources do not overlap in seq and come
newest first, so a page is read from one after the other. The indexes it is read from hold only the
versions that some branch shows.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Iterator
from itertools import islice, product
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec

from longhouse.memory.branches import NOW, Source, View
from longhouse.memory.graph.room import sql
from longhouse.store.engine import Row
from longhouse.store.queries import Query
from longhouse.store.tx import Tx

if TYPE_CHECKING:
    from longhouse.store.recall.words import Wanted

__all__ = [
    "NodeFilter",
    "Nodes",
    "edges_among",
    "edges_at",
    "keys_seen",
    "node_page",
    "nodes_named",
    "nodes_tagged",
    "shows",
    "unshadowed",
    "visible",
]

_MOST_LOOKED_AT = 10_000
_MOST_EDGES_WALKED = 2_000
_CHUNK = 500


class NodeFilter(NamedTuple):
    """Conditions a node must meet; None means no condition."""

    ids: frozenset[str] | None = None
    types: frozenset[str] | None = None
    status: frozenset[str] | None = None
    tags_any: frozenset[str] | None = None
    tags_all: frozenset[str] = frozenset()
    text: Wanted | None = None

    def takes(self, row: Row) -> bool:
        if self.types is not None and row["type"] not in self.types:
            return False
        if self.status is not None and row["status"] not in self.status:
            return False
        if self.tags_any is not None or self.tags_all:
            tags = set(msgspec.json.decode(row["tags"])) if row["tags"] else set()
            if not self.tags_all <= tags or (
                self.tags_any is not None and not self.tags_any & tags
            ):
                return False
        return self.text is None or self.text.matches(row["key"], row["title"], row["text"])


class Nodes(NamedTuple):
    """A page of rows, and the cursor for the next page if there may be one."""

    rows: list[Row]
    more_from: int | None


def visible(tx: Tx, view: View, keys: Iterable[str]) -> dict[str, Row]:
    """The versions of these keys that the view shows, including tombstones."""
    found: dict[str, Row] = {}
    left = list(dict.fromkeys(keys))
    for source in view.written:
        if not left:
            break
        rows = tx.all(sql.latest_of_keys, doc_id=source.doc_id, keys=_json(left), cut=source.cut)
        found.update((row["key"], row) for row in rows)
        left = [key for key in left if key not in found]
    return found


def shows(tx: Tx, view: View, key: str, seq: int) -> bool:
    """Whether this version of the key is the one the view shows."""
    row = visible(tx, view, [key]).get(key)
    return row is not None and row["seq"] == seq and not row["deleted"]


def node_page(tx: Tx, view: View, wanted: NodeFilter, *, before: int, limit: int) -> Nodes:
    """Up to `limit` nodes below `before` that pass the filter, newest first.

    Reads a bounded number of rows, so a page may stop early and still report more.
    """
    if wanted.ids is not None:
        rows = visible(tx, view, wanted.ids).values()
        hits = [r for r in rows if _is_node(r) and r["seq"] < before and wanted.takes(r)]
        hits.sort(key=lambda row: -row["seq"])
        more = hits[limit - 1]["seq"] if len(hits) > limit else None
        return Nodes(hits[:limit], more)
    found: list[Row] = []
    looked_at = 0
    for depth, source in enumerate(view.written):
        rows_of = _rows(tx, source, wanted, before, limit + 1)
        while batch := list(islice(rows_of, limit + 1)):
            looked_at += len(batch)
            kept = [row for row in batch if wanted.takes(row)]
            found += unshadowed(tx, view, depth, kept)
            if len(found) > limit:
                return Nodes(found[:limit], found[limit - 1]["seq"])
            if looked_at >= _MOST_LOOKED_AT:
                return Nodes(found, batch[-1]["seq"])
    return Nodes(found, None)


def unshadowed(tx: Tx, view: View, depth: int, rows: list[Row]) -> list[Row]:
    """The rows of the source at `depth` whose keys no nearer source has."""
    nearer = {source.doc_id: source.cut for source in view.written[:depth]}
    if not nearer or not rows:
        return rows
    written = tx.all(
        sql.first_of_keys, docs=_json(list(nearer)), keys=_json([row["key"] for row in rows])
    )
    shadowed = {row["key"] for row in written if row["first_seq"] <= nearer[row["doc_id"]]}
    return [row for row in rows if row["key"] not in shadowed]


def edges_among(tx: Tx, view: View, ids: list[str], limit: int) -> list[Row]:
    """Edges between these nodes, newest first."""
    if not ids or not limit:
        return []
    found: dict[str, Row] = {}
    here = set(ids)
    for source in view.written:
        for row in _edges(tx, source, ids):
            if row["to_id"] in here:
                found.setdefault(row["key"], row)
    edges = sorted((r for r in found.values() if not r["deleted"]), key=lambda row: -row["seq"])
    return edges[:limit]


def edges_at(
    tx: Tx, view: View, ids: list[str], way: Literal["from", "into"], limit: int
) -> list[Row]:
    """Up to `limit` edges out of (`from`) or into (`into`) these nodes, newest first."""
    if not ids:
        return []
    query = sql.edges_from if way == "from" else sql.edges_into
    found: dict[str, Row] = {}
    for source in view.written:
        rows = tx.all(
            query, doc_id=source.doc_id, ids=_json(ids), cut=source.cut, limit=limit * 2 + 1
        )
        for row in rows:
            found.setdefault(row["key"], row)
    edges = sorted((r for r in found.values() if not r["deleted"]), key=lambda row: -row["seq"])
    return edges[:limit]


def nodes_named(tx: Tx, key: str, limit: int = 20) -> list[Row]:
    """The nodes with that id, on any branch, newest first."""
    return tx.all(sql.nodes_named, key=key, limit=limit)


def nodes_tagged(tx: Tx, tag: str, *, before: int, limit: int) -> list[Row]:
    """Nodes with that tag in any graph, newest first; an id may appear more than once."""
    return tx.all(sql.nodes_tagged, tag=tag, before=before, limit=limit)


def keys_seen(tx: Tx, view: View, kind: str) -> Iterator[list[Row]]:
    """All keys of that kind that the view shows, in chunks; for checks of the whole graph."""
    for depth, source in enumerate(view.written):

        def fetch(before: int, count: int, source: Source = source) -> list[Row]:
            return tx.all(
                sql.keys_seen,
                doc_id=source.doc_id,
                kind=kind,
                before=before,
                cut=source.cut,
                limit=count,
            )

        rows = _paged(fetch, source.cut + 1, _CHUNK)
        while batch := list(islice(rows, _CHUNK)):
            yield unshadowed(tx, view, depth, batch)


def _edges(tx: Tx, source: Source, ids: list[str]) -> list[Row]:
    """Read all edges out of the nodes; if there are too many, query each pair of nodes instead."""
    asked: dict[str, Any] = {"doc_id": source.doc_id, "ids": _json(ids), "cut": source.cut}
    rows = tx.all(sql.edges_from, limit=_MOST_EDGES_WALKED + 1, **asked)
    return rows if len(rows) <= _MOST_EDGES_WALKED else tx.all(sql.edges_between, **asked)


def _rows(tx: Tx, source: Source, wanted: NodeFilter, before: int, count: int) -> Iterator[Row]:
    """Nodes of one source, newest first, from the most selective index the filter allows."""
    before = min(before, source.cut + 1)
    if source.cut < NOW and not source.pinned:
        return _paged(_fetch(tx, source, sql.nodes_of_time), before, count)
    if wanted.text is not None:
        return _with_words(tx, source, wanted.text, before, count)
    query, values = sql.nodes_listed, None
    if wanted.tags_all:
        query, values = sql.nodes_of_tag, [min(wanted.tags_all)]
    elif wanted.tags_any is not None:
        query, values = sql.nodes_of_tag, sorted(wanted.tags_any)
    elif wanted.types is not None and wanted.status is not None:
        pairs = product(sorted(wanted.types), sorted(wanted.status))
        query = sql.nodes_of_type_and_status
        return _merged([_paged(_fetch(tx, source, query, *p), before, count) for p in pairs])
    elif wanted.status is not None:
        query, values = sql.nodes_of_status, sorted(wanted.status)
    elif wanted.types is not None:
        query, values = sql.nodes_of_type, sorted(wanted.types)
    if values is None:
        return _paged(_fetch(tx, source, query), before, count)
    return _merged([_paged(_fetch(tx, source, query, v), before, count) for v in values])


def _with_words(tx: Tx, source: Source, text: Wanted, before: int, count: int) -> Iterator[Row]:
    """Nodes by their words.

    Restricting the search to one document adds a cost per hit that grows with the document, so it
    starts only once most hits turn out to belong to other documents.
    """
    from longhouse.store.recall.locating import newest_with  # most reads are not by words

    doc_id = None
    while True:
        seqs = newest_with(tx, text, before=before, limit=count, doc_id=doc_id)
        rows = tx.all(sql.nodes_at, doc_id=source.doc_id, seqs=_json(seqs), cut=source.cut)
        yield from sorted(rows, key=lambda row: -row["seq"])
        if len(seqs) < count:
            return
        if len(rows) * 2 < len(seqs):
            doc_id = source.doc_id
        before = seqs[-1]
        count = min(count * 2, 1_000)


def _fetch(
    tx: Tx, source: Source, query: Query, value: str | None = None, status: str | None = None
) -> Callable[[int, int], list[Row]]:
    asked: dict[str, Any] = {
        "doc_id": source.doc_id,
        "cut": source.cut,
        "pinned": int(source.pinned),
    }
    if value is not None:
        asked["value"] = value
    if status is not None:
        asked["status"] = status
    return lambda before, limit: tx.all(query, before=before, limit=limit, **asked)


def _paged(fetch: Callable[[int, int], list[Row]], before: int, count: int) -> Iterator[Row]:
    """All rows of a query that pages by seq; pages grow as the reader continues."""
    while True:
        rows = fetch(before, count)
        yield from rows
        if len(rows) < count:
            return
        before = rows[-1]["seq"]
        count = min(count * 2, 1_000)


def _merged(streams: list[Iterator[Row]]) -> Iterator[Row]:
    last = None
    for row in heapq.merge(*streams, key=lambda row: -row["seq"]):
        if row["seq"] != last:
            last = row["seq"]
            yield row


def _is_node(row: Row) -> bool:
    return row["kind"] == "node" and not row["deleted"]


def _json(values: list[Any]) -> str:
    return msgspec.json.encode(values).decode()
