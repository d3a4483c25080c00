"""The lines of one screen. A line is two strings of the same length: characters and their styles.

A line ends with its last written cell; the rest is blank. A line that continues in the next keeps
its trailing blanks, since they are in the middle of the text. A wide character takes two cells, the
second of which holds `FILLER`.
"""

from __future__ import annotations

from longhouse.terminals.styles import PLAIN_MARK

__all__ = ["FILLER", "Grid", "Line"]

FILLER = "\uffff"


class Line:
    """One line; `wrapped` means that it continues in the next."""

    __slots__ = ("style", "text", "wrapped")

    def __init__(self, text: str = "", style: str = "") -> None:
        self.text, self.style = text, style
        self.wrapped = False

    def put(self, x: int, text: str, mark: str) -> None:
        """Write cells from column `x` on."""
        have, end = len(self.text), x + len(text)
        if have == x:
            self.text += text
            self.style += mark * len(text)
            return
        if have < x:
            self.text += " " * (x - have)
            self.style += PLAIN_MARK * (x - have)
        elif not self.text.isascii():
            self._part(x)
            self._part(end)
        self.text = self.text[:x] + text + self.text[end:]
        self.style = self.style[:x] + mark * len(text) + self.style[end:]

    def star(self, first: int, last: int) -> None:
        """Replace these cells with stars."""
        if first < last:
            self.text = self.text[:first] + "*" * (last - first) + self.text[last:]

    def insert(self, x: int, count: int, mark: str, cols: int) -> None:
        """Insert blanks at column `x`; the rest moves right, and off the screen."""
        if x < len(self.text):
            self._part(x)
            self.text = (self.text[:x] + " " * count + self.text[x:])[:cols]
            self.style = (self.style[:x] + mark * count + self.style[x:])[:cols]
            self._part(cols)
        elif mark != PLAIN_MARK:
            self.put(x, " " * min(count, cols - x), mark)

    def delete(self, x: int, count: int, mark: str, cols: int) -> None:
        """Delete cells at column `x`; the rest moves left."""
        self._part(x)
        self._part(x + count)
        self.text = self.text[:x] + self.text[x + count :]
        self.style = self.style[:x] + self.style[x + count :]
        if mark != PLAIN_MARK or self.wrapped:
            self.put(cols - count, " " * count, mark)

    def erase(self, start: int, stop: int, mark: str) -> None:
        """Blank a range of cells, in the color of `mark`."""
        if mark == PLAIN_MARK and stop >= len(self.text) and not self.wrapped:
            self._part(start)
            self.text, self.style = self.text[:start], self.style[:start]
        elif stop > start:
            self.put(start, " " * (stop - start), mark)

    def cut(self, cols: int) -> None:
        self._part(cols)
        self.text, self.style = self.text[:cols], self.style[:cols]

    def _part(self, x: int) -> None:
        """Blank a wide character that a cut before column `x` would split."""
        if self.text[x : x + 1] == FILLER:
            self.text = f"{self.text[: x - 1]}  {self.text[x + 1 :]}"


class Grid:
    """As many lines as the screen has rows."""

    def __init__(self, rows: int) -> None:
        self.lines = [Line() for _ in range(rows)]

    def scroll_up(self, top: int, bottom: int, count: int, mark: str, cols: int) -> list[Line]:
        """Move the lines of a region up; returns those that leave it at the top."""
        count = min(count, bottom - top + 1)
        gone = self.lines[top : top + count]
        del self.lines[top : top + count]
        self.lines[bottom + 1 - count : bottom + 1 - count] = _blank(count, mark, cols)
        return gone

    def scroll_down(self, top: int, bottom: int, count: int, mark: str, cols: int) -> None:
        count = min(count, bottom - top + 1)
        del self.lines[bottom + 1 - count : bottom + 1]
        self.lines[top:top] = _blank(count, mark, cols)

    def erase(self, start: int, stop: int, mark: str, cols: int) -> None:
        """Blank whole lines."""
        self.lines[start:stop] = _blank(max(0, stop - start), mark, cols)


def _blank(count: int, mark: str, cols: int) -> list[Line]:
    if mark == PLAIN_MARK:
        return [Line() for _ in range(count)]
    text, style = " " * cols, mark * cols
    return [Line(text, style) for _ in range(count)]
