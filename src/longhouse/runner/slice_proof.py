"""The proof gate: DONE counts only with a ref that proves it. Pure.

A stable ref names one record that can be opened, other than the job itself. Anchors and runners
prove nothing, placeholders name nothing, and a receipt (`CMD:`, `LINK:`) alone is not a record.
Every pattern runs in time linear in the text, even on hostile text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from longhouse.executors import AgentAnswer
from longhouse.kernel.delegation import MAX_REF, MAX_REFS
from longhouse.kernel.errors import LonghouseError
from longhouse.kernel.refs import ref_grammar

__all__ = ["ASK", "all_refs", "bounded", "stable_refs", "unknown_refs"]

_RECEIPT = re.compile(r"(?im)^[^\w\n]*((?:CMD|LINK)[ \t]*:[ \t]*\S.*)$")
_PLACEHOLDER = re.compile(r"(?i)[<>*…]|\bXXX+\b|\bTODO\b|CARD-(?:X+|ID|N+)\Z")
_UNNAMED = re.compile(r"CARD-[A-Z._-]+")
"""`CARD-NAME`: the id of a card has a digit or a small letter."""

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
    return bounded([*answer.refs, *events, *ref_grammar().find(text), *receipts])


def stable_refs(refs: Iterable[str], job: str) -> list[str]:
    """The refs that name a record other than the job itself."""
    grammar = ref_grammar()
    return [
        ref
        for ref in refs
        if grammar.may_prove(ref)
        and not _PLACEHOLDER.search(ref)
        and not _UNNAMED.fullmatch(ref)
        and ref.partition("@")[0] != job
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
