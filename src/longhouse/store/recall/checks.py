"""`verify`: the index finds what the tables hold."""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.store.recall.documents import Document
from longhouse.store.recall.folding import ALL
from longhouse.store.recall.index import bytes_of
from longhouse.store.recall.postings import unpacked
from longhouse.store.recall.reading import Reader
from longhouse.store.recall.rebuilding import documents_at, todo_of
from longhouse.store.recall.room import room, sql
from longhouse.store.tx import Tx

__all__ = ["differences"]

_PAGE = 300
_MOST_READ = 3_000
"""How many documents are compared word by word; of a larger store, every nth."""


@room.check("the search index holds what the tables hold")
def differences(tx: Tx) -> Iterator[str]:
    if todo_of(tx) is not None:
        return
    reader = Reader(tx)
    held = _documents(reader, ALL)
    rows: set[int] = set()
    for one in tx.facts.registry.searchables:
        after = 0
        while page := [*one.rows(tx, after, _PAGE)]:
            rows.update(page)
            after = page[-1]
    ordered = sorted(rows)
    every = max(1, len(ordered) // _MOST_READ)
    for at in range(0, len(ordered), _PAGE):
        found = documents_at(tx, ordered[at : at + _PAGE])
        lost = [one for one in found if not held & {one.seq, *one.places}]
        if lost:
            yield f"{len(lost)} texts are not in the search index, the first is {lost[0].ref}"
        yield from _compared(tx, reader, [one for one in found if one not in lost][::every])


def _compared(tx: Tx, reader: Reader, documents: list[Document]) -> Iterator[str]:
    """Terms that are at none of the places where the index should have them."""
    by_term: dict[str, list[set[int]]] = {}
    for one in documents:
        for term in bytes_of(one.text()):
            by_term.setdefault(term, []).append({one.seq, *one.places})
    for term, wanted in by_term.items():
        held = set(reader.fresh(term).seqs)
        low, high = min(map(min, wanted)), max(map(max, wanted))
        for row in tx.all(sql.blocks_between, term=term, low=low, high=high):
            held.update(unpacked(row["first"], row["postings"])[0])
        if lost := next((places for places in wanted if not places & held), None):
            yield f"the search index does not know {term!r} at {min(lost)}"


def _documents(reader: Reader, term: str) -> set[int]:
    found = set(reader.fresh(term).seqs)
    before = 2**62
    while rows := reader.newest([term], before, 64)[0]:
        for row in rows:
            found.update(unpacked(row["first"], row["postings"])[0])
        before = rows[-1]["first"]
    return found
