"""Secrets never leave: one pass over every answer and log preview, at the boundary.

A value is hidden because of the key it stands under or because of its own shape. Numbers and
booleans are never secrets (`input_tokens: 812` stays).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import msgspec

__all__ = ["HIDDEN", "is_suspect", "redact", "redact_text", "secret_spans"]

HIDDEN = "<redacted>"

_NAMES = r"api_?key|secret|password|private_?key|authorization|bearer"
_KEY = re.compile(rf"token|{_NAMES}", re.IGNORECASE)
_DEEP_KEY = re.compile(_NAMES, re.IGNORECASE)
_VALUE = re.compile(
    r"""
      (?<![A-Za-z0-9])gh[pousr]_[A-Za-z0-9]{8,}
    | (?<![A-Za-z0-9])github_pat_[A-Za-z0-9_]{8,}
    | (?<![A-Za-z0-9_-])sk-[A-Za-z0-9_-]{20,}
    | (?<![A-Za-z0-9])xox[abprs]-[A-Za-z0-9-]{10,}
    | (?<![A-Za-z0-9])AKIA[A-Z0-9]{16}(?![A-Za-z0-9])
    | (?<![A-Za-z0-9])lha?_[0-9a-f]{32,}
    | (?i:(?P<bearer>\bbearer\s+)[A-Za-z0-9._~+/=-]{8,})
    | (?i:(?P<named>(?<![A-Za-z0-9])(?:access_token|refresh_token|auth_token|id_token|api_?key
        |client_secret|private_key|token|secret|password)=)[^\s&;,"'<>]{4,})
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)

# A cheap test of the whole serialised answer: nearly all answers hold nothing suspicious. Looking
# for a few words one by one takes a tenth of the time of one pattern for all of them, and a part
# that many of them share stands for those.
_ANY_CASE = (b"token", b"key", b"secret", b"password", b"authorization", b"bearer")
_KEYS = (b"apikey", b"api_key", b"privatekey", b"private_key", b"private key")
_AS_IT_IS = (b"github_pat_", b"xox", b"AKIA", b"lh_", b"lha_")
_GITHUB = re.compile(rb"gh[pousr]_")
_SK = re.compile(rb"(?<![A-Za-z0-9_-])sk-")


def is_suspect(raw: bytes) -> bool:
    """Whether a serialised answer may hold a secret; seldom wrongly, and never wrongly not."""
    lower = raw.lower()
    for word in _ANY_CASE:
        if word in lower and (word != b"key" or any(name in lower for name in _KEYS)):
            return True
    for word in _AS_IT_IS:
        if word in raw:
            return True
    return _GITHUB.search(raw) is not None or (b"sk-" in raw and _SK.search(raw) is not None)


def redact(value: Any, reveals: Collection[str] = ()) -> Any:
    """The same built-in value with secrets hidden, but for the fields named in `reveals`."""
    if not is_suspect(msgspec.json.encode(value)):
        return value
    return _walk(value, frozenset(reveals))


def redact_text(text: str) -> str:
    """The same text with everything that looks like a secret hidden."""
    return _VALUE.sub(_hide, text)


def secret_spans(text: str) -> list[tuple[int, int]]:
    """Where text must not be cut: a secret in two halves is no longer seen as one."""
    return [match.span() for match in _VALUE.finditer(text)]


def _hide(match: re.Match[str]) -> str:
    return (match["bearer"] or match["named"] or "") + HIDDEN


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

    `token` also names harmless structures (a page of tokens, usage): their own keys decide.
    """
    if isinstance(value, str):
        return HIDDEN if value else value
    if isinstance(value, list):
        return [_hide_all(inner, reveals, deep=deep) for inner in value]
    if isinstance(value, dict) and deep:
        return {k: _hide_all(inner, reveals, deep=True) for k, inner in value.items()}
    return _walk(value, reveals)
