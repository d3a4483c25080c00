"""Rebuilding the index from the tables: after an upgrade or import, or because someone asks.

It goes through the workspace in order of seq, a few hundred documents a transaction. Its place is
stored with what it did, so it goes on after a kill. New documents meanwhile gather in
`search_fresh`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from longhouse.kernel.contributions import CommittedWrite
from longhouse.kernel.values import Value
from longhouse.store.recall.documents import Document, Visibility
from longhouse.store.recall.folding import append, fold
from longhouse.store.recall.index import bytes_of
from longhouse.store.recall.reading import as_json
from longhouse.store.recall.room import room, sql
from longhouse.store.tx import Tx

__all__ = [
    "Remaining",
    "catch_up",
    "documents_at",
    "progress",
    "rebuild",
    "signed",
    "start",
    "step",
]

_PAGE = 300
_TURN = 20
EVERYTHING = Visibility(all=True)


class Remaining(Value, frozen=True, kw_only=True):
    """What is left: everything above `after`, up to `upto`."""

    upto: int | None = None
    after: int = 0


@room.rebuilds
def rebuild(tx: Tx) -> None:
    """Build the whole index of a workspace again, in one transaction."""
    start(tx)
    while not step(tx):
        pass


@room.every(2, by_hand=True)
def catch_up(commit: CommittedWrite) -> None:
    """Go on with an index that is not complete, a transaction at a time."""
    if commit.read(todo_of) is None:
        return
    for _ in range(_TURN):
        if commit.write(step):
            return


def start(tx: Tx) -> None:
    """Empty the index; `step` fills it again."""
    for query in (sql.blocks_clear, sql.fresh_clear):
        tx.run(query)
    tx.run(sql.state_reset, todo=_encoded(Remaining(upto=tx.last_seq())))


def todo_of(tx: Tx) -> Remaining | None:
    """What is left to do; None if the index is complete."""
    state = tx.one(sql.state_now)
    if state is None or state["todo"] is None:
        return None
    return msgspec.json.decode(state["todo"], type=Remaining)


def progress(tx: Tx) -> tuple[int, int] | None:
    """How far a rebuild is, in seqs, and how far it goes; None if the index is complete."""
    todo = todo_of(tx)
    return None if todo is None else (todo.after, todo.upto or tx.last_seq())


def step(tx: Tx) -> bool:
    """Index a few hundred documents more; true if nothing is left."""
    todo = todo_of(tx)
    if todo is None:
        return True
    upto = todo.upto
    if upto is None:  # after an upgrade: what is fresh was written since
        first = tx.value(sql.fresh_first)
        upto = tx.last_seq() if first is None else int(first) - 1
    after = _indexed(tx, todo.after, upto)
    if after >= upto:
        tx.run(sql.state_todo, todo=None)
        fold(tx)
        return True
    tx.run(sql.state_todo, todo=_encoded(Remaining(upto=upto, after=after)))
    return False


def _indexed(tx: Tx, after: int, upto: int) -> int:
    """Index the next documents; returns the seq up to which everything is indexed."""
    pages: list[list[int]] = [
        [*one.rows(tx, after, _PAGE)] for one in tx.facts.registry.searchables
    ]
    upto = min([upto, *(page[-1] for page in pages if len(page) == _PAGE)])
    seqs = sorted({seq for page in pages for seq in page if seq <= upto})
    texts = sorted((one.text() for one in documents_at(tx, seqs)), key=lambda text: text.seq)
    append(tx, ((text.seq, bytes_of(text)) for text in texts))
    return upto


def documents_at(tx: Tx, seqs: Sequence[int]) -> list[Document]:
    """Everything that is indexed at these seqs."""
    if not seqs:
        return []
    read = [one.read for one in tx.facts.registry.searchables]
    return [document for each in read for document in signed(tx, each, seqs)]


def signed(
    tx: Tx, read: Callable[[Any, Any, Any], Iterable[Document]], seqs: Sequence[int]
) -> list[Document]:
    """The rows at these seqs as they were indexed, with who wrote them."""
    found = [*read(tx, seqs, EVERYTHING)]
    rows = tx.all(sql.written_at, seqs=as_json([one.seq for one in found])) if found else []
    authors = {row["seq"]: row["actor"] for row in rows}
    return [one if one.author else one._replace(author=authors.get(one.seq)) for one in found]


def _encoded(todo: Remaining) -> str:
    return msgspec.json.encode(todo).decode()
