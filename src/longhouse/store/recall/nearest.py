"""The nearest words that do exist, for words found nowhere."""

from __future__ import annotations

from longhouse.store.recall.reading import Reader
from longhouse.store.recall.stems import stem

__all__ = ["nearest_terms"]

_MOST_TERMS = 8_000


def nearest_terms(reader: Reader, word: str, limit: int = 3) -> list[str]:
    """Terms of the index at most two edits away (one for short words), nearest first."""
    if not (4 <= len(word) <= 32 and word.isalpha()):
        return []
    most = 1 if len(word) < 6 else 2
    target = stem(word)
    found: dict[str, int] = {}
    for start in sorted({target[0], target[1]}):
        for term in reader.alike(start, len(target), most, _MOST_TERMS):
            if abs(len(term) - len(target)) <= most and term not in found and term.isalpha():
                far = min(_edits(target, term, most), _edits(word, term, most))
                if far <= most:
                    found[term] = far
    return sorted(found, key=lambda term: (found[term], term))[:limit]


def _edits(one: str, other: str, most: int) -> int:
    """How many letters to add, drop, change or swap; more than `most` is not counted further."""
    before: list[int] = []
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, start=1):
        new = [i]
        for j, b in enumerate(other, start=1):
            cost = min(row[j] + 1, new[j - 1] + 1, row[j - 1] + (a != b))
            if before and i > 1 and j > 1 and a == other[j - 2] and one[i - 2] == b:
                cost = min(cost, before[j - 2] + 1)
            new.append(cost)
        if min(new) > most:
            return most + 1
        before, row = row, new
    return row[-1]
