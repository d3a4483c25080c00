"""The words of a text, cut alike for every database: what is indexed and what a query asks for.

A word is a compatibility-folded, case-folded run of letters and digits; scripts written without
spaces give one word per character. It is indexed by its stem. Identifiers and paths are indexed
whole and by part. Secrets are cut out first, so no search can probe for what answers redact.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from longhouse.kernel.redact import is_suspect, redact_text
from longhouse.kernel.values import Value
from longhouse.store.recall.stems import stem

__all__ = ["STOP", "Wanted", "clean", "folded", "terms", "wanted", "wholes", "words"]

_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+"
_ASKED = rf"({_WORD})(\*)?"
_CHUNK = r"[^\W_]+(?:[_./:\\@#+\-]{1,3}[^\W_]+)*"
_WIDE_CHUNK = _CHUNK.replace(r"[^\W_]+", rf"(?:[^\W_]|[{_UNSPACED}])+")
_HUMP = r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+"
_LONGEST = 64
_MOST_CHARS = 120_000
_MOST_ASKED = 16
_MOST_PARTS = 24

STOP = frozenset(
    [
        "a",
        "about",
        "above",
        "after",
        "again",
        "against",
        "all",
        "also",
        "am",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "before",
        "being",
        "below",
        "between",
        "both",
        "but",
        "by",
        "can",
        "could",
        "d",
        "did",
        "do",
        "does",
        "doing",
        "don",
        "down",
        "during",
        "each",
        "else",
        "ever",
        "every",
        "few",
        "for",
        "from",
        "further",
        "get",
        "gets",
        "had",
        "has",
        "have",
        "having",
        "he",
        "her",
        "here",
        "hers",
        "him",
        "his",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "itself",
        "just",
        "ll",
        "m",
        "may",
        "me",
        "might",
        "more",
        "most",
        "much",
        "many",
        "must",
        "my",
        "no",
        "nor",
        "not",
        "now",
        "of",
        "off",
        "on",
        "once",
        "only",
        "or",
        "other",
        "our",
        "ours",
        "out",
        "over",
        "own",
        "per",
        "please",
        "re",
        "s",
        "same",
        "shall",
        "she",
        "should",
        "so",
        "some",
        "such",
        "t",
        "than",
        "that",
        "the",
        "their",
        "theirs",
        "them",
        "then",
        "there",
        "these",
        "they",
        "this",
        "those",
        "through",
        "to",
        "too",
        "under",
        "until",
        "up",
        "us",
        "ve",
        "very",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "while",
        "who",
        "whom",
        "whose",
        "why",
        "will",
        "with",
        "would",
        "yet",
        "you",
        "your",
        "yours",
    ]
)
"""Words that say nothing about what a text is about; they are not indexed."""


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compiled on first use, because compiling takes as long as starting Python."""
    return re.compile(text)


class Wanted(Value, frozen=True, kw_only=True):
    """Words that a text must hold, and whether each is a prefix."""

    terms: tuple[tuple[str, bool], ...]

    def matches(self, *texts: str | None) -> bool:
        """Whether these texts together hold every word."""
        held = set(words(*texts))
        return all(
            any(word.startswith(term) for word in held) if start else term in held
            for term, start in self.terms
        )


def words(*texts: str | None) -> list[str]:
    """The distinct words of the texts, in order of appearance, up to a total length."""
    found: dict[str, None] = {}
    chars = 0
    for match in _pattern(_WORD).finditer(folded(clean(*texts))):
        word = match[0][:_LONGEST]
        if word in found:
            continue
        chars += len(word) + 1
        if chars > _MOST_CHARS:
            break
        found[word] = None
    return list(found)


def wanted(query: str) -> Wanted | None:
    """The query as words that must all be there, or None if it holds no word."""
    found = dict.fromkeys(
        (match[1][:_LONGEST], bool(match[2])) for match in _pattern(_ASKED).finditer(folded(query))
    )
    return Wanted(terms=tuple(found)[:_MOST_ASKED]) if found else None


def clean(*texts: str | None) -> str:
    """The texts as one, without secrets."""
    whole = "\n".join(text for text in texts if text)
    if is_suspect(whole.encode(errors="surrogatepass")):
        whole = "\n".join(redact_text(text, instead=" ") for text in texts if text)
    return whole


def folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def terms(text: str) -> list[tuple[str, int]]:
    """Each term of a text that is clean already, with the number of the word it belongs to.

    Stop words count, but give no term. The terms of an identifier have the numbers of its parts:
    `expire_cookie` gives (expir, 4), (cooki, 5) and (expirecooki, 5).
    """
    if text.isascii():
        chunks = _pattern(_CHUNK).findall(text)
    else:
        chunks = _pattern(_WIDE_CHUNK).findall(unicodedata.normalize("NFKC", text))
    found = []
    at = 0
    for chunk in chunks:
        known = _cut.get(chunk)
        if known is None:
            known = _keep(chunk)
        for term, off in known[0]:
            found.append((term, at + off))
        at += known[1]
    return found


_Cut = tuple[tuple[tuple[str, int], ...], int]
_cut: dict[str, _Cut] = {}
_KEPT = 60_000


def _keep(chunk: str) -> _Cut:
    """The terms of one chunk and how many words it has; most chunks occur again and again."""
    low = chunk.lower()
    if low.isalpha() and low.isascii():
        made = [] if low in STOP else [(stem(low[:_LONGEST]), 0)]
        if chunk != low and not chunk.istitle() and not chunk.isupper():
            made += _humps(chunk)
        width = 1
    else:
        made = list(_compound(chunk))
        width = max(1, len(_pattern(_WORD).findall(chunk)))
    cut = tuple(dict.fromkeys(made)), width
    if len(chunk) <= _LONGEST:
        if len(_cut) >= _KEPT:
            _cut.clear()  # a hostile text may hold any number of words
        _cut[chunk] = cut
    return cut


def _humps(part: str) -> list[tuple[str, int]]:
    """The words in `expireCookie`."""
    found = _pattern(_HUMP).findall(part[:_LONGEST])[:_MOST_PARTS]
    if len(found) < 2:
        return []
    return [(stem(one.lower()), 0) for one in found if one.lower() not in STOP]


def _compound(chunk: str) -> Iterable[tuple[str, int]]:
    """The terms of something with digits, connecting characters or letters beyond ASCII."""
    plain = folded(chunk)
    parts = _pattern(_WORD).findall(plain)
    for number, part in enumerate(parts):
        if part not in STOP:
            yield stem(part[:_LONGEST]), number
    for number, part in enumerate(_pattern(_WORD).findall(chunk)):
        if part.isascii() and part != part.lower() and not part.isupper():
            yield from ((one, number) for one, _ in _humps(part))
    if 1 < len(parts) <= _MOST_PARTS:
        yield from ((whole, len(parts) - 1) for whole in wholes(plain))


def wholes(plain: str) -> list[str]:
    """An identifier as a whole, however its parts are joined; a path also from each folder on."""
    if len(plain) > 2 * _LONGEST or not _pattern(r"[^\W_]+[^\w\s]|[^\W_]+_").match(plain):
        return []
    found = []
    places = plain.replace("\\", "/").split("/")
    for start in range(max(0, len(places) - 5), len(places)):
        tail = [_joined(place) for place in places[start:]]
        if len(tail) > 1 or len(places) == 1 or tail[0] != places[start]:
            found.append("/".join(tail)[:_LONGEST])
    return found


def _joined(name: str) -> str:
    """`expire_cookie`, `expire-cookie` and `expirecookie` alike; versions keep their dots."""
    version = name[1:] if name[:1] == "v" and name[1:2].isdigit() else name
    if version.replace(".", "").isdigit():
        return version
    return stem(_pattern(r"[\W_]+").sub("", name))
