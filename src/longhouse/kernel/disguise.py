"""Sees through what hides a secret from a search but not from a reader.

Colors inside a token (also as escapes, `\\u001b[31m`), zero-width and full-width characters,
overstrikes and UTF-16 are undone, and spans found in the result are mapped back to the original.
Bytes decoded as Latin-1 work as well: UTF-8 sequences in them are recognized. Every pattern takes
linear time.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator
from functools import cached_property
from typing import NamedTuple

from longhouse.kernel.effort import spend
from longhouse.kernel.overprint import Painted, moves

__all__ = ["Unmasked", "hides_in_json", "is_disguised", "views"]

_IGNORED = (
    *((0xAD, 0xAD), (0x300, 0x36F), (0x483, 0x489), (0x591, 0x5BD), (0x600, 0x605)),
    *((0x610, 0x61A), (0x61C, 0x61C), (0x64B, 0x65F), (0x115F, 0x1160), (0x17B4, 0x17B5)),
    *((0x180B, 0x180F), (0x1AB0, 0x1AFF), (0x1DC0, 0x1DFF), (0x200B, 0x200F)),
    *((0x202A, 0x202E), (0x2060, 0x206F), (0x20D0, 0x20FF), (0x3099, 0x309A), (0x3164, 0x3164)),
    *((0xFE00, 0xFE0F), (0xFE20, 0xFE2F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0)),
    *((0xFFF0, 0xFFFB), (0x1BCA0, 0x1BCA3), (0x1D165, 0x1D169), (0x1D173, 0x1D17A)),
    (0xE0000, 0xE0FFF),
)
"""Characters that take no place of their own: default-ignorable ones and combining marks."""
_FORMS = (
    *((0xAA, 0xAA), (0xB2, 0xB3), (0xB9, 0xBA), (0x2B0, 0x2B8), (0x2E1, 0x2E3)),
    *((0x1D2C, 0x1D6A), (0x2070, 0x209C), (0x2100, 0x2149), (0x2160, 0x217F)),
    *((0x2460, 0x24EA), (0xFB00, 0xFB06), (0xFE33, 0xFE34), (0xFE4D, 0xFE6B)),
    *((0xFF01, 0xFF5E), (0x1D400, 0x1D7FF), (0x1F100, 0x1F14F), (0x1FBF0, 0x1FBF9)),
)
"""Other forms of ASCII characters; NFKC gives the character that they stand for."""

_Ranges = Iterable[tuple[int, int]]


def _characters(ranges: _Ranges) -> str:
    """A pattern for one of these characters."""
    return "[" + "".join(f"{_u(first)}-{_u(last)}" for first, last in ranges) + "]"


def _u(code: int) -> str:
    return f"\\U{code:08x}"


def _encoded(ranges: _Ranges) -> str:
    """A pattern for the UTF-8 bytes of one of these characters, one byte per character.

    Each block of 64 characters shares all bytes but the last.
    """
    by_lead: dict[str, list[str]] = {}
    for first, last in ranges:
        for block in range(first >> 6, (last >> 6) + 1):
            low = chr(max(first, block << 6)).encode()
            high = chr(min(last, block << 6 | 63)).encode()
            middle = "".join(f"\\x{byte:02x}" for byte in low[1:-1])
            ends = f"{middle}[\\x{low[-1]:02x}-\\x{high[-1]:02x}]"
            by_lead.setdefault(f"\\x{low[0]:02x}", []).append(ends)
    return "|".join(f"{lead}(?:{'|'.join(ends)})" for lead, ends in by_lead.items())


_CUT_OFF = r"[\xc2-\xf4][\x80-\xbf]{0,2}\Z"
"""A UTF-8 sequence whose rest may still arrive."""
_ALONE = r"(?<![\x80-\xff])"
"""Before a byte that is no part of a UTF-8 sequence: there, 0x80 to 0x9f are controls."""
_C1 = rf"(?:{_ALONE}[\x80-\x9f]+|(?:\xc2[\x80-\x9f])+)"
_INSIDE = r"[0-?\x00-\x09\x0b\x0c\x0e-\x17\x19\x1c-\x1f\x7f]"
"""What may stand in a control sequence: its numbers, and controls that a terminal obeys there."""
_CSI = rf"(?:\x1b\[|{_ALONE}\x9b|\xc2\x9b){_INSIDE}*+[ -/]*+(?:[@-~\x18\x1a]|(?=\x1b)|\Z)"
_STRING = (
    rf"(?:\x1b[\]PX^_]|{_ALONE}[\x90\x98\x9d-\x9f]|\xc2[\x90\x98\x9d-\x9f])"
    r"(?:[^\x07\x1b\x9c\xc2]|\xc2(?!\x9c)|(?<=[\x80-\xff])\x9c)*+"
    r"(?:\x07|\x1b\\|\x1b\Z|\xc2?\x9c)?+"
)
_ESCAPE = r"\x1b[ -/]*+(?:[0-OQ-WYZ`-~\\]|\Z)?+"
_WRITTEN = (
    r"\\{1,8}+(?:u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|033|e(?=\[)"
    r"|(?:u[0-9a-fA-F]{0,3}|x[0-9a-fA-F]?|03{0,2}|e)?\Z)"
)
"""A character as an escape, as JSON and programs' source have it; the last may be cut off."""
_WRAPPED = r" \r(?=[!-~])"
"""How a shell's prompt goes on in the next row."""
_OVERSTRUCK = r"[^\x08\n]\x08"
_CONTROL = r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]"
_INVISIBLE = f"{_characters(_IGNORED)}|{_encoded(_IGNORED)}|{_CUT_OFF}"

# The quick check: patterns of one character, or of alternatives that each begin with one, are fast.
_QUICK_ASCII = re.compile(f"{_CONTROL}|{_WRITTEN}|{_WRAPPED}")
_QUICK = re.compile(
    f"{_CONTROL[:-1]}{_characters((*_IGNORED, *_FORMS))[1:]}|{_C1}|{_WRITTEN}|{_WRAPPED}"
)
_QUICK_ENCODED = re.compile(_encoded((*_IGNORED, *_FORMS)))
_ENDS_CUT_OFF = re.compile(_CUT_OFF)
_FORM = re.compile(
    f"(?=[\\xc2-\\xf4{_characters(_FORMS)[1:]})(?:{_characters(_FORMS)}|{_encoded(_FORMS)})"
)


def _form(match: re.Match[str]) -> str:
    """The ASCII characters that a form stands for, or the form itself if it stands for others."""
    found = match[0]
    if len(found) > 1:
        found = found.encode("latin-1").decode()
    plain = unicodedata.normalize("NFKC", found)
    return plain if plain.isascii() else match[0]


def _written(match: re.Match[str]) -> str:
    """The character that an escape stands for; nothing for one that is cut off."""
    said = match[0].lstrip("\\")
    if said in ("e", "033"):
        return "\x1b"
    whole = len(said) == (5 if said[:1] == "u" else 3)
    return chr(int(said[1:], 16)) if whole else ""


class _Step(NamedTuple):
    """A pattern and what replaces it; a text without any of `needs` does not match."""

    pattern: re.Pattern[str]
    instead: str | Callable[[re.Match[str]], str]
    needs: str = ""


# Looking at the first character before the alternatives saves most of the time.
_FIRST = f"(?={_CONTROL[:-1]}\\x80-\\x9f\\xc2-\\xf4{_characters(_IGNORED)[1:]})"
_JOINED = (
    _Step(re.compile(_WRITTEN), _written, "\\"),
    _Step(re.compile(r"\x00"), "", "\x00"),  # UTF-16 and UTF-32
    _Step(
        re.compile(rf"(?=[\x1b\x90-\x9f\xc2])(?:{_CSI}|{_STRING}|{_ESCAPE})"),
        "",
        "\x1b\x90\x98\x9b\x9d\x9e\x9f",
    ),
    _Step(re.compile(_OVERSTRUCK), "", "\x08"),
    _Step(re.compile(_WRAPPED), "", "\r"),
    _Step(re.compile(f"{_FIRST}(?:{_CONTROL}|{_C1}|{_INVISIBLE})"), ""),
    _Step(_FORM, _form),
)
"""What is hidden inside a secret is removed."""
_PARTED = (
    _Step(re.compile(_WRITTEN), _written, "\\"),
    _Step(re.compile(rf"{_FIRST}(?:{_CSI}|\x1b[\]PX^_]?|{_CONTROL}|{_C1}|{_INVISIBLE})"), " "),
    _Step(_FORM, _form),
)
"""What stands next to a secret separates it from other words, and titles and links are kept."""


class Unmasked:
    """A text as a reader sees it, and where its parts came from."""

    def __init__(self, text: str, steps: Iterable[_Step]) -> None:
        self._done: list[tuple[str, _Step]] = []
        for step in steps:
            if step.needs and not any(one in text for one in step.needs):
                continue
            spend(len(text))
            after = step.pattern.sub(step.instead, text)
            if after != text:
                self._done.append((text, step))
                text = after
        self.text = text

    def back(self, start: int, stop: int) -> tuple[int, int]:
        """The span of the original that a span of this view came from."""
        last = stop - 1
        for pieces in reversed(self._pieces):
            start, last = pieces.first(start), pieces.last(last)
        return start, last + 1

    @cached_property
    def _pieces(self) -> list[_Pieces]:
        """Computed only if a secret was found, because it takes longer than the search."""
        return [_Pieces(text, step) for text, step in self._done]


class _Pieces:
    """Where each piece of a text begins before and after one step."""

    def __init__(self, text: str, step: _Step) -> None:
        self._seen, self._from, self._until = [0], [0], [0]
        shown = at = 0
        for match in step.pattern.finditer(text):
            shown += match.start() - at
            self._note(shown, match.start(), match.end())
            instead = step.instead if isinstance(step.instead, str) else step.instead(match)
            shown += len(instead)
            at = match.end()
            self._note(shown, at, at)

    def _note(self, seen: int, start: int, stop: int) -> None:
        if self._seen[-1] == seen:  # the piece before it left nothing
            self._from[-1], self._until[-1] = start, stop
        else:
            self._seen.append(seen)
            self._from.append(start)
            self._until.append(stop)

    def first(self, offset: int) -> int:
        """The first original character of the one at `offset`."""
        at = bisect_right(self._seen, offset) - 1
        if self._until[at] > self._from[at]:
            return self._from[at]
        return self._from[at] + offset - self._seen[at]

    def last(self, offset: int) -> int:
        """The last original character of the one at `offset`."""
        at = bisect_right(self._seen, offset) - 1
        if self._until[at] > self._from[at]:
            return self._until[at] - 1
        return self._from[at] + offset - self._seen[at]


def is_disguised(text: str) -> bool:
    """Whether something in a text may hide a secret from a search."""
    if text.isascii():
        return _QUICK_ASCII.search(text) is not None
    return (
        _QUICK.search(text) is not None
        or _QUICK_ENCODED.search(text) is not None
        or _ENDS_CUT_OFF.search(text, max(0, len(text) - 3)) is not None
    )


def views(text: str, *, painted: bool = True) -> Iterator[Unmasked | Painted]:
    """The other ways to read a text, if there are any."""
    if is_disguised(text):
        yield Unmasked(text, _JOINED)
        yield Unmasked(text, _PARTED)
    if painted and moves(text):
        yield Painted(text)


_LEADS = {chr(first).encode()[0] for first, _ in (*_IGNORED, *_FORMS)} | {
    chr(last).encode()[0] for _, last in (*_IGNORED, *_FORMS)
}
_ORDINARY = bytes(set(range(256)) - _LEADS - set(range(32)) - {127} | set(b"\t\n\r"))
_IN_BYTES = re.compile(_encoded((*_IGNORED, *_FORMS, (0x80, 0x9F))).encode("latin-1"))
_WRITTEN_IN_BYTES = re.compile(_WRITTEN.encode())
_OVERWRITTEN = re.compile(rb"\\r(?!\\[nr]|\")")
"""A carriage return within a line, in JSON."""


def hides_in_json(raw: bytes) -> bool:
    """Whether a serialized answer may hold disguised text; also for text that is not JSON."""
    if b"\\u00" in raw or b"\\b" in raw:  # control characters, and overstrikes
        return True
    if _OVERWRITTEN.search(raw) or _WRITTEN_IN_BYTES.search(raw):
        return True
    marks = raw.translate(None, _ORDINARY)
    if not marks:
        return False
    return min(marks) < 128 or max(marks) == 127 or _IN_BYTES.search(raw) is not None
