"""Background processes as search reads them back: name and command, without secrets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import msgspec

from longhouse.kernel.redact import redact
from longhouse.processes.frames import STREAM
from longhouse.processes.records import number_of
from longhouse.processes.room import room, sql
from longhouse.store.engine import Row
from longhouse.store.recall.documents import Document, Visibility
from longhouse.store.recall.index import index_part
from longhouse.store.recall.subjects import first_of, places_of, subjects_at
from longhouse.store.tx import Tx

__all__ = ["index_process", "processes_to_index", "read_processes"]


def processes_to_index(tx: Tx, after: int, limit: int) -> list[int]:
    return first_of(tx, STREAM, after, limit)


@room.searchable("process", processes_to_index)
def read_processes(tx: Tx, seqs: Sequence[int], look: Visibility) -> Iterable[Document]:
    """The processes whose frames are at these seqs."""
    for ref, seq in subjects_at(tx, seqs, STREAM).items():
        row = tx.one(sql.task_one, n=number_of(ref)) if ref.startswith("PROC-") else None
        if row is not None and (look.as_of is None or row["created_seq"] <= look.as_of):
            made = _document(row, ref, seq)
            yield made._replace(places=places_of(tx, STREAM, ref)) if look.all else made


def index_process(tx: Tx, row: Row, ref: str, seq: int) -> None:
    index_part(tx, _document(row, ref, seq).text())


def _document(row: Row, ref: str, seq: int) -> Document:
    spec = msgspec.json.decode(row["spec"])
    return Document(
        kind="process",
        ref=ref,
        seq=seq,
        ts_ms=row["created_at_ms"],
        thing=ref,
        title=row["name"],
        body=" ".join([row["tool"], *_texts(redact(spec.get("args") or {}))]),
        id=ref,
        ids=(ref, row["job_id"]) if row["job_id"] else (ref,),
        author=row["agent_id"],
        status=row["status"],
    )


def _texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            if name not in ("env", "stdin"):
                yield from _texts(one)
    elif isinstance(value, list):
        for one in value:
            yield from _texts(one)
