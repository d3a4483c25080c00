"""An xterm emulator: computes what a terminal shows after the bytes a program has sent.

`feed` accepts any bytes, in pieces of any size, and memory stays bounded. Larger sizes than 500
rows or 1,000 columns are emulated with those limits.
"""

from __future__ import annotations

import codecs
import re
import unicodedata
from bisect import bisect_right
from collections import deque
from collections.abc import Callable, Iterable
from functools import lru_cache
from itertools import accumulate
from typing import NamedTuple

from longhouse.terminals import acts, answers
from longhouse.terminals.grid import FILLER, Grid, Line
from longhouse.terminals.reflow import reflowed
from longhouse.terminals.sequences import CUT_SHORT, SETTINGS, STRING_CHARS, TOKENS
from longhouse.terminals.styles import PLAIN, PLAIN_MARK, Style, Styles

__all__ = ["LAG_BYTES", "Cursor", "Saved", "Screen"]

MOST_ROWS, MOST_COLS = 500, 1_000
SCROLLBACK = 1_000
LAG_BYTES = 512 * 1024
"""The last LAG_BYTES are always emulated; earlier output may only be scanned for settings."""
_MOST_ANSWERS = 1_000
_OSC_ENDS, _STRING_ENDS = re.compile("[\x07\x18\x1a\x1b]"), re.compile("[\x18\x1a\x1b]")
_GRAPHICS = str.maketrans("`abcdefghijklmnopqrstuvwxyz{|}~", "◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")


class Cursor(NamedTuple):
    """Where the next character goes, counted from 0."""

    row: int
    col: int


class Saved(NamedTuple):
    """What DECSC saves."""

    x: int = 0
    y: int = 0
    style: Style = PLAIN
    origin: bool = False
    charsets: tuple[str, str] = ("B", "B")
    shifted: int = 0


class Screen:
    """The screen of one terminal, initially empty."""

    def __init__(self, rows: int = 24, cols: int = 80) -> None:
        self.rows, self.cols = _bounded(rows, cols)
        self.scrollback: deque[Line] = deque(maxlen=SCROLLBACK)
        self.styles = Styles()
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""
        self._swallow = ""
        """The kind of an overlong string, while it is being skipped."""
        self._answers: list[str] = []
        self.reset()

    def reset(self) -> None:
        self.main, self.other = Grid(self.rows), Grid(self.rows)
        self.grid = self.main
        self.x = self.y = 0
        self.pending = False
        """Whether the cursor is past the last column, and the next character wraps."""
        self.style = PLAIN
        self.blank = self._mark = PLAIN_MARK
        self.top, self.bottom = 0, self.rows - 1
        self.modes = {7, 25}
        """The private modes that are on."""
        self.ansi_modes: set[int] = set()
        self.keypad = False
        self.cursor_shape = 0
        self.charsets = ["B", "B"]
        self.shifted = 0
        self.tabs = set(range(8, self.cols, 8))
        self.saved = self.saved_other = Saved()
        """The saved cursors of the current screen and of the other one."""
        self.last = ""
        self.drawn: tuple[Line, int] | None = None
        """The line and cell of the last written character."""

    # ---- queries

    @property
    def alternate(self) -> bool:
        return self.grid is self.other

    @property
    def cursor(self) -> Cursor:
        return Cursor(self.y, self.x)

    def lines(self) -> list[str]:
        """The rows as text, without trailing spaces."""
        return [line.text.replace(FILLER, "").rstrip() for line in self.grid.lines]

    def text(self) -> str:
        """The screen as text, without trailing empty rows."""
        return "\n".join(self.lines()).rstrip("\n")

    def snapshot(self) -> bytes:
        """The bytes that bring another terminal of this size into the same state."""
        from longhouse.terminals.snapshots import snapshot_of

        begun = f"\x1b{self._swallow}777;" if self._swallow else ""
        return snapshot_of(self) + (begun + self._rest).encode() + self._decoder.getstate()[0]

    def replies(self) -> bytes:
        """The answers to the program's queries; each is returned once."""
        said = "".join(self._answers)
        self._answers.clear()
        return said.encode()

    def hide(self, spans_of: Callable[[str], Iterable[tuple[int, int]]]) -> None:
        """Replace what `spans_of` finds in the text with stars, even across lines."""
        for lines in ([*self.scrollback, *self.main.lines], self.other.lines):
            texts = [line.text + ("" if line.wrapped else "\n") for line in lines]
            begins = [0, *accumulate(map(len, texts))]
            for start, stop in spans_of("".join(texts)):
                first = bisect_right(begins, start) - 1
                for line, at in zip(lines[first:], begins[first:], strict=False):
                    if at >= stop:
                        break
                    line.star(max(start - at, 0), min(stop - at, len(line.text)))

    def drop_styles(self) -> None:
        """Drop the styles of all cells, and keep their text."""
        for line in [*self.scrollback, *self.main.lines, *self.other.lines]:
            line.style = PLAIN_MARK * len(line.text)

    # ---- changes

    def resize(self, rows: int, cols: int) -> None:
        """Change the size: the main screen and its scrollback are rewrapped, the other one is cut.

        Lines that no longer fit are scrolled off at the top; lines come back from the scrollback
        if the cursor was in the last row, as in the terminal in the browser.
        """
        rows, cols = _bounded(rows, cols)
        if (rows, cols) == (self.rows, self.cols):
            return
        hidden = self.saved_other
        y, other_y = (hidden.y, self.y) if self.alternate else (self.y, hidden.y)
        y = self._resize_main(min(y, self.rows - 1), rows, cols)
        gone = max(0, other_y + 1 - rows)
        self.other.lines = self.other.lines[gone : gone + rows]
        self.other.lines += [Line() for _ in range(rows - len(self.other.lines))]
        for line in self.other.lines:
            line.cut(cols)
        other_y -= gone
        self.tabs |= {at for at in range(8, cols, 8) if at >= self.cols}
        self.x = min(self.x + self.pending, cols - 1)
        self.pending = self.pending and cols == self.cols
        self.rows, self.cols = rows, cols
        self.top, self.bottom = 0, rows - 1
        self.y, hidden_y = (other_y, y) if self.alternate else (y, other_y)
        self.saved_other = hidden._replace(y=hidden_y)

    def _resize_main(self, y: int, rows: int, cols: int) -> int:
        """Resize the main screen; returns the new row of its cursor, which was in row `y`."""
        lines, first = [*self.scrollback, *self.main.lines], len(self.scrollback)
        at = first + y
        first = max(0, at + 1 - rows) if y >= min(self.rows - 1, rows) else first
        del lines[first + rows :]
        lines += [Line() for _ in range(first + rows - len(lines))]
        if cols != self.cols:
            y = at - first
            lines, at, first = reflowed(lines, at, first, cols, SCROLLBACK + rows)
            if cols > self.cols:
                first = max(0, at - y)
            filled = (n for n in range(len(lines), at, -1) if lines[n - 1].text.strip())
            first = min(at, max(first, next(filled, at + 1) - rows))
        self.scrollback.clear()
        self.scrollback.extend(lines[:first])
        self.main.lines = lines[first : first + rows]
        self.main.lines += [Line() for _ in range(rows - len(self.main.lines))]
        return at - first

    def skim(self, data: bytes) -> None:
        """Apply only the settings in output that scrolled by too fast to be shown."""
        self.feed(b"\x18")  # cancel an unfinished sequence: its end is in the skipped output
        if b"\x1b" in data:
            for found in SETTINGS.finditer(data):
                self.feed(found.group())

    def feed(self, data: bytes) -> None:
        """Process output of the program."""
        text = self._rest + self._decoder.decode(data)
        self._rest = ""
        at = self._skip_string(text) if self._swallow else 0
        while at < len(text):
            found = TOKENS.match(text, at)
            if found is None:
                begun = CUT_SHORT.match(text, at)
                if begun is None or begun.end() < len(text):
                    at = max(at + 1, begun.end() - (begun[0][-1] == "\x1b") if begun else 0)
                    continue
                self._begin(text[at:])
                return
            at = found.end()
            kind = found.lastindex
            if kind == 1:
                self.draw(found[1])
            elif at - found.start() > STRING_CHARS:
                continue
            elif kind == 2:
                self.x, self.pending = 0, False
                self.index()
            elif kind == 3:
                acts.control(self, found[3])
            elif kind == 7:
                acts.sequence(self, found[4], found[5], found[6], found[7])
            elif kind == 9:
                self.answer(answers.colour(found[8], found[9]))
            elif kind == 10:
                self.answer(answers.dcs(found[10]))
            elif kind == 12:
                acts.escape(self, found[11], found[12])

    def _begin(self, begun: str) -> None:
        """Keep the beginning of a sequence; of an overlong one, only what is needed to skip it."""
        kind = begun[1:2]
        if len(begun) <= STRING_CHARS:
            self._rest = begun
        elif kind in "]PX^_":
            self._swallow = kind
            self._rest = "\x1b" if begun.endswith("\x1b") else ""
        else:
            head = 2 if kind == "[" else 1
            self._rest = begun[:head] + begun[head:][-STRING_CHARS:]

    def _skip_string(self, text: str) -> int:
        """Where an overlong string ends; like any other, another escape also ends it."""
        found = (_OSC_ENDS if self._swallow == "]" else _STRING_ENDS).search(text)
        if found is None:
            return len(text)
        end = found.end()
        if found[0] == "\x1b":
            if end == len(text):
                self._rest = "\x1b"
                return end
            end += 1 if text[end] == "\\" else -1
        self._swallow = ""
        return end

    # ---- text

    def draw(self, text: str) -> None:
        if self.charsets[self.shifted] == "0":
            text = text.translate(_GRAPHICS)
        if not text.isascii():
            text = self._cells(text)
        if text:
            self.last = text[-1] if text[-1] != FILLER else text[-2]
        while text:
            if self.pending:
                self.grid.lines[self.y].wrapped = True
                self.x, self.pending = 0, False
                self.index()
            room = self.cols - self.x
            if 7 not in self.modes and len(text) > room:
                self._put(text[:room])
                self.x = self.cols - 1
                text = text[-1].replace(FILLER, " ")
                room = 1
            now = text[:room]
            if len(text) > room and text[room] == FILLER:
                now = now[:-1]  # a wide character moves to the next line as a whole
            self._put(now)
            text = text[len(now) :]
            self.x += len(now)
            if self.x >= self.cols or text:
                self.x = min(self.x, self.cols - 1)
                self.pending = 7 in self.modes

    def _put(self, cells: str) -> None:
        line = self.grid.lines[self.y]
        if 4 in self.ansi_modes:
            line.insert(self.x, len(cells), self.blank, self.cols)
        line.put(self.x, cells, self._mark)
        self.drawn = line, self.x + len(cells) - 1

    def _cells(self, text: str) -> str:
        """One character per cell: wide ones take two, marks join the character before them."""
        cells: list[str] = []
        for char in text:
            width = 1 if char.isascii() else _width(char)
            if width:
                cells.append(char if char != FILLER else "\N{REPLACEMENT CHARACTER}")
                if width == 2 and self.cols > 1:
                    cells.append(FILLER)
            else:
                self._join(cells, char)
        return "".join(cells)

    def _join(self, cells: list[str], mark: str) -> None:
        """Combine a mark with the character before it, if Unicode has a composed character."""
        if cells and cells[-1] != FILLER:
            composed = unicodedata.normalize("NFC", cells[-1] + mark)
            cells[-1] = composed if len(composed) == 1 else cells[-1]
        elif not cells and self.drawn is not None:
            line, at = self.drawn
            composed = unicodedata.normalize("NFC", line.text[at : at + 1] + mark)
            if len(composed) == 1 and at < len(line.text):
                line.put(at, composed, line.style[at])
                self.last = composed

    # ---- used by sequences

    def answer(self, said: str) -> None:
        if said and len(self._answers) < _MOST_ANSWERS:
            self._answers.append(said)

    def index(self) -> None:
        """Move one line down, scrolling at the bottom of the region."""
        if self.y == self.bottom:
            self.scroll_up(1)
        elif self.y < self.rows - 1:
            self.y += 1

    def scroll_up(self, count: int) -> None:
        gone = self.grid.scroll_up(self.top, self.bottom, count, self.blank, self.cols)
        if self.top == 0 and self.grid is self.main:
            self.scrollback.extend(gone)
        elif self.top:
            self.begin_line(self.top)

    def scroll_down(self, count: int, top: int | None = None) -> None:
        top = self.top if top is None else top
        self.begin_line(top)
        self.grid.scroll_down(top, self.bottom, count, self.blank, self.cols)
        self.grid.lines[self.bottom].wrapped = False

    def begin_line(self, row: int) -> None:
        """A row gets new content: the line above no longer continues in it."""
        if row:
            self.grid.lines[row - 1].wrapped = False
        elif self.scrollback and self.grid is self.main:
            self.scrollback[-1].wrapped = False

    def set_style(self, style: Style) -> None:
        self.style = style
        if self.styles.are_many:
            self._forget_styles()
        self._mark = self.styles.mark(style)
        self.blank = self.styles.mark(Style(bg=style.bg)) if style.bg else PLAIN_MARK

    def save(self) -> None:
        """Save the cursor and its style, as DECSC does."""
        charsets = (self.charsets[0], self.charsets[1])
        origin = 6 in self.modes
        self.saved = Saved(self.x, self.y, self.style, origin, charsets, self.shifted)

    def restore(self) -> None:
        saved = self.saved
        self.x, self.y = min(saved.x, self.cols - 1), min(saved.y, self.rows - 1)
        self.pending = False
        self.set_style(saved.style)
        self.modes = self.modes | {6} if saved.origin else self.modes - {6}
        self.charsets, self.shifted = list(saved.charsets), saved.shifted

    def forget_saved(self) -> None:
        self.saved = Saved()

    def _forget_styles(self) -> None:
        lines = [*self.main.lines, *self.other.lines, *self.scrollback]
        table = self.styles.forget_unused(line.style for line in lines)
        for line in lines:
            line.style = line.style.translate(table)


def _bounded(rows: int, cols: int) -> tuple[int, int]:
    return min(max(rows, 1), MOST_ROWS), min(max(cols, 1), MOST_COLS)


@lru_cache(maxsize=4_096)
def _width(char: str) -> int:
    """How many cells a character takes; 0 for a mark that combines with the one before it."""
    if char >= "\u1100" and unicodedata.east_asian_width(char) in "WF":
        return 2
    mark = unicodedata.category(char) in ("Mn", "Me", "Cf") and char != "\u00ad"
    return 0 if mark or "\u1160" <= char <= "\u11ff" else 1
