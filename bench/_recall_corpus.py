"""A corpus of believable projects for `bench/recall.py`: facts, look-alikes, and questions.

Each file of `recall_corpus` is one project in its own voice, with decisions that were replaced,
codes that differ by a digit, and a long conversation. Facts of `facts.txt` have look-alikes besides
that speak of the same thing and do not answer. Questions name the fact that answers them, fixed
before the search was run. Half of `questions_new.txt` is held out: nobody looks at its results
while changing the ranking, only at the share that is found.
"""

from __future__ import annotations

import re
import zlib
from pathlib import Path
from typing import NamedTuple

__all__ = ["HELD_OUT", "SEEN", "Fact", "facts", "lookalikes", "questions"]

SEEN, HELD_OUT = "seen", "held-out"
_PROJECTS = ("facts", "clinic", "game", "ledger", "compiler", "fleet", "conversation")
FOLDER = Path(__file__).with_name("recall_corpus")
_TEMPLATES = (
    "Standup: still looking at {0} and {1}, nothing new, continue tomorrow.",
    "Asked the others again about {0}. Nobody knows; somebody should write it down.",
    "Opened a ticket to document {0}, and closed two old ones about {1} and {2}.",
    "Meeting notes: {1} took most of the hour, {0} was postponed to next week.",
)


class Fact(NamedTuple):
    key: str
    kind: str
    title: str
    text: str


def facts() -> list[Fact]:
    """Facts that questions ask for; a `gone:` one was replaced by the fact it names."""
    return [Fact(*parts) for name in _PROJECTS for parts in _lines(f"{name}.txt")]


def questions(which: str) -> list[tuple[str, str]]:
    """Questions, each with the key of the fact that answers it."""
    if which not in (SEEN, HELD_OUT):
        return [(key, question) for key, question in _lines(f"questions_{which}.txt")]
    asked = [(key, question) for key, question in _lines("questions_new.txt")]
    return [one for one in asked if _is_held_out(*one) == (which == HELD_OUT)]


def _is_held_out(key: str, question: str) -> bool:
    return bool(zlib.crc32(f"{key} {question}".encode()) & 1)


def lookalikes() -> list[str]:
    """Texts with the words of facts, but without what they say."""
    topics = [_topic(Fact(*parts)) for parts in _lines("facts.txt")]
    made = []
    for at in range(len(topics)):
        some = [topics[(at + step) % len(topics)] for step in (0, 7, 19)]
        made += [template.format(*some) for template in _TEMPLATES]
    return made


def _topic(fact: Fact) -> str:
    """What a fact is about: its title, or how it begins."""
    words = re.findall(r"[\w'.-]+", fact.title or fact.text)
    return " ".join(words[:7]).rstrip(".").lower()


def _lines(name: str) -> list[list[str]]:
    text = (FOLDER / name).read_text(encoding="utf-8")
    rows = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [[part.strip() for part in row.split("|")] for row in rows]
