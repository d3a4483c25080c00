"""The proof gate: DONE counts only with a ref that proves it. Pure.

A stable ref names one record that can be opened, other than the job itself. Anchors and runners
prove nothing, placeholders name nothing, and a receipt (`CMD:`, `LINK:`) alone is not a record.
Every pattern runs in time linear in the text, even on hostile text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from longhouse.kernel.delegation import MAX_REF, MAX_REFS
from longhouse.kernel.errors import LonghouseError
from longhouse.runner.executors.base import AgentAnswer

__all__ = ["ASK", "all_refs", "bounded", "stable_refs", "unknown_refs"]

_STABLE = re.compile(
    r"(?:CARD-(?=[A-Za-z0-9._-]*[0-9a-z])[A-Za-z0-9._-]+"
    r"|(?:TASK|PLAN|STEP|JOB)-[0-9]+(?:@[0-9]+)?"
    r"|artifact:[0-9a-f]{8,64}|ART-[0-9]{3,12}"
    r"|[A-Za-z][\w./-]*@[0-9]+)\Z"
)
_IN_TEXT = re.compile(
    r"(?<![\w@:/.<-])(?:(?:TASK|PLAN|JOB)-[0-9]+(?:@[0-9]+)?|CARD-[A-Za-z0-9][\w.-]*\w"
    r"|artifact:[0-9a-f]{8,64}|[A-Za-z][\w-]*@[0-9]+)(?![\w>@]|\.\w)"
)
_RECEIPT = re.compile(r"(?im)^[^\w\n]*((?:CMD|LINK)[ \t]*:[ \t]*\S.*)$")
_PLACEHOLDER = re.compile(r"(?i)[<>*…]|\bXXX+\b|\bTODO\b|CARD-(?:X+|ID|N+)\Z")

ASK = (
    "DONE needs proof: at least one stable ref that opens (CARD-*, TASK-*, notes@<seq>, JOB-*) "
    "and, if you ran or changed something, a receipt line `CMD: <command>` or `LINK: <url>`. "
    "Save the result with vcs.notes.commit and return its ref in refs[]."
)


def all_refs(answer: AgentAnswer) -> list[str]:
    """Every ref of an answer: in its refs, in its events, and in the text of its summary."""
    text = answer.summary
    receipts = (" ".join(match.split()) for match in _RECEIPT.findall(text))
    events = (ref for event in answer.events for ref in event.refs)
    return bounded([*answer.refs, *events, *_IN_TEXT.findall(text), *receipts])


def stable_refs(refs: Iterable[str], job: str) -> list[str]:
    """The refs that name a record other than the job itself."""
    return [
        ref
        for ref in refs
        if _STABLE.match(ref) and not _PLACEHOLDER.search(ref) and ref.partition("@")[0] != job
    ]


def bounded(refs: Iterable[str]) -> list[str]:
    """Without duplicates and placeholders, within the server's limits on number and length."""
    kept = (
        ref.strip()
        for ref in refs
        if 0 < len(ref.strip()) <= MAX_REF and not _PLACEHOLDER.search(ref) and ref.isprintable()
    )
    return list(dict.fromkeys(kept))[:MAX_REFS]


def unknown_refs(refs: list[str], refusal: LonghouseError) -> list[str]:
    """The refs that, according to a refusal, open nothing; all of them if it names none."""
    named = {hint.get("ref") for hint in refusal.hints if hint.get("kind") == "unknown_ref"}
    return [ref for ref in refs if ref in named] or refs
