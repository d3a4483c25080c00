"""Lines as a terminal shows them after carriage returns, backspaces and moves within the line.

A progress bar, an edited prompt or a pager writes over what it wrote before, so a secret may appear
on the screen that stands nowhere in the output. Only lines that move are painted. Wrapping,
scrolling and moves between lines are not followed. Takes linear time.
"""

from __future__ import annotations

import re

from longhouse.kernel.effort import spend

__all__ = ["Painted", "moves"]

_MOVES = re.compile(r"\x08|(?<!\r)\r++(?!\n|\Z)|(?:\x1b\[|\x9b)[0-9]{0,4}[CDGa`]")
_PART = re.compile(
    r"(?P<move>(?:\x1b\[|\x9b)(?P<count>[0-9]{0,4})(?P<how>[CDGa`]))"
    r"|(?P<back>\x08+)|(?P<home>\r+)|(?P<tab>\t)"
    r"|(?P<other>(?:\x1b\[|\x9b)[0-?]*+[ -/]*+[@-~]?+|\x1b[\]PX^_][^\x07\x1b]*+(?:\x07|\x1b\\)?+"
    r"|\x1b[ -/]*+[0-~]?+|[\x00-\x07\x0b-\x1f\x7f])"
    r"|(?P<plain>[^\x00-\x1f\x7f\x9b]+)|(?P<rest>.)",
    re.DOTALL,
)


def moves(text: str) -> bool:
    """Whether something in a text is written over, or away from where the last part ended."""
    return _MOVES.search(text) is not None


class Painted:
    """The lines of a text that move, as they look in the end, and where their characters were."""

    def __init__(self, text: str) -> None:
        self._from: list[int] = []
        shown: list[str] = []
        start = 0
        for line in text.split("\n"):
            if moves(line):
                spend(len(line))
                cells, came = _paint(line, start)
                shown += [*cells, "\n"]
                self._from += [*came, start + len(line)]
            start += len(line) + 1
        if shown and self._from[-1] >= len(text):  # the last line may go on
            del shown[-1], self._from[-1]
        self.text = "".join(shown)

    def back(self, start: int, stop: int) -> tuple[int, int]:
        """The part of the original between the first and the last character of a span."""
        came = self._from[start:stop]
        return min(came), max(came) + 1


def _paint(line: str, start: int) -> tuple[list[str], list[int]]:
    """What one line shows in the end, and the offsets of its characters; a gap is one blank."""
    cells: dict[int, int] = {}
    column = 0
    for part in _PART.finditer(line):
        kind, at = part.lastgroup, part.start()
        if kind == "plain":
            after = column + len(part[0])
            cells.update(zip(range(column, after), range(at, part.end()), strict=True))
            column = after
        elif kind == "back":
            column = max(0, column - len(part[0]))
        elif kind == "home":
            column = 0
        elif kind == "tab":
            column = column // 8 * 8 + 8
        elif kind == "move":
            count = max(1, int(part["count"] or 1))
            moved = {"D": column - count, "G": count - 1, "`": count - 1}
            column = max(0, moved.get(part["how"], column + count))
    shown: list[str] = []
    came: list[int] = []
    before = -1
    for at in sorted(cells):
        if at != before + 1:
            shown.append(" ")
            came.append(start + cells[at])
        shown.append(line[cells[at]])
        came.append(start + cells[at])
        before = at
    return shown, came
