"""Ranking: which documents answer a query best, from the index alone.

BM25 over fields: each document has a byte per term that says where and how often it occurs. The
weight of a word is what it says in this workspace. At most `MOST_BLOCKS` blocks are read per query,
those of rare words first; of frequent words only the newest documents are considered.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from longhouse.kernel.effort import spend
from longhouse.store.recall.asking import SearchQuery, Word
from longhouse.store.recall.index import EXTRA, TITLE
from longhouse.store.recall.postings import BLOCK, unpacked
from longhouse.store.recall.reading import Reader, Union, shared, within
from longhouse.store.recall.words import STOP

__all__ = ["Candidates", "Weighed", "candidates", "weigh"]

MOST_BLOCKS = 40
FEWEST_BLOCKS = 4
_MOST_SHARED = 96
_SHARED_BLOCKS = 32
_MOST_ALLOWED = 8_192
_MOST_TAKEN = 300
K1, B = 1.2, 0.5
IN_TITLE, IN_EXTRA = 2.0, 1.5
_LENGTHS = (4, 11, 23, 47, 95, 190, 380, 800)


class Weighed(NamedTuple):
    """A word of the query with what it is worth here: its terms, and in how many documents."""

    word: Word
    terms: tuple[tuple[str, float], ...]
    found: int
    idf: float


class Candidates(NamedTuple):
    """Documents with scores, best first, and the words of which only the newest were read."""

    ranked: list[tuple[int, float]]
    bounded: list[str]


def weigh(reader: Reader, words: Sequence[Word], before: int) -> list[Weighed]:
    """Each word with its terms in this workspace's index, and its weight."""
    terms = [_terms_of(reader, word) for word in words]
    flat = list(dict.fromkeys(term for some in terms for term, _ in some))
    rows = dict(zip(flat, reader.newest(flat, before, 1), strict=True))
    counts = {
        term: (rows[term][0]["total"] if rows[term] else 0) + len(reader.fresh(term).seqs)
        for term in flat
    }
    made = []
    for word, some in zip(words, terms, strict=True):
        held = tuple((term, weight) for term, weight in some if counts[term])
        # An alternative is no rarer than the word itself: else `db` would outweigh `database`.
        own = sum(counts[term] for term, weight in held if weight == 1.0)
        found = own or sum(counts[term] for term, _ in held)
        made.append(Weighed(word, held, found, _idf(reader.docs, found)))
    return made


def _terms_of(reader: Reader, word: Word) -> tuple[tuple[str, float], ...]:
    if word.prefix is None:
        return word.terms
    return tuple((term, 1.0) for term in starting(reader, word.prefix))


def starting(reader: Reader, prefix: str) -> list[str]:
    """The terms that words with this prefix may have; a stem can be shorter than the prefix."""
    from longhouse.store.recall.stems import stem

    found = dict.fromkeys(reader.starting(prefix))
    found.update(dict.fromkeys(reader.starting(stem(prefix))))
    found.update((prefix[:at], None) for at in range(3, len(prefix)))
    return list(found)


def _idf(docs: int, found: int) -> float:
    return math.log(1 + (max(docs, found) - found + 0.5) / (found + 0.5))


def candidates(
    reader: Reader,
    asked: SearchQuery,
    weighed: Sequence[Weighed],
    *,
    before: int,
    after: int,
    marks: Sequence[Sequence[str]] = (),
) -> Candidates:
    """The best documents above `after` and below `before`, by the index."""
    allowed = _allowed(reader, marks, before)
    out = _excluded(reader, asked.excluded, before)
    average = max(8.0, reader.words / max(1, reader.docs) - 3)
    scores: dict[int, float] = {}
    bounded = []
    left = MOST_BLOCKS
    rarest_first = sorted((w for w in weighed if w.terms), key=lambda w: (w.found, w.word.shown))
    for one in rarest_first:
        share = max(FEWEST_BLOCKS, left // 2)
        best: dict[int, float] = {}
        for term, weight in one.terms:
            rows = reader.newest([term], before, share)[0]
            left -= len(rows)
            if len(rows) == share and rows[-1]["total"] > BLOCK and weight == 1.0:
                bounded.append(one.word.shown)
            table = _table(one.idf * weight * (0.5 if one.word.extra else 1.0), average)
            blocks = [unpacked(row["first"], row["postings"]) for row in rows]
            fresh = reader.fresh(term)
            for seqs, said in (*blocks, (fresh.seqs, fresh.said)):
                part = within(seqs, after, before)
                spend(len(seqs) * 2)
                for seq, byte in zip(seqs[part], said[part], strict=True):
                    score = table[byte]
                    if score > best.get(seq, 0.0):
                        best[seq] = score
        for seq, score in best.items():
            scores[seq] = scores.get(seq, 0.0) + score
    if bounded:
        _with_all(reader, rarest_first, before, after, scores)
    if allowed is not None:  # few enough to be judged by what they say
        near = [seq for seq in sorted(allowed, reverse=True) if after < seq < before]
        for seq in near[:_MOST_TAKEN]:
            scores.setdefault(seq, 0.0)
    found = [
        (seq, score)
        for seq, score in scores.items()
        if seq not in out and (allowed is None or seq in allowed)
    ]
    found.sort(key=lambda one: (-one[1], -one[0]))
    return Candidates(found, list(dict.fromkeys(bounded)))


def _table(idf: float, average: float) -> list[float]:
    """What a term is worth for each byte."""
    made = [0.0]
    for byte in range(1, 256):
        times = float((byte >> 3) & 7)
        times += (IN_TITLE if byte & TITLE else 0) + (IN_EXTRA if byte & EXTRA else 0)
        norm = K1 * (1 - B + B * _LENGTHS[byte & 7] / average)
        made.append(idf * (K1 + 1) * times / (norm + times) if times else 0.0)
    return made


def _with_all(
    reader: Reader, weighed: list[Weighed], before: int, after: int, scores: dict[int, float]
) -> None:
    """Add the newest documents that hold every word, which a bounded look may have missed."""
    needed = [w for w in weighed if not w.word.extra]
    unions = [Union(reader, (term for term, _ in one.terms)) for one in needed]
    enough = sum(one.idf for one in weighed)
    for number, (seq, whole) in enumerate(shared(reader, unions, before, _SHARED_BLOCKS)):
        if seq <= after or not whole or number >= _MOST_SHARED:
            return
        scores[seq] = max(scores.get(seq, 0.0), enough)


def _allowed(reader: Reader, marks: Sequence[Sequence[str]], before: int) -> set[int] | None:
    """The documents with all of these marks, if one of them is rare enough to tell."""
    found: set[int] | None = None
    for some in marks:
        held: set[int] | None = set()
        for term in some:
            rows = reader.newest([term], before, _MOST_ALLOWED // BLOCK + 1)[0]
            if held is None or len(rows) > _MOST_ALLOWED // BLOCK:
                held = None  # too many to tell here: the documents themselves decide
                break
            for row in rows:
                held.update(unpacked(row["first"], row["postings"])[0])
            held.update(reader.fresh(term).seqs)
        if held is not None:
            found = held if found is None else found & held
    return found


def _excluded(reader: Reader, words: Sequence[Word], before: int) -> set[int]:
    found: set[int] = set()
    for word in words:
        for term, weight in _terms_of(reader, word):
            if weight == 1.0 and term not in STOP:
                for row in reader.newest([term], before, FEWEST_BLOCKS)[0]:
                    found.update(unpacked(row["first"], row["postings"])[0])
                found.update(reader.fresh(term).seqs)
    return found
