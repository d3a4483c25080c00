"""What stands beside a good hit: an answer often follows its question, or precedes its reason.

Entries that were written just before or after one of the best hits, in the same document, take a
part of its score for the words that they lack. Those with none of the words are added only if
nothing has all of them. They are read back as the caller may see them, like everything else.
"""

from __future__ import annotations

from collections.abc import Sequence

from longhouse.memory.narrowing import Narrowed, read_documents
from longhouse.memory.room import sql
from longhouse.store.recall.documents import Document
from longhouse.store.recall.judging import Judge, Judged
from longhouse.store.tx import Tx

__all__ = ["with_neighbors"]

_BEST = 5
_SHARE = (0.6, 0.35)
"""How much of a hit's score the next entry takes, and the one after it."""
_WITHIN_MS = 12 * 3_600_000


def with_neighbors(
    tx: Tx, ranked: list[Judged], judge: Judge, within: Narrowed, told: set[str]
) -> list[Judged]:
    """The same documents and what stands beside the best of them, with its part of the score."""
    hits = [one for one in ranked[:_BEST] if _is_entry(one.document)]
    beside = _beside(tx, hits, within)
    if not beside:
        return ranked
    made = [_raised(judge, one, beside.pop(one.document.seq, ())) for one in ranked]
    if judge.is_strict or any(one.whole for one in ranked):
        return made  # what was asked for is there, or what lacks its words must not be
    for document in read_documents(tx, sorted(beside), within):
        near = beside.get(document.seq)
        if near is None or document.thing in told:
            continue
        told.add(document.thing)
        one = judge.judge(document) or Judged(document, 0.0, False, ())
        made.append(_raised(judge, one, near))
    return made


def _beside(tx: Tx, hits: list[Judged], within: Narrowed) -> dict[int, list[tuple[float, Judged]]]:
    """The seqs beside each hit with what they take of its score."""
    asked = []
    for one in hits:
        here = {"doc_id": one.document.doc_id, "seq": one.document.seq, "limit": len(_SHARE)}
        asked.append(tx.ask(sql.entries_just_before, **here))
        asked.append(tx.ask(sql.entries_just_after, cut=within.before - 1, **here))
    found: dict[int, list[tuple[float, Judged]]] = {}
    answers = iter(tx.answers(asked) if asked else ())
    for one in hits:
        for rows in (next(answers), next(answers)):
            for row, share in zip(rows, _SHARE, strict=False):
                if abs(row["ts_ms"] - one.document.ts_ms) > _WITHIN_MS:
                    break
                found.setdefault(row["seq"], []).append((share, one))
    return found


def _raised(judge: Judge, one: Judged, near: Sequence[tuple[float, Judged]]) -> Judged:
    """A document with the most that it takes of a hit: of the words that it lacks itself."""
    best = one
    for share, hit in near:
        score = one.score + share * hit.score * judge.lacking(one, hit)
        if score > best.score:
            best = one._replace(score=score, beside=hit.document.ref)
    return best


def _is_entry(document: Document) -> bool:
    return document.doc_id is not None and document.kind != "node"
