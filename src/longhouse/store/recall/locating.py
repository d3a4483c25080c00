"""Locating words: the seqs whose documents may hold all words of a query, newest first.

Stems and prefixes are coarser than words, so the caller checks the text of what is located.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from longhouse.kernel.errors import InvalidInput
from longhouse.store.recall.index import mark
from longhouse.store.recall.ranking import starting
from longhouse.store.recall.reading import ALL, Reader, Union, shared
from longhouse.store.recall.stems import stem
from longhouse.store.recall.words import STOP, Wanted, wanted
from longhouse.store.tx import Tx

__all__ = ["ask", "located", "newest_with"]

_ENDLESS_BLOCKS = 2**40


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
    """The newest seqs below `before` that may match, in one document or in all of them."""
    return list(islice(located(Reader(tx), query, before=before, doc_id=doc_id), limit))


def located(
    reader: Reader, query: Wanted, *, before: int, doc_id: int | None = None
) -> Iterator[int]:
    """The seqs below `before` that may match, newest first."""
    terms = [
        starting(reader, word) if start else [stem(word)]
        for word, start in query.terms
        if start or word not in STOP
    ]
    if doc_id is not None:
        terms.append([mark("doc", str(doc_id))])
    unions = [Union(reader, some) for some in terms or [[ALL]]]
    for seq, _ in shared(reader, unions, before, _ENDLESS_BLOCKS):
        yield seq
