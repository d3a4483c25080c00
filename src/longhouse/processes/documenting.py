"""Background processes as search reads them back: name and command, without secrets."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from longhouse.kernel.redact import redact
from longhouse.processes.frames import STREAM
from longhouse.processes.records import number_of
from longhouse.processes.room import room, sql
from longhouse.store.engine import Row
from longhouse.store.recall.documents import Document, Visibility
from longhouse.store.recall.index import index_part
from longhouse.store.recall.subjects import lister_of, read_subjects, texts_in
from longhouse.store.tx import Tx

__all__ = ["index_process", "processes_to_index", "read_processes"]


_UNSEARCHED = ("env", "stdin")
processes_to_index = lister_of(STREAM)


@room.searchable("process", processes_to_index)
def read_processes(tx: Tx, seqs: Sequence[int], look: Visibility) -> Iterable[Document]:
    """The processes whose frames are at these seqs."""

    def document(ref: str, seq: int) -> Document | None:
        row = tx.one(sql.task_one, n=number_of(ref)) if ref.startswith("PROC-") else None
        if row is None or (look.as_of is not None and row["created_seq"] > look.as_of):
            return None
        return _document(row, ref, seq)

    return read_subjects(tx, seqs, look, STREAM, document)


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
        body=" ".join([row["tool"], *texts_in(redact(spec.get("args") or {}), _UNSEARCHED)]),
        id=ref,
        ids=(ref, row["job_id"]) if row["job_id"] else (ref,),
        author=row["agent_id"],
        status=row["status"],
    )
