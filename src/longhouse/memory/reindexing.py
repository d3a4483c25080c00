"""Rebuilds the word index from entries and nodes, because exports do not include it."""

from __future__ import annotations

from collections.abc import Callable

from longhouse.memory.room import room, sql
from longhouse.memory.words import indexed
from longhouse.store.engine import Row
from longhouse.store.queries import Query
from longhouse.store.tx import Tx

__all__ = ["reindex"]

_PAGE = 500


@room.rebuilds
def reindex(tx: Tx) -> None:
    """Index every entry and node of a workspace, whatever its index has."""
    tx.run(sql.words_clear)
    _words_of(tx, sql.entries_from, lambda row: (row["title"], row["content"]))
    _words_of(tx, sql.nodes_from, lambda row: (row["key"], row["title"], row["text"]))


def _words_of(tx: Tx, page: Query, texts: Callable[[Row], tuple[str | None, ...]]) -> None:
    after = 0
    while rows := tx.all(page, after=after, limit=_PAGE):
        after = rows[-1]["seq"]
        tx.many(
            sql.words_add,
            [{"seq": row["seq"], "words": indexed(row["doc_id"], texts(row))} for row in rows],
        )
