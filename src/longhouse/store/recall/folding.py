"""Folding: moves what is in `search_fresh` into the blocks of each term; removes documents again.

Runs under the workspace's lock, in the transaction of whoever wrote the document that was one too
many, or in one of its own. New documents have the highest seqs, so a fold only appends.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec

from longhouse.store.engine import Row
from longhouse.store.recall.index import Text, bytes_of, mark, sql
from longhouse.store.recall.postings import BLOCK, packed, single, unpacked
from longhouse.store.tx import Tx

__all__ = ["append", "append_all", "fold", "remove"]

_LINE = re.compile(rb"\n([^\t\n]+)\t(..)")
_AT_ONCE = 1_000
ALL = mark("all")


def fold(tx: Tx) -> int:
    """Move everything fresh into the blocks; returns how many documents there were.

    While older documents are still being indexed, it waits: blocks are in order of seq.
    """
    state = tx.one(sql.state_now)
    if state is not None and state["todo"] is not None:
        return 0
    rows = tx.all(sql.fresh_all)
    append(tx, ((row["seq"], _read(row)) for row in rows))
    tx.run(sql.fresh_clear)
    return len(rows)


def append_all(tx: Tx, texts: Sequence[Text]) -> bool:
    """Index so many documents that they need not gather first; false if they have to wait."""
    state = tx.one(sql.state_now)
    if state is not None and state["todo"] is not None:
        return False
    fold(tx)
    append(tx, ((text.seq, bytes_of(text)) for text in texts))
    return True


def append(tx: Tx, documents: Iterable[tuple[int, Mapping[str, int]]]) -> None:
    """Add documents to the blocks of their terms."""
    found: defaultdict[str, dict[int, int]] = defaultdict(dict)
    docs = words = 0
    for seq, said in documents:
        for term, byte in said.items():
            held = found[term]
            held[seq] = held.get(seq, 0) | byte
        docs += 1
        words += len(said)
    if not docs:
        return
    rows: list[dict[str, Any]] = []
    for chunk in _chunks(sorted(found)):
        tails = {row["term"]: row for row in tx.all(sql.block_tails, terms=_json(chunk))}
        for term in chunk:
            rows += _appended(term, tails.get(term), found[term])
    tx.many(sql.block_put, rows)
    tx.run(sql.state_add, docs=docs, words=words)


def _appended(term: str, tail: Row | None, more: dict[int, int]) -> list[dict[str, Any]]:
    """The last block of a term with more documents, and new blocks for those without room."""
    if tail is None and len(more) == 1:  # most terms are rare
        [(seq, byte)] = more.items()
        return [{"term": term, "first": seq, "total": 1, "postings": single(byte)}]
    before = 0
    held: dict[int, int] = {}
    if tail is not None:
        seqs, said = unpacked(tail["first"], tail["postings"])
        held = dict(zip(seqs, said, strict=True))
        before = tail["total"] - len(held)
    for seq, byte in more.items():
        held[seq] = held.get(seq, 0) | byte
    rows = []
    ordered = sorted(held)
    for at in range(0, len(ordered), BLOCK):
        part = ordered[at : at + BLOCK]
        before += len(part)
        said = bytes(held[seq] for seq in part)
        rows.append(
            {"term": term, "first": part[0], "total": before, "postings": packed(part, said)}
        )
    return rows


def remove(tx: Tx, texts: Iterable[Text]) -> None:
    """Take documents out of the index, term by term, so that their words are nowhere in it."""
    gone: dict[str, set[int]] = {}
    seqs: set[int] = set()
    for text in texts:
        seqs.add(text.seq)
        for term in bytes_of(text):
            gone.setdefault(term, set()).add(text.seq)
    if not seqs:
        return
    tx.many(sql.fresh_drop, [{"seq": seq} for seq in sorted(seqs)])
    for term in sorted(gone):
        low, high = min(gone[term]), max(gone[term])
        for row in tx.all(sql.blocks_between, term=term, low=low, high=high):
            _rewrite(tx, term, row, gone[term])


def _rewrite(tx: Tx, term: str, row: Row, gone: set[int]) -> None:
    seqs, said = unpacked(row["first"], row["postings"])
    kept = [(seq, byte) for seq, byte in zip(seqs, said, strict=True) if seq not in gone]
    if len(kept) == len(seqs):
        return
    tx.run(sql.block_drop, term=term, first=row["first"])
    if kept:
        block = packed([seq for seq, _ in kept], bytes(byte for _, byte in kept))
        tx.run(
            sql.block_put,
            term=term,
            first=kept[0][0],
            total=row["total"],
            postings=block,
        )


def _read(row: Row) -> dict[str, int]:
    return {term.decode(): int(byte, 16) for term, byte in _LINE.findall(row["terms"])}


def _chunks(terms: list[str]) -> Iterable[list[str]]:
    left = iter(terms)
    while chunk := list(islice(left, _AT_ONCE)):
        yield chunk


def _json(values: Any) -> str:
    return msgspec.json.encode(values).decode()
