"""The styles of cells. Each style is represented by one character, so a line's styles are a string.

With 24-bit colors a screen may see any number of styles, but only a limited number are in use:
unused ones are dropped from time to time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

__all__ = ["PLAIN", "PLAIN_MARK", "Style", "Styles", "restyled"]

PLAIN_MARK = "\0"
_FORGET_FROM = 4_096
_MOST_MARKS = sys.maxunicode + 1


class Style(NamedTuple):
    """Colors as the numbers that set them, and the other attributes that are on."""

    fg: str = ""
    bg: str = ""
    on: frozenset[str] = frozenset()

    def sgr(self) -> str:
        """The sequence that sets this style, whatever was set before."""
        return f"\x1b[{';'.join(['0', *sorted(self.on), *filter(None, (self.fg, self.bg))])}m"


PLAIN = Style()
_OFF = {"22": {"1", "2"}, "23": {"3"}, "24": {"4"}, "25": {"5"}, "27": {"7"}, "28": {"8"}}
_OFF |= {"29": {"9"}, "21": {"1"}}


@lru_cache(maxsize=1_024)
def restyled(style: Style, numbers: str) -> Style:
    """The style after `CSI … m`."""
    words = iter((numbers or "0").split(";"))
    for word in words:
        head, _, more = word.partition(":")
        if head in ("", "0"):
            style = PLAIN
        elif head in _OFF:
            style = style._replace(on=style.on - _OFF[head])
        elif head == "4" and more == "0":
            style = style._replace(on=style.on - {"4"})
        elif len(head) == 1 and head in "12345789":
            style = style._replace(on=style.on | {head})
        elif head in ("38", "48", "58"):
            colour = _colour(head, more, words)
            if head != "58" and colour:
                style = style._replace(fg=colour) if head == "38" else style._replace(bg=colour)
        elif head in ("39", "49"):
            style = style._replace(fg="") if head == "39" else style._replace(bg="")
        elif len(head) == 2 and head[0] in "39" and "0" <= head[1] <= "7":
            style = style._replace(fg=head)
        elif (len(head) == 2 and head[0] == "4") or (len(head) == 3 and head[:2] == "10"):
            style = style._replace(bg=head) if head[-1] <= "7" else style
    return style


def _colour(head: str, more: str, words: Iterator[str]) -> str:
    """`38;5;N`, `38;2;R;G;B`, or either with colons; empty if a number is not a color."""
    if more:
        kind, *rest = more.split(":")
        values = rest[-3:] if kind == "2" else rest[:1]
    else:
        kind = next(words, "")
        values = [next(words, "") for _ in range({"5": 1, "2": 3}.get(kind, 0))]
    known = [value for value in values if value.isascii() and value.isdigit() and len(value) <= 3]
    if len(known) != {"5": 1, "2": 3}.get(kind, 0) or not known or max(map(int, known)) > 255:
        return ""
    return ";".join([head, kind, *known])


class Styles:
    """The styles of one screen, each represented by a character."""

    def __init__(self) -> None:
        self._marks: dict[Style, str] = {PLAIN: PLAIN_MARK}
        self._styles: dict[str, Style] = {PLAIN_MARK: PLAIN}
        self._forget_from = _FORGET_FROM

    def __getitem__(self, mark: str) -> Style:
        return self._styles[mark]

    def __len__(self) -> int:
        return len(self._styles)

    @property
    def are_many(self) -> bool:
        return len(self._marks) >= self._forget_from

    def mark(self, style: Style) -> str:
        """The character of a style."""
        found = self._marks.get(style)
        if found is None:
            if len(self._marks) >= _MOST_MARKS:
                return PLAIN_MARK  # every character already represents a style
            found = chr(len(self._marks))
            self._marks[style] = found
            self._styles[found] = style
        return found

    def forget_unused(self, lines: Iterable[str]) -> dict[int, str]:
        """Keep only the styles of these lines; returns the table to translate the lines with."""
        used = sorted({PLAIN_MARK}.union(*map(set, lines)))
        table = {ord(mark): chr(at) for at, mark in enumerate(used)}
        self._styles = {chr(at): self._styles[mark] for at, mark in enumerate(used)}
        self._marks = {style: mark for mark, style in self._styles.items()}
        self._forget_from = max(_FORGET_FROM, 2 * len(used))
        return table
