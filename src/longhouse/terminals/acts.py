"""Applies control and escape sequences to a screen: one function per sequence, found in a table."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from longhouse.terminals import answers
from longhouse.terminals.grid import Line
from longhouse.terminals.styles import PLAIN, PLAIN_MARK, restyled

if TYPE_CHECKING:
    from longhouse.terminals.screen import Screen

__all__ = ["control", "escape", "sequence"]

_MOST_NUMBERS = 16
_ALTERNATE = (47, 1047, 1049)
_KEPT = frozenset({1, 7, 9, 25, 1000, 1002, 1003, 1004, 1005, 1006, 1007, 1015, 1016, 2004})
"""The private modes that are simply on or off; 6 also moves the cursor."""


def control(screen: Screen, char: str) -> None:
    """Apply a control character; most have no effect on a screen."""
    if char in "\n\v\f":
        if 20 in screen.ansi_modes:
            screen.x = 0
        screen.pending = False
        screen.index()
    elif char == "\r":
        screen.x, screen.pending = 0, False
    elif char == "\b":
        screen.x, screen.pending = max(0, screen.x - 1), False
    elif char == "\t":
        _tab(screen, 1)
    elif char in "\x0e\x0f":
        screen.shifted = 1 if char == "\x0e" else 0


def escape(screen: Screen, between: str, final: str) -> None:
    """Apply an `ESC …` sequence."""
    if between in ("(", ")"):
        screen.charsets["()".index(between)] = final
    elif between == "#" and final == "8":
        screen.grid.lines = [
            Line("E" * screen.cols, PLAIN_MARK * screen.cols) for _ in range(screen.rows)
        ]
    elif not between and (act := _ESCAPES.get(final)):
        act(screen)


def sequence(screen: Screen, private: str, numbers: str, between: str, final: str) -> None:
    """Apply a `CSI …` sequence."""
    if final == "m" and not private and not between:
        screen.set_style(restyled(screen.style, numbers))
        return
    values = [_number(word) for word in numbers.split(";")[:_MOST_NUMBERS]]
    if act := _SEQUENCES.get(private + between + final):
        act(screen, values)
    elif private + between + final in (">c", "=c", "c"):
        screen.answer(answers.attributes(private, numbers))
    elif final == "n" and private in ("", "?") and not between:
        row = screen.y - (screen.top if 6 in screen.modes else 0)
        screen.answer(answers.cursor(private, numbers, row + 1, screen.x + 1))
    elif between + final == "$p" and private in ("", "?"):
        on = screen.modes if private else screen.ansi_modes
        screen.answer(answers.mode(private, values[0], on))
    elif private + final == ">q" and values[0] == 0:
        screen.answer("\x1bP>|Longhouse\x1b\\")


def _number(word: str) -> int:
    digits = word.partition(":")[0]
    return (
        min(int(digits), 65_535) if digits.isdigit() and len(digits) < 6 else 65_535 * bool(digits)
    )


# ---- moving


def _go(screen: Screen, row: int, col: int) -> None:
    """Move to a position counted from 1, within the margins in origin mode."""
    origin = 6 in screen.modes
    first, last = (screen.top, screen.bottom) if origin else (0, screen.rows - 1)
    screen.y = min(first + max(row, 1) - 1, last)
    screen.x = min(max(col, 1), screen.cols) - 1
    screen.pending = False


def _position(screen: Screen, values: list[int]) -> None:
    _go(screen, values[0], values[1] if len(values) > 1 else 1)


def _up(screen: Screen, values: list[int]) -> None:
    limit = screen.top if screen.y >= screen.top else 0
    screen.y, screen.pending = max(limit, screen.y - max(values[0], 1)), False


def _down(screen: Screen, values: list[int]) -> None:
    limit = screen.bottom if screen.y <= screen.bottom else screen.rows - 1
    screen.y, screen.pending = min(limit, screen.y + max(values[0], 1)), False


def _right(screen: Screen, values: list[int]) -> None:
    screen.x, screen.pending = min(screen.cols - 1, screen.x + max(values[0], 1)), False


def _left(screen: Screen, values: list[int]) -> None:
    screen.x, screen.pending = max(0, screen.x - max(values[0], 1)), False


def _lines_down(screen: Screen, values: list[int]) -> None:
    _down(screen, values)
    screen.x = 0


def _lines_up(screen: Screen, values: list[int]) -> None:
    _up(screen, values)
    screen.x = 0


def _column(screen: Screen, values: list[int]) -> None:
    screen.x, screen.pending = min(max(values[0], 1), screen.cols) - 1, False


def _row(screen: Screen, values: list[int]) -> None:
    _go(screen, values[0], screen.x + 1)


def _tab(screen: Screen, count: int) -> None:
    stops = sorted(at for at in screen.tabs if screen.x < at < screen.cols)
    screen.x = stops[count - 1] if count <= len(stops) else screen.cols - 1


def _tabs(screen: Screen, values: list[int]) -> None:
    _tab(screen, max(values[0], 1))


def _tabs_back(screen: Screen, values: list[int]) -> None:
    count = max(values[0], 1)
    stops = sorted((at for at in screen.tabs if at < screen.x), reverse=True)
    screen.x = stops[count - 1] if count <= len(stops) else 0


def _clear_tabs(screen: Screen, values: list[int]) -> None:
    if values[0] == 3:
        screen.tabs.clear()
    elif values[0] == 0:
        screen.tabs.discard(screen.x)


def _set_tab(screen: Screen) -> None:
    screen.tabs.add(screen.x)


def _reverse_index(screen: Screen) -> None:
    screen.pending = False
    if screen.y == screen.top:
        screen.scroll_down(1)
    elif screen.y:
        screen.y -= 1


def _index(screen: Screen) -> None:
    screen.pending = False
    screen.index()


def _next_line(screen: Screen) -> None:
    screen.x, screen.pending = 0, False
    screen.index()


def _scroll_up(screen: Screen, values: list[int]) -> None:
    screen.scroll_up(max(values[0], 1))


def _scroll_down(screen: Screen, values: list[int]) -> None:
    if len(values) == 1:  # with more values it is a mouse sequence
        screen.scroll_down(max(values[0], 1))


# ---- changing cells


def _erase_line(screen: Screen, values: list[int]) -> None:
    x, cols, how = screen.x, screen.cols, values[0]
    screen.pending = False
    line = screen.grid.lines[screen.y]
    start, stop = {0: (x, cols), 1: (0, x + 1), 2: (0, cols)}.get(how, (0, 0))
    if stop == cols:
        line.wrapped = False
        if start == 0:
            screen.begin_line(screen.y)
    line.erase(start, stop, screen.blank)


def _erase_display(screen: Screen, values: list[int]) -> None:
    how = values[0]
    if how == 3:
        screen.scrollback.clear()
        return
    if how in (0, 1):
        _erase_line(screen, values)
    y, rows = screen.y, screen.rows
    start, stop = {0: (y + 1, rows), 1: (0, y), 2: (0, rows)}.get(how, (0, 0))
    if start < stop:
        screen.begin_line(start)
        screen.grid.erase(start, stop, screen.blank, screen.cols)


def _insert_lines(screen: Screen, values: list[int]) -> None:
    if screen.top <= screen.y <= screen.bottom:
        screen.scroll_down(max(values[0], 1), screen.y)
        screen.x, screen.pending = 0, False


def _delete_lines(screen: Screen, values: list[int]) -> None:
    if screen.top <= screen.y <= screen.bottom:
        count = max(values[0], 1)
        screen.begin_line(screen.y)
        screen.grid.scroll_up(screen.y, screen.bottom, count, screen.blank, screen.cols)
        screen.x, screen.pending = 0, False


def _insert_chars(screen: Screen, values: list[int]) -> None:
    count = min(max(values[0], 1), screen.cols - screen.x)
    screen.grid.lines[screen.y].insert(screen.x, count, screen.blank, screen.cols)
    screen.pending = False


def _delete_chars(screen: Screen, values: list[int]) -> None:
    count = min(max(values[0], 1), screen.cols - screen.x)
    screen.grid.lines[screen.y].delete(screen.x, count, screen.blank, screen.cols)
    screen.pending = False


def _erase_chars(screen: Screen, values: list[int]) -> None:
    stop = min(screen.x + max(values[0], 1), screen.cols)
    screen.grid.lines[screen.y].erase(screen.x, stop, screen.blank)
    screen.pending = False


def _repeat(screen: Screen, values: list[int]) -> None:
    if screen.last:
        screen.draw(screen.last * min(max(values[0], 1), screen.cols * screen.rows))


# ---- settings


def _margins(screen: Screen, values: list[int]) -> None:
    top = max(values[0], 1) - 1
    bottom = min((values[1] if len(values) > 1 else 0) or screen.rows, screen.rows) - 1
    if top < bottom:
        screen.top, screen.bottom = top, bottom
        _go(screen, 1, 1)


def _private_on(screen: Screen, values: list[int]) -> None:
    for number in values:
        _set_mode(screen, number, on=True)


def _private_off(screen: Screen, values: list[int]) -> None:
    for number in values:
        _set_mode(screen, number, on=False)


def _set_mode(screen: Screen, number: int, *, on: bool) -> None:
    if number in _ALTERNATE:
        _switch(screen, number, on=on)
    elif number == 1048:
        (screen.save if on else screen.restore)()
    elif number in _KEPT or number == 6:
        screen.modes = screen.modes | {number} if on else screen.modes - {number}
        if number == 6:
            _go(screen, 1, 1)
        elif number == 7 and not on:
            screen.pending = False


def _switch(screen: Screen, number: int, *, on: bool) -> None:
    """Switch to the alternate screen or back; each has its own saved cursor."""
    if on == screen.alternate:
        return
    if number == 1049 and on:
        screen.save()
    screen.saved, screen.saved_other = screen.saved_other, screen.saved
    screen.grid = screen.other if on else screen.main
    screen.modes = screen.modes | {number} if on else screen.modes.difference(_ALTERNATE)
    if number == 1049 and on:
        screen.grid.erase(0, screen.rows, PLAIN_MARK, screen.cols)
    elif number == 1049:
        screen.restore()


def _ansi_on(screen: Screen, values: list[int]) -> None:
    screen.ansi_modes |= {4, 20}.intersection(values)


def _ansi_off(screen: Screen, values: list[int]) -> None:
    screen.ansi_modes -= set(values)


def _cursor_shape(screen: Screen, values: list[int]) -> None:
    screen.cursor_shape = values[0] if values[0] < 7 else 0


def _soft_reset(screen: Screen, _values: list[int]) -> None:
    screen.modes = screen.modes.difference({1, 6}) | {7, 25}
    screen.ansi_modes.clear()
    screen.keypad, screen.charsets, screen.shifted = False, ["B", "B"], 0
    screen.top, screen.bottom = 0, screen.rows - 1
    screen.set_style(PLAIN)
    screen.forget_saved()


def _size(screen: Screen, values: list[int]) -> None:
    if values[0] == 18:
        screen.answer(f"\x1b[8;{screen.rows};{screen.cols}t")


def _save(screen: Screen, _values: list[int]) -> None:
    screen.save()


def _restore(screen: Screen, _values: list[int]) -> None:
    screen.restore()


def _keypad_on(screen: Screen) -> None:
    screen.keypad = True


def _keypad_off(screen: Screen) -> None:
    screen.keypad = False


def _full_reset(screen: Screen) -> None:
    screen.reset()
    screen.scrollback.clear()


def _identify(screen: Screen) -> None:
    screen.answer(answers.attributes("", ""))


_ESCAPES: Final[dict[str, Callable[[Screen], object]]] = {
    "7": lambda screen: screen.save(),
    "8": lambda screen: screen.restore(),
    "=": _keypad_on,
    ">": _keypad_off,
    "D": _index,
    "E": _next_line,
    "H": _set_tab,
    "M": _reverse_index,
    "Z": _identify,
    "c": _full_reset,
}

_SEQUENCES: Final[dict[str, Callable[[Screen, list[int]], object]]] = {
    "@": _insert_chars,
    "A": _up,
    "B": _down,
    "C": _right,
    "D": _left,
    "E": _lines_down,
    "F": _lines_up,
    "G": _column,
    "H": _position,
    "I": _tabs,
    "J": _erase_display,
    "?J": _erase_display,
    "K": _erase_line,
    "?K": _erase_line,
    "L": _insert_lines,
    "M": _delete_lines,
    "P": _delete_chars,
    "S": _scroll_up,
    "T": _scroll_down,
    "X": _erase_chars,
    "Z": _tabs_back,
    "`": _column,
    "a": _right,
    "b": _repeat,
    "d": _row,
    "e": _down,
    "f": _position,
    "g": _clear_tabs,
    "h": _ansi_on,
    "l": _ansi_off,
    "?h": _private_on,
    "?l": _private_off,
    "r": _margins,
    "s": _save,
    "t": _size,
    "u": _restore,
    " q": _cursor_shape,
    "!p": _soft_reset,
}
