"""Proof: refs that a reader can follow from a job to what it produced.

A ref counts as proof if it opens a record other than the job itself. Refs may be salvaged from
text, by reading the text alone. Anything that looks like a Longhouse id must exist.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

import msgspec

from longhouse.jobs.room import room, sql
from longhouse.kernel.delegation import MAX_REF, MAX_REFS
from longhouse.kernel.errors import UnknownId
from longhouse.kernel.opening import opens, proves
from longhouse.kernel.refs import ref_grammar
from longhouse.store.tx import Tx

__all__ = [
    "cited_processes",
    "drop_unknown",
    "is_receipt",
    "known_refs",
    "proofs",
    "salvage",
]

_LEAD = re.compile(r"^\s*(?:[-*+>•]\s+|\d+[.)]\s+|\$\s+)*")
_TAGGED = re.compile(r"(?i:(CMD|LINK))\s*:\s*(.*)\Z")
_URL = re.compile(r"(?:https?|file)://[^\s<>\"'`)\]]+")
_PROGRAM = (
    r"(?:cargo|pytest|go|npm|pnpm|yarn|bun|make|just|git|rg|python3?|node|deno|docker|kubectl|helm"
    r"|terraform|uv|ruff|mypy)"
)
_COMMAND = re.compile(rf"{_PROGRAM}(?:\s+[^\s,;]+){{1,15}}\Z")
_STRONG = re.compile(
    r"\s(?:-{1,2}\w|[\w.-]*[/.][\w./-]+)"
    r"|\A\S+\s+(?:test|tests|check|build|run|lint|bench|diff|log|show|status|apply)\b"
)


def salvage(text: str) -> list[str]:
    """The refs in a text: receipts, then commands, then ids; without duplicates, bounded."""
    lines = [_LEAD.sub("", line).strip().strip("`").strip() for line in text.splitlines()]
    found = [*_receipts(lines), *_commands(lines), *ref_grammar().find(text)]
    short = (ref if len(ref) <= MAX_REF else ref[: MAX_REF - 1] + "…" for ref in found)
    return list(dict.fromkeys(short))[:MAX_REFS]


@room.holds_artifacts
def cited_processes(tx: Tx) -> Iterator[str]:
    """The background processes that jobs cite as proof: their output is kept."""
    for row in tx.all(sql.refs_to_processes):
        cited = msgspec.json.decode(row["refs"])
        yield from (ref for ref in cited if ref_grammar().is_a("process", ref))


def is_receipt(ref: str) -> bool:
    return ref.startswith(("CMD:", "LINK:")) and not _is_placeholder(ref)


def known_refs(tx: Tx, refs: Iterable[str]) -> list[str]:
    """The refs without duplicates; refuses any that looks like a Longhouse id but opens nothing."""
    kept = list(dict.fromkeys(ref.strip() for ref in refs if ref.strip()))
    unknown = [ref for ref in kept if opens(tx, ref) is False]
    if unknown:
        raise UnknownId(
            f"refs: there is no {', '.join(unknown)}",
            recovery="pass refs that `open` accepts, or leave refs out",
            hints=[{"kind": "unknown_ref", "field": "refs", "ref": ref} for ref in unknown],
        )
    return kept


def proofs(tx: Tx, refs: Iterable[str], job: str) -> list[str]:
    """The refs that open something other than this job and show what was done.

    A background process counts only if it exited with code 0.
    """
    others = (ref for ref in refs if ref.partition("@")[0] != job)
    return [ref for ref in others if proves(tx, ref)]


def drop_unknown(tx: Tx, refs: Iterable[str]) -> list[str]:
    """The refs without ids that do not exist, for refs salvaged from prose."""
    return [ref for ref in refs if opens(tx, ref) is not False]


def _receipts(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if tagged := _TAGGED.match(line):
            receipt = f"{tagged[1].upper()}: {tagged[2].strip()}"
            if not _is_placeholder(receipt):
                yield receipt
        else:
            for url in _URL.findall(line):
                yield f"LINK: {url.rstrip('.,;:')}"


def _commands(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if _COMMAND.match(line) and _STRONG.search(line) and not line.endswith((".", ":")):
            yield f"CMD: {line}"


def _is_placeholder(receipt: str) -> bool:
    body = receipt.partition(":")[2].strip()
    return not body or "<fill" in body
