"""The grammar of what a terminal is sent: text, controls, escape sequences, and questions.

A question is a sequence that a terminal answers as if somebody had typed. Of everyone who looks at
a program only its host answers (`answers.py`); everybody else takes questions out (`Unasked`).
"""

from __future__ import annotations

import re

__all__ = ["CUT_SHORT", "QUESTIONS", "SETTINGS", "STRING_CHARS", "TOKENS", "Unasked"]

STRING_CHARS = 4_096
"""The longest string (of an OSC or DCS) that is looked at; of a longer one nothing is."""

TOKENS = re.compile(
    r"([^\x00-\x1f\x7f-\x9f]+)"  # 1 text
    r"|(\r\n)"  # 2 the end of a line
    r"|([\x00-\x1a\x1c-\x1f\x7f-\x9f])"  # 3 a control
    r"|\x1b\[([<-?]?)([0-9;:]*)([ -/]*)([@-~])"  # 4 to 7 CSI: private, numbers, intermediate, final
    r"|\x1b\]([^\x07\x18\x1a\x1b]*)(\x07|\x1b\\)"  # 8, 9 OSC
    r"|\x1bP([^\x18\x1a\x1b]*)\x1b\\"  # 10 DCS
    r"|\x1b[X^_][^\x18\x1a\x1b]*\x1b\\"  # SOS, PM, APC
    r"|\x1b([ -/]*)([0-OQ-WYZ\\`-~])"  # 11, 12 ESC: intermediate, final
)
"""One thing after another; an escape that no alternative takes is cut short, or not yet whole."""

CUT_SHORT = re.compile(
    r"\x1b(?:\[[<-?]?[0-9;:]*[ -/]*|\][^\x07\x18\x1a\x1b]*\x1b?|[PX^_][^\x18\x1a\x1b]*\x1b?|[ -/]*)"
)
"""The beginning of an escape sequence, as far as it is one."""

QUESTIONS = re.compile(
    rb"\x1b(?:\[(?:[>=?]?[0-9;]*[cn]|\??[0-9;]*\$p|>[0-9]*q|(?:14|16|18|19)t|\?u)"
    rb"|\](?:1[0-9]|4;[0-9]+);\?(?:\x07|\x1b\\)"
    rb"|P[+$]q[^\x1b]*\x1b\\|Z)|\x05"
)

SETTINGS = re.compile(rb"\x1b(?:\[\??[0-9;]*[hl]|\[[0-9;]*r|\[!p|\[[0-9]* q|[c=>]|[()][0B])")
"""What a screen must not miss even where nobody looks at the rest: modes, margins, resets."""

_CHAR = re.compile(rb"\x1b(?:\[[<-?]?[0-9;:]*[ -/]*|[\]P][^\x07\x1b]{0,256}\x1b?)?\Z")


class Unasked:
    """A stream of output without its questions, for a terminal that would answer them."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> bytes:
        """What can be shown now: an escape sequence that is not whole yet waits for its end."""
        data = self._rest + data
        if b"\x1b" not in data and b"\x05" not in data:
            self._rest = b""
            return data
        begun = _CHAR.search(data, max(0, len(data) - 512))
        whole = begun.start() if begun else len(data)
        self._rest = data[whole:]
        return QUESTIONS.sub(b"", data[:whole])
