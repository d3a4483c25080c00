"""The grammar of terminal output: text, controls, escape sequences, and queries.

A query is a sequence that a terminal answers as if someone had typed. Only a program's host answers
queries (`answers.py`); viewers remove them (`passive.py`).
"""

from __future__ import annotations

import re

__all__ = ["CUT_SHORT", "NOTABLE", "QUESTIONS", "SETTINGS", "STRING_CHARS", "TOKENS"]

STRING_CHARS = 4_096
"""The longest string (of an OSC or DCS) that is interpreted; longer ones are ignored."""

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
"""One token at a time; an escape that matches no alternative is malformed or incomplete."""

CUT_SHORT = re.compile(
    r"\x1b(?:\[[<-?]?[0-9;:]*[ -/]*|\][^\x07\x18\x1a\x1b]*\x1b?|[PX^_][^\x18\x1a\x1b]*\x1b?|[ -/]*)"
)
"""The longest valid beginning of an escape sequence."""

QUESTIONS = re.compile(
    rb"\x1b(?:\[(?:[>=?]?[0-9;]*[cn]|\??[0-9;]*\$p|>[0-9]*q|(?:14|16|18|19)t|\?u)"
    rb"|\](?:1[0-9]|4;[0-9]+);\?(?:\x07|\x1b\\)"
    rb"|P[+$]q[^\x1b]*\x1b\\|Z)"
)
"""What a program asks its terminal, which then must answer."""

NOTABLE = re.compile(rb"\x1b(?:\[[0-9;]*[^0-9;mABCDGHJK]|[^\[])")
"""Matches every query and setting, and little else: a cheap test, since most output, even colorful
output, has none."""

SETTINGS = re.compile(
    rb"\x1b(?:\[(?:\?[0-9;]*[hl]|!p|[0-9;]*(?:[hlr]| q))|[c=>]|[()][0B])",
)
"""What a screen must not miss even if the rest is skipped: modes, margins, resets."""
