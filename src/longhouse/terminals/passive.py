"""Makes a program's output safe to show in a viewer's terminal.

A terminal answers some sequences: where its cursor is, what it can do, what is in the clipboard.
The answer arrives as if it were typed, so it would reach the program twice, or the shell of someone
who watches a recording. The host's emulator answers a live program; here every query is removed.
Sequences known to be harmless pass, and everything else is dropped.
"""

from __future__ import annotations

import codecs
import re
from functools import lru_cache
from typing import Final

__all__ = ["Passive"]

_ESC, _ST, _BEL = "\x1b", "\x9c", "\x07"
_LONGEST: Final = 4_096
_STRINGS: Final = frozenset("PX]^_")
_BEGINS = re.compile("[\x05\x1b\x80-\x9f]")
_IN_STRING = re.compile("[^\x00-\x1f\x80-\x9f]+")
_ESCAPES = re.compile(r"\x1b(?:[78=>DEHMc\\]|[()][0B]|#[3-68])")
"""The cursor, tabs, resets, character sets and large lines. Others could make a terminal interpret
parts of a character as controls (`ESC % @`), or answer (`ESC Z`)."""
_CSI = re.compile(r"\x1b\[([<=>?]?)([0-9:;]{0,256})([ -/]*)([@-~])")

_FINALS: Final = {
    ("", ""): frozenset("@ABCDEFGHIJKLMPSTXZ`abdefgmrsu"),
    ("?", ""): frozenset("JK"),
    (">", ""): frozenset("mu"),
    ("<", ""): frozenset("u"),
    ("=", ""): frozenset("u"),
    ("", " "): frozenset("q@A"),
    ("", "!"): frozenset("p"),
    ("", '"'): frozenset("q"),
    ("", "$"): frozenset("rtvxz{"),
}
"""The control sequences that change the display or how keys are sent, and are never answered."""
_REFUSED_MODES: Final = frozenset({"2", "1001", "2031", "2048"})
"""Private modes that change the type of the terminal, make it wait for the program, or make it
report something as soon as they are set."""
_ANSI_MODES: Final = frozenset({"4", "20"})
"""Insert mode and new-line mode; another mode would lock the keyboard."""
_PLAIN_WORDS: Final = frozenset({"133"})
_COLOURS: Final = frozenset({"4", "10", "11", "12", "104", "110", "111", "112"})
_LINK: Final = re.compile(r"[^;]{0,256};(?:https?://[^\s]*)?", re.IGNORECASE)
"""What may follow `ESC ]`: shell marks; links to the web, or the end of a link, but not to files;
colors, unless they are queried. No titles, and no folder, which new windows would start in."""


_SCREENS: Final = frozenset({"47", "1047", "1049"})
_ON_AT_FIRST: Final = frozenset({"7", "25"})
"""The modes that are on in a new terminal: it wraps lines and shows a cursor."""
_UNDO: Final = {
    "m": "\x1b[0m",
    "r": "\x1b7\x1b[r\x1b8",
    " q": "\x1b[0 q",
    ">m": "\x1b[>4m",
    ">u": "\x1b[<9u",
    "=u": "\x1b[=0u",
    "h": "\x1b[4;20l",
    "=": "\x1b>",
    "(0": "\x1b(B",
    ")0": "\x0f",
}
"""Other sequences that change a terminal, and the sequence that undoes each."""


class Passive:
    """Filters one stream: returns what is fed, without anything that a terminal would answer.

    A sequence is passed whole or not at all, so fragments never combine into another one.
    """

    def __init__(self) -> None:
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._begun = ""
        self._modes: dict[str, bool] = {}
        self._others: dict[str, str] = {}

    def feed(self, data: bytes) -> bytes:
        text, at, out = self._decoder.decode(data), 0, list[str]()
        while at < len(text):
            if self._begun:
                at = self._go_on(text, at, out)
            elif found := _BEGINS.search(text, at):
                out.append(text[at : found.start()])
                at = found.end()
                if whole := _CSI.match(text, found.start()):  # the common case, and faster
                    at = whole.end()
                    if _is_harmless(*whole.groups()):
                        out.append(whole[0])
                        self._note(*whole.groups())
                else:
                    self._begun = _ESC if found[0] == _ESC else ""
            else:
                out.append(text[at:])
                break
        return "".join(out).encode()

    @property
    def undo(self) -> bytes:
        """What restores a terminal to its state before this stream was shown."""
        changed = [mode for mode, on in self._modes.items() if on != (mode in _ON_AT_FIRST)]
        changed.sort(key=lambda mode: mode not in _SCREENS)  # first back to the main screen
        modes = (f"\x1b[?{mode}{'h' if mode in _ON_AT_FIRST else 'l'}" for mode in changed)
        return "".join((*modes, *self._others.values())).encode()

    def _note(self, private: str, params: str, between: str, final: str) -> None:
        """Remember what must be undone."""
        if private == "?" and final in "hl":
            self._modes.update(dict.fromkeys(_modes_in(params), final == "h"))
        elif undo := _UNDO.get(private + between + final):
            self._others[private + between + final] = undo

    def _go_on(self, text: str, at: int, out: list[str]) -> int:
        """Add a character, or a run of string characters, to the unfinished sequence."""
        begun, char = self._begun, text[at]
        kind = begun[1:2]
        if kind in _STRINGS and kind:
            return self._in_string(text, at, out)
        if char == _ESC:
            self._begun = _ESC
        elif char in "\x18\x1a" or char > "\x7f":
            self._begun = ""
        elif char < " " or char == "\x7f":
            pass  # a terminal executes it within a sequence; here it is dropped
        elif kind == "[":
            self._begun = self._longer(char)
            if char >= "@":
                found = _CSI.fullmatch(self._begun)
                passes = found is not None and _is_harmless(*found.groups())
                if found and passes:
                    self._note(*found.groups())
                self._end(out, passes)
        else:
            self._begun = self._longer(char)
            if char >= "0" and not (kind == "" and (char == "[" or char in _STRINGS)):
                if undo := _UNDO.get(self._begun[1:]):
                    self._others[self._begun[1:]] = undo
                self._end(out, _ESCAPES.fullmatch(self._begun) is not None)
        return at + 1

    def _in_string(self, text: str, at: int, out: list[str]) -> int:
        if self._begun.endswith(_ESC):
            self._begun = self._begun[:-1]
            if text[at] == "\\":
                self._end(out, _is_plain(self._begun), "\x1b\\")
                return at + 1
            self._begun = _ESC  # another sequence has begun instead
            return at
        if run := _IN_STRING.match(text, at):
            self._begun = self._longer(run[0])
            return run.end()
        char = text[at]
        if char == _ST or (char == _BEL and self._begun[1] == "]"):
            self._end(out, _is_plain(self._begun), _BEL if char == _BEL else "\x1b\\")
        elif char == _ESC:
            self._begun += _ESC
        elif char in "\x18\x1a":
            self._begun = ""
        return at + 1

    def _longer(self, more: str) -> str:
        """The sequence with more characters, but only enough to know that it is too long."""
        return self._begun + more[: max(0, _LONGEST + 1 - len(self._begun))]

    def _end(self, out: list[str], passes: bool, stop: str = "") -> None:
        if passes and len(self._begun) <= _LONGEST:
            out.append(self._begun + stop)
        self._begun = ""


def _is_plain(string: str) -> bool:
    word, _, value = string[2:].partition(";")
    if string[1] != "]":
        return False
    if word == "8":
        return _LINK.fullmatch(value) is not None
    return word in _PLAIN_WORDS or (word in _COLOURS and "?" not in value)


def _modes_in(params: str) -> list[str]:
    """The mode numbers as a terminal reads them: without leading zeros and subparameters."""
    return [word.partition(":")[0].lstrip("0") or "0" for word in params.split(";")]


@lru_cache(1_024)
def _is_harmless(private: str, params: str, between: str, final: str) -> bool:
    if (private, between, final) == ("", "", "t"):
        return params.split(";")[0] in ("22", "23")  # the stack of titles
    if final in "hl" and not between:
        modes = _modes_in(params)
        if private == "?":
            return _REFUSED_MODES.isdisjoint(modes)
        return not private and _ANSI_MODES.issuperset(modes)
    return final in _FINALS.get((private, between), ())
