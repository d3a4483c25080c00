"""Names that only look like another: ranks, and other spellings of an identity or a job.

A name that a caller has not proved is a label. It may not be a rank, such as `operator`, and it may
not be another spelling of a name that belongs to someone else.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Literal

from longhouse.kernel.errors import Forbidden

__all__ = ["is_a_rank", "refuse_rank", "spellings"]

RANKS = frozenset(
    {"admin", "administrator", "human", "longhouse", "manager", "operator", "owner", "person"}
    | {"root", "server", "system", "viewer"}
)
_ALIKE = str.maketrans(
    "\u0430\u0251\u03b1\u0432\u0441\u0501\u0435\u0454\u04bb\u043d\u0131\u0456\u0457"
    "\u0458\u043a\u043c\u0578\u043f\u043e\u03bf\u0440\u03c1\u051b\u0433\u0455\u0442"
    "\u03c4\u03c5\u0475\u03bd\u051d\u0445\u0443\u03b3\u0585\ua4f30135",
    "aaabcdeehhiiijkmnnooppqrsttuvvwxyyoooles",
)
"""Letters of other scripts, and digits, that look like Latin letters."""
_ORDINARY = re.compile(r"(?!job)[a-z0-9]+(?:-[a-z0-9]+)*\Z")
_AROUND = re.compile(r"\A[\W_]+|[\W_]+\Z")
_JOB = re.compile(r"job[\W_]*([0-9]{1,12})\Z", re.ASCII)


def refuse_rank(field: str, name: str) -> None:
    """Refuse a label that reads like a rank, however it is spelled."""
    if is_a_rank(name):
        raise Forbidden(
            f"{field}: {name[:80]!r} names a rank, and an agent may not pose as one",
            recovery=f"leave {field} out, or use a name of your own, like amber-otter",
        )


def is_a_rank(name: str) -> bool:
    """Whether a label reads like a rank, also with accents or punctuation."""
    plain = _AROUND.sub("", _plain(name, "NFKD"))
    return plain in RANKS or plain.translate(_ALIKE) in RANKS


def spellings(name: str) -> tuple[str, ...]:
    """The names that this one may be mistaken for; none if it is spelled as names are."""
    if _ORDINARY.match(name):
        return ()
    plain = _plain(name)
    found = {plain, plain.translate(_LETTERS_ALIKE)}
    jobs = {f"JOB-{int(job[1]):03d}" for one in found if (job := _JOB.match(one))}
    return tuple(sorted((jobs or found) - {name, ""}))


def _plain(name: str, form: Literal["NFKC", "NFKD"] = "NFKC") -> str:
    """The name in lower case, with ASCII digits, and without what cannot be seen."""
    seen = (
        str(unicodedata.decimal(char, char))
        for char in unicodedata.normalize(form, name)
        if unicodedata.category(char) not in ("Cc", "Cf", "Mn", "Me")
    )
    return "".join(seen).casefold().strip()


_LETTERS_ALIKE = {code: to for code, to in _ALIKE.items() if not chr(code).isascii()}
