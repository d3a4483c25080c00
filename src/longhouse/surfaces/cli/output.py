"""What reaches the terminal: colours and shape for people, plain text for pipes.

What others wrote (agents, programs, trackers) never steers a terminal: every control character but
our own colours is shown as JSON would spell it.
"""

from __future__ import annotations

import json
import re
import sys
from typing import Any, TextIO

from longhouse.config import wants_colour

__all__ = ["Output"]

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "36"}
_CLEAR = "\x1b[H\x1b[2J"
_OURS = "|".join(["0", *_STYLES.values()])
_STEERS = re.compile(
    rf"\x1b\[(?:{_OURS})(?:;(?:{_OURS}))*m"
    r"|\r(?!\n|\Z)|[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069]"
)
"""Our own colours, and what else a terminal obeys; a line may end as on Windows."""


def _tame(text: str, *, coloured: bool) -> str:
    def shown(found: re.Match[str]) -> str:
        if coloured and len(found[0]) > 1:
            return found[0]
        return f"\\u{ord(found[0][0]):04x}{found[0][1:]}"

    return _STEERS.sub(shown, text)


class Output:
    """The two streams of one run."""

    def __init__(self) -> None:
        self.for_people = sys.stdout.isatty()
        self._colour = {
            stream: stream.isatty() and wants_colour() for stream in (sys.stdout, sys.stderr)
        }

    def style(self, text: str, *styles: str, stream: TextIO | None = None) -> str:
        if not self._colour.get(stream or sys.stdout):
            return text
        codes = ";".join(_STYLES[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def line(self, text: str = "") -> None:
        sys.stdout.write(_tame(text, coloured=self._colour.get(sys.stdout, False)) + "\n")

    def clear(self) -> None:
        """An empty screen, for a person who watches."""
        if self.for_people:
            sys.stdout.write(_CLEAR)

    def flush(self) -> None:
        sys.stdout.flush()

    def json(self, value: Any, *, pretty: bool | None = None) -> None:
        """JSON on one line; for people indented."""
        if self.for_people if pretty is None else pretty:
            text = json.dumps(value, ensure_ascii=False, indent=2)
        else:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        self.line(text)

    def progress(self, text: str) -> None:
        """A line for a person who waits; nobody else sees it."""
        if sys.stderr.isatty():
            sys.stderr.write(self.style(text, "dim", stream=sys.stderr) + "\n")
            sys.stderr.flush()

    def trouble(self, message: str, hints: list[tuple[str, str]]) -> None:
        """An error in a sentence, then what to do about it."""
        sys.stdout.flush()
        head = self.style("longhouse:", "red", "bold", stream=sys.stderr)
        sys.stderr.write(f"{head} {_tame(message, coloured=False)}\n")
        for label, hint in hints:
            self.note(label, hint)
        sys.stderr.flush()

    def note(self, label: str, text: str) -> None:
        """A remark beside the answer."""
        shown = self.style(f"{label:>6}", "dim", stream=sys.stderr)
        sys.stderr.write(f"{shown}  {_tame(text, coloured=False)}\n")
