"""Writes to the terminal: colors and layout for people, plain text for pipes.

Text written by others (agents, programs, trackers) never controls a terminal: every control
character except our own colors is shown as its JSON escape. A character that the terminal's locale
lacks is replaced by one that it has.
"""

from __future__ import annotations

import codecs
import json
import os
import re
import sys
from typing import Any, TextIO

from longhouse.config import wants_colour
from longhouse.kernel.terminal import STEERING, spelled, tame

__all__ = ["Console", "Cut", "OutputLost", "wrapped"]

_STYLES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33", "blue": "36"}
_CLEAR = "\x1b[H\x1b[2J"
_OURS = "|".join(["0", *_STYLES.values()])
_COLOUR = rf"\x1b\[(?:{_OURS})(?:;(?:{_OURS}))*m"
_STEERS_OR_OURS = re.compile(rf"{_COLOUR}|{STEERING}")
_PIECES = re.compile(rf"{_COLOUR}|.", re.DOTALL)
_PLAIN = str.maketrans(
    {"…": "...", "—": "-", "✓": "x", "○": "o", "✗": "!", "←": "<-", "░": ".", "█": "#"}
)
_UTF_8 = frozenset({"utf-8", "utf8", "utf_8"})


class Cut(str):
    """A line of a list, cut at the terminal's edge; other lines wrap."""

    __slots__ = ()


class OutputLost(Exception):
    """The output cannot be written: the disk is full, or nothing reads it."""


def _tame_but_ours(text: str) -> str:
    """The text with our own colors, and nothing else that a terminal would obey."""
    return _STEERS_OR_OURS.sub(
        lambda found: found[0] if len(found[0]) > 1 else spelled(found[0]), text
    )


def _as_json_spells(error: UnicodeError) -> tuple[str, int]:
    """Characters that the encoding lacks, as JSON escapes, so that JSON stays valid."""
    assert isinstance(error, UnicodeEncodeError)
    lacking = error.object[error.start : error.end]
    return json.dumps(lacking)[1:-1], error.end


class Console:
    """Standard output and standard error of one run."""

    def __init__(self) -> None:
        codecs.register_error("longhouse", _as_json_spells)
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                stream.reconfigure(errors="longhouse")
        self._has_all_characters = (sys.stdout.encoding or "utf-8").lower() in _UTF_8
        self.for_people = sys.stdout.isatty()
        self._colour = {
            stream: stream.isatty() and wants_colour() for stream in (sys.stdout, sys.stderr)
        }
        self.width = _width(sys.stdout)

    def style(self, text: str, *styles: str, stream: TextIO | None = None) -> str:
        if not self._colour.get(stream or sys.stdout):
            return text
        codes = ";".join(_STYLES[style] for style in styles)
        return f"\x1b[{codes}m{text}\x1b[0m"

    def line(self, text: str = "") -> None:
        """A line for people."""
        edge = self.width if isinstance(text, Cut) else None
        if not self._has_all_characters:
            text = text.translate(_PLAIN)
        text = _tame_but_ours(text) if self._colour.get(sys.stdout, False) else tame(text)
        self._write(_cut(text, edge) if edge else text)

    def data(self, text: str) -> None:
        """A line for programs: only control characters are escaped; nothing is cut or colored."""
        self._write(tame(text))

    def clear(self) -> None:
        """Clear the screen, if a person is watching."""
        if self.for_people:
            sys.stdout.write(_CLEAR)

    def flush(self) -> None:
        try:
            sys.stdout.flush()
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputLost(error.strerror) from error

    def json(self, value: Any, *, pretty: bool | None = None) -> None:
        """JSON on one line, or indented for people."""
        if self.for_people if pretty is None else pretty:
            text = json.dumps(value, ensure_ascii=False, indent=2)
        else:
            text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
        self.data(text)

    def progress(self, text: str) -> None:
        """A progress line on standard error, if that is a terminal."""
        if sys.stderr.isatty():
            sys.stderr.write(self.style(tame(text), "dim", stream=sys.stderr) + "\n")
            sys.stderr.flush()

    def trouble(self, message: str, hints: list[tuple[str, str]]) -> None:
        """An error message, then what to do about it."""
        self.flush()
        head = self.style("longhouse:", "red", "bold", stream=sys.stderr)
        sys.stderr.write(f"{head} {_indented(message)}\n")
        for label, hint in hints:
            self.note(label, hint)
        sys.stderr.flush()

    def note(self, label: str, text: str) -> None:
        """A note on standard error; a command line is not wrapped, so that it can be pasted."""
        shown = self.style(f"{label:>6}", "dim", stream=sys.stderr)
        sys.stderr.write(f"{shown}  {_indented(text, whole=label == 'next')}\n")

    def _write(self, text: str) -> None:
        try:
            sys.stdout.write(text + "\n")
        except BrokenPipeError:
            raise
        except OSError as error:
            raise OutputLost(error.strerror) from error


def wrapped(text: str, width: int | None, indent: str) -> str:
    """The text on as many lines as it takes, those after the first indented."""
    if width is None or width < len(indent) + 20 or len(indent) + len(text) <= width:
        return text
    import textwrap

    lines = textwrap.wrap(text, width - len(indent), break_long_words=False, break_on_hyphens=False)
    return f"\n{indent}".join(lines)


def _width(stream: TextIO) -> int | None:
    """How many columns the terminal has; None if the stream is not a terminal."""
    try:
        return (os.get_terminal_size(stream.fileno()).columns if stream.isatty() else 0) or None
    except (OSError, ValueError):
        return None


def _cut(text: str, width: int) -> str:
    """The text up to the edge, with any color turned off again."""
    if len(text) <= width and text.isascii():
        return text
    from unicodedata import combining, east_asian_width

    kept: list[str] = []
    column = 0
    for piece in _PIECES.findall(text):
        if len(piece) == 1:
            column += 0 if combining(piece) else 1 + (east_asian_width(piece) in "WF")
        if column > width:
            last = next((i for i in reversed(range(len(kept))) if len(kept[i]) == 1), None)
            if last is not None:
                kept[last] = "…"
            return "".join(kept) + ("\x1b[0m" if "\x1b" in text else "")
        kept.append(piece)
    return text


def _indented(text: str, *, whole: bool = False) -> str:
    """The text with all further lines indented, so that none can pass for a line of ours."""
    lines = tame(text).split("\n")
    width = None if whole else _width(sys.stderr)
    return "\n        ".join(wrapped(line, width, " " * 8) for line in lines)
