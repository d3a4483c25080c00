"""Rewraps lines for another width, so that a narrower window loses nothing.

The cursor's line is left to the program: shells and editors redraw it, and would not expect it to
have moved. The terminal in the browser does the same.
"""

from __future__ import annotations

from longhouse.terminals.grid import FILLER, Line

__all__ = ["reflowed"]


def reflowed(
    lines: list[Line], cursor: int, first: int, cols: int, most: int
) -> tuple[list[Line], int, int]:
    """The last `most` lines at that width, and the new positions of the cursor's line and the
    first line of the screen."""
    parts: list[list[Line]] = []
    made, stop = 0, len(lines)
    behind = {cursor: 0, first: most}
    while stop and made < most:
        start = stop - 1
        while start and lines[start - 1].wrapped:
            start -= 1
        part = lines[start:stop]
        if start <= cursor < stop:
            for line in part:
                line.cut(cols)
        else:
            part = _wrapped(part, cols, most)
        for mark in behind:
            if start <= mark < stop:
                behind[mark] = made + len(part) - min(mark - start, len(part) - 1)
        parts.append(part)
        made += len(part)
        stop = start
    whole = [line for part in reversed(parts) for line in part]
    return whole, len(whole) - behind[cursor], max(0, len(whole) - behind[first])


def _wrapped(lines: list[Line], cols: int, most: int) -> list[Line]:
    """One unwrapped line, given as wrapped lines, rewrapped for another width."""
    text = "".join(line.text for line in lines)
    style = "".join(line.style for line in lines)
    if cols == 1:  # a wide character has no room for its second cell
        style = "".join(mark for char, mark in zip(text, style, strict=True) if char != FILLER)
        text = text.replace(FILLER, "")
    at = max(0, -(-len(text) // cols) - most) * cols  # skip what would be scrolled off anyway
    made: list[Line] = []
    while at < len(text) or not made:
        stop = at + cols
        if text[stop : stop + 1] == FILLER:
            stop -= 1  # a wide character moves to the next line as a whole
        made.append(Line(text[at:stop], style[at:stop]))
        made[-1].wrapped = True
        at = stop
    made[-1].wrapped = lines[-1].wrapped
    return made
