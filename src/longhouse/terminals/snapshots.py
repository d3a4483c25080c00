"""Serializes a screen to the bytes that make another terminal of the same size show it.

The order is scrollback, the main screen, the alternate screen if it is shown, then margins, modes,
styles and the cursor. A snapshot contains no queries.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby
from typing import TYPE_CHECKING

from longhouse.terminals.grid import FILLER, Line
from longhouse.terminals.styles import PLAIN_MARK, Styles

if TYPE_CHECKING:
    from longhouse.terminals.screen import Saved, Screen

__all__ = ["snapshot_of"]

_CLEAN = (
    "\x1b[?1047l\x1b[!p\x1b[?9;1000;1002;1003;1004;1005;1006;1007;1015;1016;2004l\x1b[?7;25h"
    "\x1b[4;20l\x1b[0 q\x1b[m\x1b[H\x1b[2J"
)
_BARE = "\x1b[?6l\x1b(B\x1b)B\x0f\x1b[m"
"""The state for drawing: no origin mode, no line-drawing characters, no style."""
_DRAWING = frozenset({6, 7, 25, 47, 1047, 1049})
"""Modes that need their own place in a snapshot, instead of being set with the others."""


def snapshot_of(screen: Screen) -> bytes:
    """The bytes to send to a new terminal of the screen's size."""
    parts = [_CLEAN, *_drawn([*screen.scrollback, *screen.main.lines], screen.styles, screen.cols)]
    if screen.alternate:
        number = next(iter(screen.modes.intersection((1049, 1047, 47))), 1049)
        parts += [_saved(screen.saved_other), f"\x1b7\x1b[?{number}h", f"{_BARE}\x1b[H\x1b[2J"]
        parts += _drawn(screen.other.lines, screen.styles, screen.cols)
    if screen.tabs != set(range(8, screen.cols, 8)):
        parts += ["\x1b[3g", *(f"\x1b[1;{at + 1}H\x1bH" for at in sorted(screen.tabs))]
    parts.append(f"{_saved(screen.saved)}\x1b7")
    parts += _settings(screen)
    return "".join(parts).encode("utf-8", "replace")


def _drawn(lines: list[Line], styles: Styles, cols: int) -> Iterator[str]:
    """The lines in order; wrapped lines are wrapped again by the terminal."""
    for at, line in enumerate(lines):
        last = at == len(lines) - 1
        flows = line.wrapped and not last and _can_flow_into(lines[at + 1], styles)
        text, style = _without_blanks(line)
        if flows:
            text, style = text.ljust(cols), style.ljust(cols, PLAIN_MARK)
        begin = 0
        for mark, run in groupby(style):
            end = begin + len(list(run))
            yield f"{styles[mark].sgr()}{text[begin:end].replace(FILLER, '')}"
            begin = end
        if not last and not flows:
            yield "\x1b[m\r\n"


def _can_flow_into(line: Line, styles: Styles) -> bool:
    """Whether wrapping into this line moves the cursor there without coloring all of it."""
    text, style = _without_blanks(line)
    return bool(text) and not styles[style[0]].bg


def _without_blanks(line: Line) -> tuple[str, str]:
    """A line without its trailing plain blanks, which are invisible."""
    size = max(len(line.text.rstrip(" ")), len(line.style.rstrip(PLAIN_MARK)))
    return line.text[:size], line.style[:size]


def _settings(screen: Screen) -> Iterator[str]:
    if (screen.top, screen.bottom) != (0, screen.rows - 1):
        yield f"\x1b[{screen.top + 1};{screen.bottom + 1}r"
    first = screen.top if 6 in screen.modes else 0
    place = f"\x1b[{screen.y - first + 1};{screen.x + 1}H"
    yield "\x1b[?6h" if 6 in screen.modes else "\x1b[?6l"
    if screen.pending:
        yield _behind_the_last_column(screen, first)
    else:
        yield place
    yield screen.style.sgr()
    yield from (f"\x1b{'()'[at]}{one}" for at, one in enumerate(screen.charsets))
    yield "\x0e" if screen.shifted else "\x0f"
    if 7 not in screen.modes:
        yield "\x1b[?7l"
    if 25 not in screen.modes:
        yield "\x1b[?25l"
    yield from (f"\x1b[?{mode}h" for mode in sorted(screen.modes - _DRAWING))
    yield from (f"\x1b[{mode}h" for mode in sorted(screen.ansi_modes))
    yield "\x1b=" if screen.keypad else "\x1b>"
    if screen.cursor_shape:
        yield f"\x1b[{screen.cursor_shape} q"


def _behind_the_last_column(screen: Screen, first: int) -> str:
    """Only rewriting the last cell moves the cursor past it."""
    line = screen.grid.lines[screen.y]
    wide = line.text[screen.x : screen.x + 1] == FILLER
    at = screen.x - wide
    char, mark = line.text[at : at + 1] or " ", line.style[at : at + 1] or PLAIN_MARK
    look = screen.styles[mark].sgr()
    return f"\x1b(B\x0f\x1b[{screen.y - first + 1};{at + 1}H{look}{char}"


def _saved(saved: Saved) -> str:
    """The sequence that restores the cursor saved by DECSC."""
    sets = "".join(f"\x1b{'()'[at]}{one}" for at, one in enumerate(saved.charsets))
    shift = "\x0e" if saved.shifted else "\x0f"
    origin = "\x1b[?6h" if saved.origin else "\x1b[?6l"
    return f"{origin}\x1b[{saved.y + 1};{saved.x + 1}H{saved.style.sgr()}{sets}{shift}"
