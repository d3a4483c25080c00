"""Reading the index: the documents of a term, newest first, and those that several terms share.

Every read is bounded: a reader loads a limited number of blocks and says whether that was enough.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import msgspec

from longhouse.kernel.effort import spend
from longhouse.store.recall.index import ENDLESS, mark, sql
from longhouse.store.recall.postings import unpacked
from longhouse.store.tx import Tx

__all__ = ["ALL", "Postings", "Reader", "Union", "shared"]

ALL = mark("all")
_MOST_TERMS = 64


class Postings(NamedTuple):
    """Some documents of a term, in ascending order, and their bytes."""

    seqs: list[int]
    said: bytes


class Reader:
    """The index of a workspace as one transaction sees it."""

    def __init__(self, tx: Tx) -> None:
        self.tx = tx
        rows = tx.all(sql.fresh_all)
        spend(sum(len(row["terms"]) for row in rows) // 16)
        self._fresh = [(row["seq"], row["terms"]) for row in rows]
        state = tx.one(sql.state_now)
        self.docs = (state["docs"] if state else 0) + len(rows)
        self.words = (state["words"] if state else 0) + sum(r["terms"].count(b"\t") for r in rows)
        self.todo: str | None = state["todo"] if state else None
        self.loaded = 0

    def fresh(self, term: str) -> Postings:
        """The documents of a term that are not folded yet."""
        looked_for = b"\n%s\t" % term.encode()
        seqs: list[int] = []
        said = bytearray()
        for seq, terms in self._fresh:
            at = terms.find(looked_for)
            if at < 0:
                continue
            byte = int(terms[at + len(looked_for) : at + len(looked_for) + 2], 16)
            if seqs and seqs[-1] == seq:
                said[-1] |= byte
            else:
                seqs.append(seq)
                said.append(byte)
        return Postings(seqs, bytes(said))

    def holds(self, term: str) -> bool:
        """Whether any document has the term."""
        return bool(self.fresh(term).seqs or self.tx.value(sql.has_term, term=term))

    def newest(self, terms: Sequence[str], before: int, limit: int) -> list[list[dict[str, Any]]]:
        """The newest stored blocks of each term, as rows."""
        asked = [
            self.tx.ask(sql.blocks_before, term=term, before=before, limit=limit) for term in terms
        ]
        answers = self.tx.answers(asked) if asked else []
        self.count(sum(len(rows) for rows in answers))
        return answers

    def count(self, blocks: int) -> None:
        self.loaded += blocks
        spend(blocks * 300)

    def starting(self, prefix: str, limit: int = _MOST_TERMS) -> list[str]:
        """Terms that start with a prefix, in order."""
        rows = self.tx.all(sql.terms_from, low=prefix, high=prefix + "\U0010ffff", limit=limit)
        return self._and_fresh(prefix, {row["term"] for row in rows})[:limit]

    def alike(self, start: str, length: int, by: int, limit: int) -> list[str]:
        """Terms with the same start and about the same length."""
        rows = self.tx.all(
            sql.terms_alike,
            low=start,
            high=start + "\U0010ffff",
            short=length - by,
            long=length + by,
            limit=limit,
        )
        return self._and_fresh(start, {row["term"] for row in rows})

    def _and_fresh(self, prefix: str, found: set[str]) -> list[str]:
        looked_for = b"\n" + prefix.encode()
        for _, terms in self._fresh:
            at = terms.find(looked_for)
            while at >= 0:
                found.add(terms[at + 1 : terms.index(b"\t", at)].decode())
                at = terms.find(looked_for, at + 1)
        return sorted(found)


class Union:
    """The documents of any of several terms, read downwards."""

    def __init__(self, reader: Reader, terms: Iterable[str]) -> None:
        self._parts = [_Cursor(reader, term) for term in terms]

    def seek(self, seq: int) -> int:
        """The highest document at or below `seq`; -1 if there is none."""
        return max((part.seek(seq) for part in self._parts), default=-1)


class _Cursor:
    def __init__(self, reader: Reader, term: str) -> None:
        self._reader = reader
        self._term = term
        self._seqs = reader.fresh(term).seqs
        self._low = self._seqs[0] if self._seqs else ENDLESS
        self._end = False

    def seek(self, seq: int) -> int:
        while True:
            at = bisect_right(self._seqs, seq)
            if at:
                return self._seqs[at - 1]
            if self._end:
                return -1
            rows = self._reader.newest([self._term], min(seq + 1, self._low), 2)[0]
            self._end = len(rows) < 2
            held: list[int] = []
            for row in rows:
                held = unpacked(row["first"], row["postings"])[0] + held
            self._seqs, self._low = held, rows[-1]["first"] if rows else 0


def shared(
    reader: Reader, unions: Sequence[Union], before: int, most_blocks: int
) -> Iterator[tuple[int, bool]]:
    """Documents below `before` that all unions hold, newest first.

    Ends with (seq, False) if it stopped at that seq because it had loaded enough.
    """
    at = before - 1
    until = reader.loaded + most_blocks
    while at >= 0:
        low = at
        for union in unions:
            low = union.seek(low)
            if low < 0:
                return
        if low == at or all(union.seek(low) == low for union in unions):
            yield low, True
            at = low - 1
        else:
            at = low
        if reader.loaded > until:
            yield low, False
            return


def within(seqs: list[int], low: int, high: int) -> slice:
    """Where the seqs above `low` and below `high` are."""
    return slice(bisect_right(seqs, low), bisect_left(seqs, high))


def as_json(values: Any) -> str:
    return msgspec.json.encode(values).decode()
