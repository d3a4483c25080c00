"""Rebuilding the index from the tables: after an upgrade or import, or because someone asked for it.

It goes through the workspace in order of seq, a few hundred documents a transaction. Where it is, is
stored with what it did, so it goes on after a kill. Meanwhile new documents gather in `search_fresh`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import msgspec

from longhouse.kernel.contributions import CommittedWrite, Searchable
from longhouse.kernel.values import Value
from longhouse.store.recall.documents import Document, Look
from longhouse.store.recall.folding import append, fold
from longhouse.store.recall.index import Text, bytes_of
from longhouse.store.recall.reading import as_json
from longhouse.store.recall.room import room, sql
from longhouse.store.tx import Tx

__all__ = ["Todo", "catch_up", "progress", "rebuild", "start", "step", "texts_at", "texts_of"]

_PAGE = 300
_TURN = 20
EVERYTHING = Look(all=True)


class Todo(Value, frozen=True, kw_only=True):
    """What is left: the kinds whose ids are not listed yet, then everything above `after`."""

    upto: int | None = None
    kind: int = 0
    key: str = ""
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
    for query in (sql.blocks_clear, sql.things_clear, sql.fresh_clear):
        tx.run(query)
    tx.run(sql.state_reset, todo=_encoded(Todo(upto=tx.last_seq())))


def todo_of(tx: Tx) -> Todo | None:
    """What is left to do; None if the index is complete."""
    state = tx.one(sql.state_now)
    if state is None or state["todo"] is None:
        return None
    return msgspec.json.decode(state["todo"], type=Todo)


def progress(tx: Tx) -> tuple[int, int] | None:
    """How far a rebuild is, in seqs, and how far it goes; None if the index is complete."""
    todo = todo_of(tx)
    return None if todo is None else (todo.after, todo.upto or tx.last_seq())


def step(tx: Tx) -> bool:
    """Index a few hundred documents more; true if nothing is left."""
    todo = todo_of(tx)
    if todo is None:
        return True
    if todo.upto is None:
        first = tx.value(sql.fresh_first)
        todo = msgspec.structs.replace(todo, upto=tx.last_seq() if first is None else first - 1)
    keyed = [one for one in tx.facts.registry.searchables if not one.by_seq]
    if todo.kind < len(keyed):
        todo = _listed(tx, keyed[todo.kind], todo)
    else:
        after = _indexed(tx, todo)
        if after is None:
            tx.run(sql.state_todo, todo=None)
            fold(tx)
            return True
        todo = msgspec.structs.replace(todo, after=after)
    tx.run(sql.state_todo, todo=_encoded(todo))
    return False


def _listed(tx: Tx, one: Searchable, todo: Todo) -> Todo:
    """Note where the things of a kind are indexed."""
    rows = [*one.rows(tx, todo.key, _PAGE)]
    found = [{"kind": one.kind, "key": key, "seq": seq} for key, seq in rows]
    if found:
        tx.many(sql.thing_put, found)
    if len(rows) < _PAGE:
        return msgspec.structs.replace(todo, kind=todo.kind + 1, key="")
    return msgspec.structs.replace(todo, key=rows[-1][0])


def _indexed(tx: Tx, todo: Todo) -> int | None:
    """Index the next documents; returns the seq up to which everything is indexed."""
    assert todo.upto is not None
    pages = [
        [*one.rows(tx, todo.after, _PAGE)] for one in tx.facts.registry.searchables if one.by_seq
    ]
    things = tx.all(sql.things_from, after=todo.after, upto=todo.upto, limit=_PAGE)
    pages.append([row["seq"] for row in things])
    full = [page[-1] for page in pages if len(page) == _PAGE]
    upto = min([*full, todo.upto])
    seqs = sorted({seq for page in pages for seq in page if seq <= upto})
    if not seqs:
        return None if upto == todo.upto else upto
    texts = texts_of(tx, seqs)
    append(tx, ((text.seq, bytes_of(text)) for text in texts))
    return upto if full or upto < todo.upto else todo.upto


def texts_of(tx: Tx, seqs: Sequence[int], *, things: bool = True) -> list[Text]:
    """Everything that is indexed at these seqs, in order."""
    made: list[Text] = []
    searchables = tx.facts.registry.searchables
    for one in searchables:
        if one.by_seq:
            made += texts_at(tx, one.read, seqs)
    there = tx.all(sql.things_at, seqs=as_json(seqs)) if things else []
    for one in searchables:
        keys = {row["key"]: row["seq"] for row in there if row["kind"] == one.kind}
        if keys:
            made += [d.text(keys[d.id or ""]) for d in one.read(tx, list(keys), EVERYTHING)]
    return sorted(made, key=lambda text: text.seq)


def texts_at(
    tx: Tx, read: Callable[[Any, Any, Any], Iterable[Document]], seqs: Sequence[int]
) -> list[Text]:
    """What was indexed for the rows at these seqs, with who wrote them."""
    found = [*read(tx, seqs, EVERYTHING)]
    if not found:
        return []
    rows = tx.all(sql.written_at, seqs=as_json([one.seq for one in found]))
    authors = {row["seq"]: row["actor"] for row in rows}
    return [one._replace(author=authors.get(one.seq)).text() for one in found]


def _encoded(todo: Todo) -> str:
    return msgspec.json.encode(todo).decode()
