"""`verify`: the index finds what the tables hold."""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.store.engine import Row
from longhouse.store.recall.folding import ALL
from longhouse.store.recall.index import Text, bytes_of
from longhouse.store.recall.postings import unpacked
from longhouse.store.recall.reading import Reader
from longhouse.store.recall.rebuilding import EVERYTHING, texts_of, todo_of
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
    rows: list[int] = []
    for one in tx.facts.registry.searchables:
        if one.by_seq:
            after = 0
            while page := [*one.rows(tx, after, _PAGE)]:
                rows += page
                after = page[-1]
    things = [*_things(tx)]
    missing = sorted(set(rows) - held)
    if missing:
        yield f"{len(missing)} documents are not in the search index, the first at {missing[0]}"
    rows = sorted(set(rows) & held)
    rows = rows[:: max(1, len(rows) // _MOST_READ)]
    for at in range(0, len(rows), _PAGE):
        texts = texts_of(tx, rows[at : at + _PAGE], things=False)
        yield from _compared(tx, reader, [(text, {text.seq}) for text in texts])
    yield from _told(tx, reader, things)


def _told(tx: Tx, reader: Reader, things: list[Row]) -> Iterator[str]:
    """A thing is found by everything it says, wherever it said it."""
    for one in tx.facts.registry.searchables:
        if one.by_seq:
            continue
        places: dict[str, set[int]] = {}
        for row in things:
            if row["kind"] == one.kind:
                places.setdefault(row["key"], set()).add(row["seq"])
        after = ""
        while page := [*one.rows(tx, after, _PAGE)]:
            after = page[-1][0]
            if lost := next((key for key, _ in page if key not in places), None):
                yield f"{one.kind} {lost} is not in the search index"
            keys = [key for key, _ in page if key in places]
            read = one.read(tx, keys, EVERYTHING)
            texts = [(d.text(max(places[d.id])), places[d.id]) for d in read if d.id]
            yield from _compared(tx, reader, texts)


def _things(tx: Tx) -> Iterator[Row]:
    after = 0
    while page := tx.all(sql.things_from, after=after, upto=2**62, limit=_PAGE):
        yield from page
        after = page[-1]["seq"]


def _compared(tx: Tx, reader: Reader, texts: list[tuple[Text, set[int]]]) -> Iterator[str]:
    """Terms that are at none of the places where the index should have them."""
    by_term: dict[str, list[set[int]]] = {}
    for text, places in texts:
        for term in bytes_of(text):
            by_term.setdefault(term, []).append(places)
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
