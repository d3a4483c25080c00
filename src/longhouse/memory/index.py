"""The word index: which seqs hold the words that a text asks for.

The index only says where words are; whether a row is seen is for the caller to check. It is never
changed but by the deletion of a branch.
"""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.kernel.errors import InvalidInput
from longhouse.memory.room import sql
from longhouse.memory.words import Wanted, wanted
from longhouse.store.tx import Tx

__all__ = ["ask", "seqs_with"]

MOST_SEQ = 2**40 - 1
"""The newest seq that a search can be asked for: a full text row's number holds so many bits."""

_CHUNK = 64


def ask(text: str) -> Wanted:
    """What a text asks for, or InvalidInput when it holds no word."""
    if query := wanted(text):
        return query
    raise InvalidInput(
        "text: expected at least one letter or digit", recovery='pass words, like text="cache key"'
    )


def seqs_with(
    tx: Tx, query: Wanted, *, before: int, doc_id: int | None = None, chunk: int = _CHUNK
) -> Iterator[list[int]]:
    """The seqs below `before` whose words match, newest first, a chunk at a time."""
    before = min(before, MOST_SEQ)
    while True:
        rows = tx.all(
            sql.words_found, fts5=query.fts5(doc_id), tsquery=query.tsquery(doc_id),
            before=before, limit=chunk,
        )  # fmt: skip
        yield [row["seq"] for row in rows]
        if len(rows) < chunk:
            return
        before = rows[-1]["seq"]
        chunk = min(chunk * 2, 1_000)
