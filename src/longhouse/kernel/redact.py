"""Hides secrets in everything that leaves the house: answers, events, logs, artifact windows.

Text is hidden because of its shape (`secret_shapes.py`) or the key it is stored under. Numbers and
booleans are never secrets (`input_tokens: 812` stays). Text is redacted before it is cut, because
half a token no longer looks like one.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from typing import Any

import msgspec

from longhouse.kernel.effort import spend
from longhouse.kernel.secret_shapes import SHAPES, Span, open_from, secret_spans

__all__ = [
    "HIDDEN",
    "is_suspect",
    "looks_suspect",
    "mask",
    "open_from",
    "redact",
    "redact_fields",
    "redact_text",
    "secret_spans",
]

HIDDEN = "<redacted>"
_MASK = b"*"

_NAMES = r"api_?key|secret|password|private_?key|authorization|bearer"
_KEY = re.compile(rf"token|{_NAMES}", re.IGNORECASE)
_DEEP_KEY = re.compile(_NAMES, re.IGNORECASE)

# A quick check of a whole serialized answer, since nearly all hold nothing suspicious: searching
# for one literal after another takes a tenth of the time of one pattern for all of them. Literals
# that share a stem are searched for only if the stem occurs, and those with capitals only if the
# answer's capitals contain theirs. A pattern replaces literals that are many or too common.
_LOOKS = {
    "github": (b"gh", rb"gh[pousr]_"),
    "gitlab": (b"gl", rb"gl[a-z]{2,5}-"),
    "openai, anthropic": (b"sk-", rb"(?:\A|[^A-Za-z0-9_-]|\\(?:[bfnrt]|u[0-9a-f]{4}))sk-"),
    "url password": (b"://", rb"://[^\s/@\"]{0,512}:"),
    "url token": (b":x-oauth-basic@", rb":x-oauth-basic@"),
}
_STEMS = (b"key", b"pass", b"lh", b"_live_", b"_test_")
_NOT_CAPITAL = bytes(set(range(256)).difference(range(ord("A"), ord("Z") + 1)))

_Stems = tuple[tuple[bytes, tuple[bytes, ...]], ...]
"""What to search for first, and the words to search for where it was found."""


def _by_stem(words: Iterable[bytes]) -> _Stems:
    """Each word under its stem; one without a stem under itself."""
    grouped: dict[bytes, list[bytes]] = {}
    for word in words:
        grouped.setdefault(next((s for s in _STEMS if s in word), word), []).append(word)
    return tuple((stem, tuple(under)) for stem, under in grouped.items())


_FOLDED = {word.encode() for shape in SHAPES if shape.folded for word in shape.literals}
_EXACT = [
    word.encode()
    for shape in SHAPES
    if not shape.folded and shape.name not in _LOOKS
    for word in shape.literals
]
_CAPITALS = tuple(
    (capitals, (word,))
    for word in _EXACT
    if len(capitals := word.translate(None, _NOT_CAPITAL)) > 1
)
_AS_IT_IS = _by_stem(word for word in _EXACT if len(word.translate(None, _NOT_CAPITAL)) <= 1)
_ANY_CASE = _by_stem(sorted(_FOLDED))
_PATTERNS = tuple((word, re.compile(look)) for word, look in _LOOKS.values())


_PRINTABLE = bytes(range(32, 127)) + b"\t\n\r"
_HARMLESS = (b'\\"', b"\\n", *(char.encode() for char in "…—·→"))
"""What our own texts have beyond plain ASCII: escaped quotes and newlines, and some punctuation.
None of it hides anything, so what sees through disguises need not be loaded for it."""


def is_suspect(raw: bytes) -> bool:
    """Whether a serialized answer may hold a secret: rarely a false alarm, never a miss."""
    spend(len(raw))
    return looks_suspect(raw)


def looks_suspect(raw: bytes) -> bool:
    """The same, without counting the work: for what is short."""
    capitals, lower = raw.translate(None, _NOT_CAPITAL), raw.lower()
    for where, text, stems in (
        (capitals, raw, _CAPITALS),
        (raw, raw, _AS_IT_IS),
        (lower, lower, _ANY_CASE),
    ):
        for stem, words in stems:
            if stem in where:
                for word in words:
                    if word in text:
                        return True
    for stem, pattern in _PATTERNS:
        if stem in raw and pattern.search(raw):
            return True
    rest = raw
    for harmless in _HARMLESS:
        rest = rest.replace(harmless, b"")
    if b"\\" not in rest and not rest.translate(None, _PRINTABLE):
        return False  # most answers: nothing in them could disguise anything
    from longhouse.kernel.disguise import hides_in_json

    return hides_in_json(raw)


def redact(value: Any, reveals: Collection[str] = ()) -> Any:
    """The value with secrets hidden, except in the fields named in `reveals`."""
    with suppress(UnicodeError, OverflowError):  # a value that JSON cannot encode is walked too
        if not is_suspect(msgspec.json.encode(value)):
            return value
    return _walk(value, frozenset(reveals))


def redact_fields(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a log line with secrets hidden; values that are not JSON become text."""
    shown: dict[str, Any] = redact({name: _plain(value) for name, value in fields.items()})
    return shown


def redact_text(text: str, instead: str = HIDDEN) -> str:
    """The text with everything that looks like a secret replaced by `instead`."""
    spans = secret_spans(text)
    if not spans:
        return text
    parts, at = [], 0
    for start, stop in spans:
        parts += [text[at:start], instead]
        at = stop
    return "".join([*parts, text[at:]])


def mask(data: bytes, spans: Collection[Span] | None = None) -> bytes:
    """The data with secrets overwritten by stars; its length, and so all offsets, stay the same."""
    if spans is None:
        spans = secret_spans(data.decode("latin-1"))
    if not spans:
        return data
    shown = bytearray(data)
    for start, stop in spans:
        shown[start:stop] = _MASK * (stop - start)
    return bytes(shown)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | None) else str(value)


def _walk(value: Any, reveals: frozenset[str]) -> Any:
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, list):
        return [_walk(inner, reveals) for inner in value]
    if isinstance(value, dict):
        return {redact_text(key): _entry(key, inner, reveals) for key, inner in value.items()}
    return value


def _entry(key: str, value: Any, reveals: frozenset[str]) -> Any:
    if key in reveals:
        return value
    if _KEY.search(key):
        return _hide_all(value, reveals, deep=bool(_DEEP_KEY.search(key)))
    return _walk(value, reveals)


def _hide_all(value: Any, reveals: frozenset[str], *, deep: bool) -> Any:
    """Hide all text under a key that names a secret.

    `token` also names harmless structures (a page of tokens, usage); there the inner keys decide.
    """
    if isinstance(value, str):
        return HIDDEN if value else value
    if isinstance(value, list):
        return [_hide_all(inner, reveals, deep=deep) for inner in value]
    if isinstance(value, dict) and deep:
        return {k: _hide_all(inner, reveals, deep=True) for k, inner in value.items()}
    return _walk(value, reveals)
