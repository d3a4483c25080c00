"""A query in plain words: which words count, which must be there, which must not.

Quoted words must follow one another, `-word` must be absent, `word*` is a prefix. Stop words decide
nothing unless there is nothing else. Whatever else is typed is words; nothing is a syntax error.
"""

from __future__ import annotations

import re
from itertools import islice, pairwise
from typing import NamedTuple

from longhouse.kernel.errors import InvalidInput
from longhouse.store.recall.stems import stem
from longhouse.store.recall.synonyms import synonyms
from longhouse.store.recall.words import STOP, folded, terms, wanted, wholes

__all__ = ["SearchQuery", "Word", "parsed"]

_PIECE = re.compile(r'(?<!\S)(-?)"([^"]*)"|(\S+)')
_BARE = re.compile(r"[^\W_]")
_MOST = 24
_MOST_PIECES = 400
_MOST_CHARS = 20_000
_MOST_DROPPED = 40
_TOGETHER = 0.9
_ALIKE = 0.5
"""How much a word that means about the same counts for."""


class Word(NamedTuple):
    """One word of a query: the terms that satisfy it, each with a weight.

    An `extra` one, like an identifier as a whole, counts if it is there and is not missed if not.
    """

    shown: str
    terms: tuple[tuple[str, float], ...]
    prefix: str | None = None
    extra: bool = False


class SearchQuery(NamedTuple):
    """A query: its words, phrases that must be there, words that must not, and those left out."""

    words: tuple[Word, ...]
    phrases: tuple[tuple[str, ...], ...]
    excluded: tuple[Word, ...]
    dropped: tuple[str, ...]


def parsed(text: str) -> SearchQuery:
    """The query in this text, or InvalidInput if it holds no word to look for.

    Of a very long text only the beginning counts: it is a paste, not a question.
    """
    text = text[:_MOST_CHARS]
    found: dict[str, Word] = {}
    excluded: dict[str, Word] = {}
    phrases: list[tuple[str, ...]] = []
    dropped: dict[str, None] = {}
    whole = text if text.count('"') % 2 == 0 else _unquoted(text)
    for match in islice(_PIECE.finditer(whole), _MOST_PIECES):
        quoted, bare = match[2], match[3]
        if quoted is not None:
            phrase = tuple(word for word, _ in (wanted(quoted) or _NONE).terms)
            _take(quoted, excluded if match[1] else found, {} if match[1] else dropped)
            if len(phrase) > 1 and not match[1]:
                phrases.append(phrase)
        elif bare.startswith("-") and not bare.startswith("--") and _BARE.search(bare):
            _take(bare[1:], excluded, {})
        else:
            _take(bare, found, dropped)
    if not found and dropped:  # only stop words: then they are what is asked for
        found = {word: Word(word, ((word, 1.0),)) for word in dropped}
        dropped = {}
    if not found:
        raise InvalidInput(
            "text: expected at least one word to look for",
            recovery='pass words, like text="cache key"; -word only leaves something out',
        )
    words = _joined(text, list(found.values()))
    dropped.update(dict.fromkeys(word.shown for word in words[_MOST:]))
    return SearchQuery(
        tuple(words[:_MOST]),
        tuple(phrases[:8]),
        tuple(excluded.values())[:_MOST],
        tuple(dropped)[:_MOST_DROPPED],
    )


def _joined(text: str, words: list[Word]) -> list[Word]:
    """`log in` also finds `login`, and `train` also finds `retrain`."""
    typed = _words(folded(text))
    after = dict(pairwise(typed))
    made = []
    for word in words:
        more = []
        if word.shown in after and not word.extra and len(word.shown) > 2:
            more.append((stem(word.shown + after[word.shown]), _TOGETHER))
        for term, weight in word.terms[:1]:
            other = term[2:] if term.startswith("re") and len(term) > 5 else f"re{term}"
            more.append((other, weight * _ALIKE))
        made.append(word if word.extra else word._replace(terms=(*word.terms, *more)))
    return made


class _None(NamedTuple):
    terms: tuple[tuple[str, bool], ...] = ()


_NONE = _None()


def _unquoted(text: str) -> str:
    """A lone quotation mark is just a character."""
    at = text.rindex('"')
    return text[:at] + " " + text[at + 1 :]


def _take(piece: str, into: dict[str, Word], dropped: dict[str, None]) -> None:
    prefix = re.fullmatch(r"\W*([^\W_]{2,})\*\W*", piece)
    if prefix:
        start = folded(prefix[1])[:64]
        into.setdefault(f"{start}*", Word(f"{start}*", (), prefix=start))
        return
    plain = folded(piece)
    whole = set(wholes(plain.strip(".,;:!?()[]{}<>'\"`")))
    typed = _words(plain)
    spelled = {stem(word): word for word in reversed(typed)}
    for term in islice(dict.fromkeys(term for term, _ in terms(piece)), _MOST_PIECES):
        extra = term in whole
        shown = spelled.get(term, term)
        alike = () if extra else tuple((stem(one), _ALIKE) for one in synonyms(shown))
        made = Word(shown, ((term, 1.0), *(a for a in alike if a[0] != term)), extra=extra)
        into.setdefault(term, made)
    dropped.update(dict.fromkeys(word for word in typed if word in STOP))


def _words(plain: str) -> list[str]:
    return [word for word, _ in (wanted(plain) or _NONE).terms]
