"""Secrets never leave: one pass over every answer and log preview, at the boundary.

A value is hidden because of the key it stands under or because of its own shape. Numbers and
booleans are never secrets (`input_tokens: 812` stays).
"""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

import msgspec

__all__ = ["HIDDEN", "redact", "redact_text"]

HIDDEN = "<redacted>"

_KEY = re.compile(
    r"token|api_?key|secret|password|private_?key|authorization|bearer", re.IGNORECASE
)
_VALUE = re.compile(
    r"""
      \bgh[pousr]_[A-Za-z0-9]{20,}
    | \bgithub_pat_[A-Za-z0-9_]{20,}
    | \bsk-[A-Za-z0-9_-]{20,}
    | \bxox[abprs]-[A-Za-z0-9-]{10,}
    | \bAKIA[A-Z0-9]{16}\b
    | \blh_[0-9a-f]{32,}
    | (?i:\bbearer\s+)[A-Za-z0-9._~+/=-]{8,}
    | (?i:[?&;\s](?:access_token|api_?key|token|secret|password)=)[^\s&;"']{4,}
    | -----BEGIN[ ][A-Z ]*PRIVATE[ ]KEY-----.*?(?:-----END[ ][A-Z ]*PRIVATE[ ]KEY-----|\Z)
    """,
    re.VERBOSE | re.DOTALL,
)
_KEEP_LABEL = re.compile(r"\A(?i:(bearer\s+)|([?&;\s][a-z_]+=))")

# A cheap test of the whole serialised answer: nearly all answers hold nothing suspicious.
_SUSPECT = re.compile(
    rb"token|api_?key|secret|password|private_?key|authorization|bearer"
    rb"|gh[pousr]_|github_pat_|sk-|xox|AKIA|lh_|PRIVATE KEY",
    re.IGNORECASE,
)


def redact(value: Any, reveals: Collection[str] = ()) -> Any:
    """The same built-in value with secrets hidden, but for the fields named in `reveals`."""
    if not _SUSPECT.search(msgspec.json.encode(value)):
        return value
    return _walk(value, frozenset(reveals))


def redact_text(text: str) -> str:
    """The same text with everything that looks like a secret hidden."""
    return _VALUE.sub(_hide, text)


def _hide(match: re.Match[str]) -> str:
    label = _KEEP_LABEL.match(match[0])
    return (label[0] if label else "") + HIDDEN


def _walk(value: Any, reveals: frozenset[str]) -> Any:
    if isinstance(value, str):
        return redact_text(value)
    if isinstance(value, list):
        return [_walk(inner, reveals) for inner in value]
    if isinstance(value, dict):
        return {key: _entry(key, inner, reveals) for key, inner in value.items()}
    return value


def _entry(key: str, value: Any, reveals: frozenset[str]) -> Any:
    if key in reveals:
        return value
    if isinstance(value, str) and value and _KEY.search(key):
        return HIDDEN
    return _walk(value, reveals)
