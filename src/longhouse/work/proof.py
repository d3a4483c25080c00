"""Proof: what counts as evidence, and what is only a note.

A receipt is typed: a command with its exit code, a link, a content hash, a ref that resolves, a job
or tool task that ran. Free text is a note: it is stored, but proves nothing.
"""

from __future__ import annotations

import re
from typing import Annotated, Literal

from msgspec import Meta

from longhouse.kernel.refs import ref_grammar
from longhouse.kernel.values import Value

__all__ = ["RESOLVED", "SHAPES", "Evidence", "Kind", "Receipt", "evidence_from_line"]

Kind = Literal["cmd", "link", "hash", "ref", "job", "tool", "note"]
RESOLVED = ("ref", "job", "tool")
"""The kinds that name a Longhouse record, which must exist."""

_BULLET = re.compile(r"^\s*(?:[-*+>]\s+|\d+[.)]\s+)+")
_TAG = re.compile(r"^(CMD|LINK|HASH|REF|JOB|TOOL|NOTE)\s*:\s*(.*)$", re.IGNORECASE | re.DOTALL)
_LINK = re.compile(r"(?:https?|file)://\S+\Z", re.IGNORECASE)
_HASH = re.compile(r"(?:sha256:)?[0-9a-f]{64}\Z|(?:sha1:|git:)[0-9a-f]{40}\Z", re.IGNORECASE)
_EXIT = re.compile(
    r"[(\[]?(?:exit(?:ed)?(?: code| status)?|=>|rc)[ :=]*(\d{1,3})[)\]]?\s*\Z", re.IGNORECASE
)

SHAPES = {"link": (_LINK, "https://…"), "hash": (_HASH, "sha256:<64 hex digits>")}
"""The required form of these kinds; a line in any other form is only a note."""


class Receipt(Value, frozen=True, kw_only=True):
    """One piece of evidence; `artifact` holds its output, if any was given.

    A receipt for a background process also has its command and the digest of its output.
    """

    kind: Kind
    text: str
    exit_code: int | None = None
    artifact: str | None = None
    command: str | None = None
    digest: str | None = None
    proves: bool


class Evidence(Value, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One piece of evidence to attach: `{kind: cmd, text: make test, exit_code: 0}`."""

    kind: Kind
    text: Annotated[str, Meta(min_length=1, max_length=4000)]
    exit_code: Annotated[int, Meta(ge=-255, le=255)] | None = None
    output: Annotated[str, Meta(min_length=1, max_length=256_000)] | None = None

    @property
    def well_formed(self) -> bool:
        shape = SHAPES.get(self.kind)
        return shape is None or shape[0].match(self.text.strip()) is not None


def evidence_from_line(line: str) -> Evidence | None:
    """The evidence in a pasted line; None if it is empty or an unfilled placeholder."""
    text = _BULLET.sub("", line).strip()
    if not text or "<fill" in text.lower():
        return None
    kind: str = "note"
    if tag := _TAG.match(text):
        kind, text = tag[1].lower(), tag[2].strip()
        if not text:
            return None
    elif _LINK.match(text):
        kind = "link"
    elif _HASH.match(text):
        kind = "hash"
    elif ref_grammar().resembles(text):
        kind = "job" if ref_grammar().is_a("job", text) else "ref"
    code = _EXIT.search(text) if kind == "cmd" else None
    if code is not None and (ran := text[: code.start()].rstrip()):
        return Evidence(kind="cmd", text=ran, exit_code=int(code[1]))
    return Evidence(kind=kind, text=text)  # type: ignore[arg-type]
