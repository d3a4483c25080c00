"""The grammar of names and of the refs that agents paste between calls.

Rooms declare the kinds of their refs where they open them (`Room.opens`); the manifest that ships
with the package lists them. So the server, the runner, the command line and the page agree on what
a ref looks like, where one stands in a text, and which kinds may be cited or prove work.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path
from typing import NamedTuple

from longhouse.kernel.errors import InvalidName

__all__ = [
    "MANIFEST",
    "NAME",
    "NAME_RULE",
    "RESERVED_NODE_PREFIXES",
    "RefGrammar",
    "RefKind",
    "check_workspace",
    "ref_grammar",
    "seq_ref",
]

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._/-]{0,127}\Z")
NAME_RULE = "use up to 128 of A-Z a-z 0-9 . _ / -, starting with a letter or digit"
"""What `NAME` allows, as a recovery."""

RESERVED_NODE_PREFIXES = ("task:", "step:")
MANIFEST = Path(__file__).parent.parent / "manifest.json"

_BEFORE = r"(?<![\w@:/.<-])"
_AFTER = r"(?![\w>@]|\.\w)"
_GROUP_NAME = re.compile(r"\(\?P<\w+>")
_NUMBERED = re.compile(r"([A-Z]+)-[0-9]{3}\Z")


class RefKind(NamedTuple):
    """One kind of ref: how it is written, and what it counts for.

    `mention` is how it appears in a text, where the pattern alone would take in too much; None if
    it is not searched for in texts. A `general` kind has no prefix of its own, so every other kind
    comes first.
    """

    kind: str
    what: str
    pattern: str
    example: str
    mention: str | None
    proves: bool = True
    cites: bool = True
    general: bool = False

    @property
    def shape(self) -> str:
        """For people: what it is, with an example."""
        return f"{self.what}, like {self.example}"


class RefGrammar:
    """Recognizes refs, alone or in a text, by their shape; only `open` knows whether they exist."""

    def __init__(self, kinds: Iterable[RefKind]) -> None:
        self.kinds = tuple(kinds)
        self._whole = [(one, re.compile(rf"(?:{one.pattern})\Z")) for one in self.kinds]
        said = (_GROUP_NAME.sub("(?:", one.mention) for one in self.kinds if one.mention)
        self._said = re.compile(f"{_BEFORE}(?:{'|'.join(said)}){_AFTER}")
        prefixes = (m[1] for one in self.kinds if (m := _NUMBERED.match(one.example)))
        self._prefixes = tuple(dict.fromkeys(prefixes))
        typed = rf"({'|'.join(self._prefixes)})-?([0-9]{{1,12}})(@[0-9]{{1,16}})?"
        self._typed = re.compile(typed, re.IGNORECASE)

    def kinds_of(self, ref: str) -> list[RefKind]:
        """The kinds that a ref may be of: at most one unless all of them are general."""
        found = [one for one, pattern in self._whole if pattern.match(ref)]
        return [one for one in found if not one.general] or found

    def is_a(self, kind: str, ref: str) -> bool:
        """Whether a ref of this shape may be of that kind."""
        return any(one.kind == kind for one in self.kinds_of(ref))

    def find(self, text: str) -> list[str]:
        """The refs in a text, in order and without duplicates."""
        return list(dict.fromkeys(match[0] for match in self._said.finditer(text)))

    def may_prove(self, ref: str) -> bool:
        """Whether a ref of this shape can prove that work was done."""
        return any(one.proves for one in self.kinds_of(ref))

    def may_cite(self, ref: str) -> bool:
        """Whether a ref of this shape is remembered as a citation."""
        return any(one.cites for one in self.kinds_of(ref))

    def resembles(self, text: str) -> bool:
        """Whether the text is a ref, or one word that starts like one (`TASK-1x`)."""
        prefix, dash, rest = text.partition("-")
        started = bool(dash and rest) and prefix in self._prefixes and not re.search(r"\s", text)
        return started or bool(self.kinds_of(text))

    def numbered(self, word: str) -> str | None:
        """The ref that `job1`, `job-1` or `JOB-1@6` spells; None if it spells none."""
        named = self._typed.fullmatch(word)
        return f"{named[1].upper()}-{int(named[2]):03d}{named[3] or ''}" if named else None


@cache
def ref_grammar() -> RefGrammar:
    """The refs of this version, as its manifest lists them."""
    rows = json.loads(MANIFEST.read_text(encoding="utf-8"))["openers"]
    return RefGrammar(RefKind(**row[0]) for row in rows)


def check_workspace(name: str) -> str:
    """Return the name, or raise InvalidName saying what is allowed."""
    if not NAME.match(name):
        raise InvalidName(
            f"workspace: {name[:80]!r} is not a valid workspace name",
            recovery=NAME_RULE,
        )
    return name


def seq_ref(subject: str, seq: int) -> str:
    """`JOB-007@45`, `notes@123`: a subject and the seq of one of its records."""
    return f"{subject}@{seq}"
