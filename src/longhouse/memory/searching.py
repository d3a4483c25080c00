"""`docs.search`: full-text search over a workspace's entries and nodes, newest first.

The index only locates words. Whether a hit is visible is checked against the tables, for a bounded
number of rows per call; a page that stops early says so and gives the cursor to continue from.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from longhouse.kernel.budget import Clip, Pop
from longhouse.kernel.clock import rfc3339
from longhouse.kernel.redact import redact_text
from longhouse.kernel.trim import clip_text
from longhouse.memory.branches import ENDLESS, NOW, view_of
from longhouse.memory.graph.view import shows
from longhouse.memory.index import ask, seqs_with
from longhouse.memory.room import room, sql
from longhouse.memory.types.documents import Pagination, SearchDocuments, SearchHit, SearchResult
from longhouse.store.engine import Row
from longhouse.store.tx import Tx

__all__ = ["search_documents"]

_MOST_LOOKED_AT = 2_000
_SNIPPET = 280


@room.command(
    "docs.search",
    also="find grep query notes.search memory.search vcs.search",
    example=SearchDocuments(text="cache key"),
    trim=[Clip("hits.text", 120), Pop("hits", leave=1, cursor="seq"), Clip("hits.text", 40)],
)
def search_documents(tx: Tx, req: SearchDocuments) -> SearchResult:
    """Find entries and nodes by their words, in the whole workspace or as one branch shows it."""
    query = ask(req.text)
    cut = NOW if req.as_of is None else req.as_of
    before = min(req.cursor if req.cursor is not None else ENDLESS, cut + 1)
    seen = _seen(tx, req)
    hits: list[SearchHit] = []
    more_from = None
    found = _looked_up(tx, seqs_with(tx, query, before=before), req.limit + 1)
    for looked_at, (seq, row) in enumerate(found, start=1):
        if row is not None and _shown(tx, row, req, cut, seen):
            if len(hits) == req.limit:
                more_from = hits[-1].seq
                break
            hits.append(_found(row))
        if looked_at >= _MOST_LOOKED_AT:
            more_from = seq
            break
    return SearchResult(
        text=req.text,
        hits=hits,
        pagination=Pagination(
            cursor=req.cursor,
            next_cursor=more_from,
            has_more=more_from is not None,
            limit=req.limit,
            count=len(hits),
        ),
    )


def _looked_up(tx: Tx, seqs: Iterator[int], at_once: int) -> Iterator[tuple[int, Row | None]]:
    """The entry or node version at each seq, if any; read in batches."""
    while chunk := list(islice(seqs, at_once)):
        asked = [tx.ask(sql.search_hits, seq=seq, endless=ENDLESS) for seq in chunk]
        for seq, rows in zip(chunk, tx.answers(asked), strict=True):
            yield seq, rows[0] if rows else None


def _seen(tx: Tx, req: SearchDocuments) -> dict[str, int] | None:
    """The newest visible seq on each branch that the requested branch is built from."""
    if req.branch is None:
        return None
    view = view_of(tx, req.branch, req.doc or "", req.as_of)
    return {source.name: source.cut for source in view.sources}


def _shown(tx: Tx, row: Row, req: SearchDocuments, cut: int, seen: dict[str, int] | None) -> bool:
    """Whether a hit is in the requested document and visible on the requested branch."""
    if req.doc is not None and row["doc"] != req.doc:
        return False
    if req.branch is None or seen is None:
        return bool(row["until"] > cut)
    if row["seq"] > seen.get(row["branch"], -1):
        return False
    if row["id"] is None:
        return True
    return shows(tx, view_of(tx, req.branch, row["doc"], req.as_of), row["id"], row["seq"])


def _found(row: Row) -> SearchHit:
    text = redact_text(row["text"] or "")  # first: a clipped secret might not be recognized
    return SearchHit(
        ref=f"{row['doc']}@{row['seq']}",
        seq=row["seq"],
        ts=rfc3339(row["ts_ms"]),
        branch=row["branch"],
        doc=row["doc"],
        kind=row["kind"],
        id=row["id"],
        title=row["title"],
        text=clip_text(text, _SNIPPET),
    )
