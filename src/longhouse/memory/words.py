"""The tokenizer in front of both databases' full-text search, so that both give the same results.

A word is a compatibility-folded, case-folded run of letters and digits; scripts written without
spaces give one word per character. A query matches rows that have all of its words; `word*` matches
by prefix. Each row also carries a mark of its document that no text can contain. Secrets are not
indexed, so a search cannot probe for what answers redact.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from longhouse.kernel.redact import is_suspect, redact_text
from longhouse.kernel.values import Value

__all__ = ["Wanted", "indexed", "wanted", "words"]

_UNSPACED = "\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af"
_WORD = rf"[{_UNSPACED}]|[^\W_{_UNSPACED}]+"
_ASKED = rf"({_WORD})(\*)?"
_LONGEST = 64
_MOST_CHARS = 120_000
_MOST_ASKED = 16


@cache
def _pattern(text: str) -> re.Pattern[str]:
    """Compiled on first use, because compiling takes as long as starting Python."""
    return re.compile(text)


class Wanted(Value, frozen=True, kw_only=True):
    """A query: its words, whether each is a prefix, and its form for each database."""

    terms: tuple[tuple[str, bool], ...]

    def fts5(self, doc_id: int | None = None) -> str:
        parts = [f'"{word}"{" *" if start else ""}' for word, start in self.terms]
        return " ".join([*parts, *([f'"{_mark(doc_id)}"'] if doc_id is not None else [])])

    def tsquery(self, doc_id: int | None = None) -> str:
        parts = [f"'{word}'{':*' if start else ''}" for word, start in self.terms]
        return " & ".join([*parts, *([f"'{_mark(doc_id)}'"] if doc_id is not None else [])])

    def matches(self, *texts: str | None) -> bool:
        """Whether these texts together hold every word, as the index would decide it."""
        held = set(words(*texts))
        return all(
            any(word.startswith(term) for word in held) if start else term in held
            for term, start in self.terms
        )


def words(*texts: str | None) -> list[str]:
    """The distinct words of the texts, in order of appearance, up to a total length."""
    whole = "\n".join(text for text in texts if text)
    if is_suspect(whole.encode(errors="surrogatepass")):
        whole = "\n".join(redact_text(text, instead=" ") for text in texts if text)
    found: dict[str, None] = {}
    chars = 0
    for match in _pattern(_WORD).finditer(_folded(whole)):
        word = match[0][:_LONGEST]
        if word in found:
            continue
        chars += len(word) + 1
        if chars > _MOST_CHARS:
            break
        found[word] = None
    return list(found)


def indexed(doc_id: int, texts: Iterable[str | None]) -> str:
    """The text stored for one row: its document's mark and its words."""
    return " ".join([_mark(doc_id), *words(*texts)])


def wanted(query: str) -> Wanted | None:
    """The parsed query, or None if it holds no word."""
    terms = dict.fromkeys(
        (match[1][:_LONGEST], bool(match[2])) for match in _pattern(_ASKED).finditer(_folded(query))
    )
    return Wanted(terms=tuple(terms)[:_MOST_ASKED]) if terms else None


def _folded(text: str) -> str:
    if text.isascii():
        return text.lower()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", text).casefold())


def _mark(doc_id: int) -> str:
    return f"§{doc_id}"
