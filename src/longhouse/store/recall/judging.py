"""Judging a document by its text: whether it really answers, how well, and which sentence says so.

The index proposes, the text decides: words that were edited away, or that are hidden from the
caller, do not count. Words that stand close together count for more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from longhouse.kernel.effort import spend
from longhouse.kernel.lines import one_line
from longhouse.kernel.redact import redact_text
from longhouse.kernel.trim import clip_text
from longhouse.store.recall.asking import SearchQuery
from longhouse.store.recall.documents import Document
from longhouse.store.recall.ranking import IN_EXTRA, IN_TITLE, K1, B, Weighed
from longhouse.store.recall.words import clean, folded, terms, words

__all__ = ["Judge", "Judged", "in_full"]

_MOST_CHARS = 20_000
_WHOLE = 120_000
_NEAR = 24
_CLOSE = 0.5
_RECENT = 0.06
_GONE = 0.55
_SENTENCE = re.compile(r"(?<=[.!?。])\s+|\n+")
_WORDS = re.compile(r"[^\W_]+")


class Judged(NamedTuple):
    """A document, how well it answers, whether it has every word, and which words it has."""

    document: Document
    score: float
    whole: bool
    matched: tuple[str, ...]
    beside: str | None = None
    """The ref of a better hit just before or after it, which raised its score."""


class Judge:
    """Judges documents by one query."""

    def __init__(
        self, asked: SearchQuery, weighed: Sequence[Weighed], average: float, last_seq: int
    ) -> None:
        self._asked = asked
        self._weighed = weighed
        self._average = average
        self._last = max(1, last_seq)
        self._wanted: dict[str, list[tuple[int, float]]] = {}
        for at, one in enumerate(weighed):
            for term, weight in one.terms:
                self._wanted.setdefault(term, []).append((at, weight))
        self._needed = sum(not one.word.extra for one in weighed)
        self._most = sum(one.idf for one in weighed if not one.word.extra) or 1.0
        self._out = frozenset(term for word in asked.excluded for term, w in word.terms if w == 1.0)

    @property
    def is_strict(self) -> bool:
        """Whether the query says what must or must not be there."""
        asked = self._asked
        return bool(asked.phrases or asked.excluded or any(word.prefix for word in asked.words))

    def judge(self, document: Document) -> Judged | None:
        """How well a document answers; None if it does not."""
        body = document.body or ""
        made = self._judged(document, body[:_MOST_CHARS])
        if made is None and len(body) > _MOST_CHARS:
            made = self._judged(document, body[:_WHOLE])
        return made

    def _judged(self, document: Document, body: str) -> Judged | None:
        title = clean(document.title)
        body = clean(body)
        extra = clean(" ".join([*document.ids, *document.tags, document.author or ""]))
        spend(len(title) + len(body))
        held = terms(title), terms(body), terms(extra)
        if self._out and any(term in self._out for part in held for term, _ in part):
            return None
        if not self._allowed(title, body, extra):
            return None
        length = len(held[0]) + len(held[1])
        norm = K1 * (1 - B + B * max(4, length) / self._average)
        times: dict[tuple[int, float], float] = {}
        places: list[tuple[int, int]] = []
        for part, worth in zip(held, (IN_TITLE, 1.0, IN_EXTRA), strict=True):
            for term, at in part:
                for word, weight in self._wanted.get(term, ()):
                    key = (word, weight)
                    times[key] = times.get(key, 0.0) + worth
                    if part is not held[2]:
                        places.append((at - 1_000 if part is held[0] else at, word))
        best: dict[int, float] = {}
        for (word, weight), count in times.items():
            one = self._weighed[word]
            score = one.idf * weight * (K1 + 1) * count / (norm + count)
            best[word] = max(best.get(word, 0.0), score * (0.5 if one.word.extra else 1.0))
        if not best:
            return None
        matched = [self._weighed[word].word for word in sorted(best)]
        score = sum(best[word] for word in sorted(best))
        score *= 1 + _CLOSE * self._closeness(places)
        score *= document.trust * (1 + _RECENT * document.seq / self._last)
        if document.gone and not document.instead:  # else what replaced it comes first
            score *= _GONE
        return Judged(
            document,
            score,
            sum(not word.extra for word in matched) == self._needed,
            tuple(dict.fromkeys(word.shown for word in matched)),
        )

    def _allowed(self, *texts: str) -> bool:
        """Whether prefixes and phrases are there as words, not only as stems."""
        prefixes = [one.word.prefix for one in self._weighed if one.word.prefix]
        if prefixes:
            held = words(*texts)
            if not all(any(word.startswith(prefix) for word in held) for prefix in prefixes):
                return False
        for phrase in self._asked.phrases:
            looked_for = f" {' '.join(phrase)} "
            if not any(looked_for in f" {' '.join(in_full(text))} " for text in texts):
                return False
        return True

    def _closeness(self, places: list[tuple[int, int]]) -> float:
        """The share of the query, by weight, that stands within a few words of each other."""
        places.sort()
        best = now = 0.0
        count: dict[int, int] = {}
        start = 0
        for at, word in places:
            count[word] = count.get(word, 0) + 1
            if count[word] == 1:
                now += self._share(word)
            while at - places[start][0] > _NEAR:
                left = places[start][1]
                count[left] -= 1
                if not count[left]:
                    now -= self._share(left)
                start += 1
            best = max(best, now)
        return min(1.0, best / self._most)

    def _share(self, word: int) -> float:
        one = self._weighed[word]
        return 0.0 if one.word.extra else one.idf

    def lacking(self, one: Judged, other: Judged) -> float:
        """The share of what `other` answers, by weight, that `one` does not answer itself."""
        worth = {each.word.shown: each.idf for each in self._weighed if not each.word.extra}
        said = [worth.get(word, 0.0) for word in other.matched]
        lacks = [worth.get(word, 0.0) for word in other.matched if word not in one.matched]
        return sum(lacks) / sum(said) if sum(said) else 0.0

    def sentence(self, document: Document, chars: int) -> str:
        """The sentence with most of what was asked, safe to show."""
        body = document.body or ""
        shown = redact_text(body[:_WHOLE])  # first: a clipped secret might not be recognized
        spend(len(shown))
        best, found = -1.0, ""
        looked_at = 0
        for sentence in _SENTENCE.split(shown):
            if looked_at > _MOST_CHARS and best > 0:
                break
            looked_at += len(sentence)
            worth = self._worth(term for term, _ in terms(sentence))
            if worth > best and sentence.strip():
                best, found = worth, sentence
        return clip_text(one_line(self._middle(found, chars)), chars)

    def _worth(self, held: Iterable[str]) -> float:
        best: dict[int, float] = {}
        for term in held:
            for word, weight in self._wanted.get(term, ()):
                best[word] = max(best.get(word, 0.0), self._weighed[word].idf * weight)
        return sum(best.values())

    def _middle(self, sentence: str, chars: int) -> str:
        """A long sentence from shortly before the first word that was asked for."""
        if len(sentence) <= chars:
            return sentence
        for match in _WORDS.finditer(sentence):
            if any(term in self._wanted for term, _ in terms(match[0])):
                start = max(0, match.start() - chars // 3)
                return ("… " if start else "") + sentence[start : start + 2 * chars]
        return sentence


def in_full(text: str) -> list[str]:
    """All words of a text in order, for phrases."""
    return _WORDS.findall(folded(text))
