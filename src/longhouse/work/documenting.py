"""Plans and tasks as search reads them back, with their steps and what proved them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from longhouse.store.engine import Row
from longhouse.store.recall.documents import Document, Visibility
from longhouse.store.recall.index import index_part
from longhouse.store.recall.subjects import lister_of, places_of, read_subjects, texts_in
from longhouse.store.tx import Tx
from longhouse.work.room import room, sql

__all__ = ["index_work", "read_work", "work_to_index"]

STREAM = "work"
_MOST_PROOFS = 50
_TEXTS = ("description", "context", "contract", "domain")


work_to_index = lister_of(STREAM)


@room.searchable("task", work_to_index)
def read_work(tx: Tx, seqs: Sequence[int], look: Visibility) -> Iterable[Document]:
    """The plans and tasks whose events are at these seqs, unless they have changed since."""

    def document(entity: str, seq: int) -> Document | None:
        if look.as_of is not None and max(places_of(tx, STREAM, entity)) > look.as_of:
            return None
        return _document(tx, entity, seq)

    return read_subjects(tx, seqs, look, STREAM, document)


def index_work(tx: Tx, entity: str, seq: int) -> None:
    """Index a plan or task as it is now."""
    if (made := _document(tx, entity, seq)) is not None:
        index_part(tx, made._replace(author=tx.actor).text())


def _document(tx: Tx, entity: str, seq: int) -> Document | None:
    plan = entity.startswith("PLAN-")
    row = tx.one(sql.plan_by_id, plan_id=entity) if plan else tx.one(sql.task_by_id, task_id=entity)
    if row is None:
        return None
    return Document(
        kind="plan" if plan else "task",
        ref=entity,
        seq=seq,
        ts_ms=row["updated_at_ms"],
        thing=entity,
        title=row["title"],
        body="\n".join(_said(tx, row, plan)),
        id=entity,
        ids=(entity,) if plan else (entity, row["plan_id"]),
        tags=msgspec.json.decode(row["tags"]),
        task=entity,
        status=row["status"],
    )


def _said(tx: Tx, row: Row, plan: bool) -> Iterator[str]:
    yield from (row[name] for name in _TEXTS if row.get(name))
    if plan:
        yield from texts_in(msgspec.json.decode(row["checklist"]))
        return
    for step in tx.all(sql.steps_of_task, task_id=row["task_id"]):
        yield step["title"]
        yield from texts_in(msgspec.json.decode(step["detail"]))
        if step["block_reason"]:
            yield step["block_reason"]
    proofs = tx.all(sql.proofs_newest_of_task, task_id=row["task_id"], limit=_MOST_PROOFS)
    for proof in proofs:
        yield from texts_in(_read(proof["receipt"]))


def _read(text: str) -> Any:
    try:
        return msgspec.json.decode(text)
    except msgspec.DecodeError:
        return text
