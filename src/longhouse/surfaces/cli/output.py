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
from longhouse.kernel.terminal import STEERING, spelled, tame

__all__ = ["Output"]

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "36"}
_CLEAR = "\x1b[H\x1b[2J"
_OURS = "|".join(["0", *_STYLES.values()])
_STEERS_OR_OURS = re.compile(rf"\x1b\[(?:{_OURS})(?:;(?:{_OURS}))*m|{STEERING}")


def _tame_but_ours(text: str) -> str:
    """The text with our own colours, and nothing else that a terminal obeys."""
    return _STEERS_OR_OURS.sub(
        lambda found: found[0] if len(found[0]) > 1 else spelled(found[0]), text
    )


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
        coloured = self._colour.get(sys.stdout, False)
        sys.stdout.write((_tame_but_ours(text) if coloured else tame(text)) + "\n")

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
            sys.stderr.write(self.style(tame(text), "dim", stream=sys.stderr) + "\n")
            sys.stderr.flush()

    def trouble(self, message: str, hints: list[tuple[str, str]]) -> None:
        """An error in a sentence, then what to do about it."""
        sys.stdout.flush()
        head = self.style("longhouse:", "red", "bold", stream=sys.stderr)
        sys.stderr.write(f"{head} {_indented(message)}\n")
        for label, hint in hints:
            self.note(label, hint)
        sys.stderr.flush()

    def note(self, label: str, text: str) -> None:
        """A remark beside the answer."""
        shown = self.style(f"{label:>6}", "dim", stream=sys.stderr)
        sys.stderr.write(f"{shown}  {_indented(text)}\n")


def _indented(text: str) -> str:
    """A further line of somebody's text cannot pass for a line of ours."""
    return tame(text).replace("\n", "\n        ")
