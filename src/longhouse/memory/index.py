"""The word index: which seqs hold the words of a query.

The index only locates words; the caller checks whether a row is visible. Rows are only ever added,
except that deleting a branch removes its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.kernel.errors import InvalidInput
from longhouse.memory.room import sql
from longhouse.memory.words import Wanted, wanted
from longhouse.store.tx import Tx

__all__ = ["ask", "newest_with", "seqs_with"]

MOST_SEQ = 2**40 - 1
"""The highest seq a search can reach: a full-text row id has 40 bits for it."""

_CHUNK = 64


def ask(text: str) -> Wanted:
    """The parsed query, or InvalidInput if the text holds no word."""
    if query := wanted(text):
        return query
    raise InvalidInput(
        "text: expected at least one letter or digit", recovery='pass words, like text="cache key"'
    )


def newest_with(
    tx: Tx, query: Wanted, *, before: int, limit: int, doc_id: int | None = None
) -> list[int]:
    """The newest seqs below `before` whose words match, in one document or in all of them."""
    rows = tx.all(
        sql.words_found,
        fts5=query.fts5(doc_id),
        tsquery=query.tsquery(doc_id),
        before=min(before, MOST_SEQ),
        limit=limit,
    )
    return [row["seq"] for row in rows]


def seqs_with(tx: Tx, query: Wanted, *, before: int) -> Iterator[int]:
    """The seqs below `before` whose words match, newest first."""
    chunk = _CHUNK
    while True:
        seqs = newest_with(tx, query, before=before, limit=chunk)
        yield from seqs
        if len(seqs) < chunk:
            return
        before = seqs[-1]
        chunk = min(chunk * 2, 1_000)
