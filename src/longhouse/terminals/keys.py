"""Converts keys with tmux names to the bytes that a terminal sends for them.

`Enter`, `C-c`, `M-x`, `Up` and `F5` are keys; every other word is text and is typed as is.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

__all__ = ["KEYS", "bytes_of", "key_bytes"]

_ARROWS: Final = {"Up": "A", "Down": "B", "Right": "C", "Left": "D", "Home": "H", "End": "F"}
_NUMBERED: Final = {"IC": 2, "DC": 3, "PageUp": 5, "PageDown": 6} | {
    f"F{n}": code for n, code in zip(range(5, 13), (15, 17, 18, 19, 20, 21, 23, 24), strict=True)
}
_FUNCTION: Final = {"F1": "P", "F2": "Q", "F3": "R", "F4": "S"}
_PLAIN: Final = {
    "Enter": "\r",
    "Tab": "\t",
    "BTab": "\x1b[Z",
    "Escape": "\x1b",
    "Space": " ",
    "BSpace": "\x7f",
}
_OTHER_NAMES: Final = {
    "Esc": "Escape",
    "Backspace": "BSpace",
    "Delete": "DC",
    "Insert": "IC",
    "PgUp": "PageUp",
    "PPage": "PageUp",
    "PgDn": "PageDown",
    "NPage": "PageDown",
}
_MODIFIERS: Final = {"S": 1, "M": 2, "C": 4}
_MODIFIED = re.compile(r"(?:[CMS]-)+(?=.)", re.DOTALL)
_META, _CONTROL = 2, 4

KEYS: Final = tuple(_PLAIN | _ARROWS | _NUMBERED | _FUNCTION | _OTHER_NAMES)
"""The names of keys; each may be prefixed with `C-`, `M-` and `S-`."""


def bytes_of(words: Iterable[str], *, application: bool = False) -> bytes:
    """What a terminal sends when these are typed one after another.

    With `application`, arrow keys are encoded for application-cursor mode (DECCKM).
    """
    return b"".join(
        word.encode(errors="surrogateescape")
        if (key := key_bytes(word, application=application)) is None
        else key
        for word in words
    )


def key_bytes(word: str, *, application: bool = False) -> bytes | None:
    """The bytes of a key by its name; None if the word is text."""
    prefix = _MODIFIED.match(word)
    modifiers = {_MODIFIERS[letter] for letter in prefix[0][::2]} if prefix else set[int]()
    name = word[prefix.end() :] if prefix else word
    sent = _sent(_OTHER_NAMES.get(name, name), sum(modifiers), application=application)
    return None if sent is None else sent.encode(errors="surrogateescape")


def _sent(name: str, modifiers: int, *, application: bool) -> str | None:
    code = 1 + modifiers
    if final := _ARROWS.get(name):
        if modifiers:
            return f"\x1b[1;{code}{final}"
        return f"\x1bO{final}" if application else f"\x1b[{final}"
    if final := _FUNCTION.get(name):
        return f"\x1b[1;{code}{final}" if modifiers else f"\x1bO{final}"
    if number := _NUMBERED.get(name):
        return f"\x1b[{number};{code}~" if modifiers else f"\x1b[{number}~"
    if name == "Tab" and modifiers == _MODIFIERS["S"]:
        name, modifiers = "BTab", 0
    if name in _PLAIN:
        return _with(_PLAIN[name], modifiers)
    return _with(name, modifiers) if modifiers and len(name) == 1 else None


def _with(sent: str, modifiers: int) -> str | None:
    """A character with control and meta; None if there is no byte for it."""
    if modifiers & ~(_META | _CONTROL):
        return None
    if modifiers & _CONTROL:
        controlled = _controlled(sent)
        if controlled is None:
            return None
        sent = controlled
    return "\x1b" + sent if modifiers & _META else sent


def _controlled(sent: str) -> str | None:
    """`C-` with one character; None if there is no control character for it."""
    if sent in ("?", "\x7f"):
        return "\x7f" if sent == "?" else "\x08"
    if sent == " ":
        return "\x00"
    if sent in ("\r", "\t", "\x1b"):
        return sent
    upper = sent.upper()
    return chr(ord(upper) & 0x1F) if len(sent) == 1 and "@" <= upper <= "_" else None
