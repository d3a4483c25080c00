"""Jobs as search reads them back: title, prompt, what was said, and the summary."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import msgspec

from longhouse.jobs.records import QUIET, STREAM
from longhouse.jobs.room import room, sql
from longhouse.jobs.values import job_number
from longhouse.store.engine import Row
from longhouse.store.recall.documents import Document, Visibility
from longhouse.store.recall.subjects import lister_of, read_subjects
from longhouse.store.tx import Tx
from longhouse.store.tx import sql as store_sql

__all__ = ["jobs_to_index", "read_jobs"]

_MOST_EVENTS = 200
_ENDLESS = 2**62


jobs_to_index = lister_of(STREAM)


@room.searchable("job", jobs_to_index)
def read_jobs(tx: Tx, seqs: Sequence[int], look: Visibility) -> Iterable[Document]:
    """The jobs whose events are at these seqs."""
    before = _ENDLESS if look.as_of is None else look.as_of + 1

    def document(job: str, seq: int) -> Document | None:
        row = tx.one(sql.job_one, n=job_number(job)) if job.startswith("JOB-") else None
        return _document(tx, row, job, seq, before) if row else None

    return read_subjects(tx, seqs, look, STREAM, document)


def _document(tx: Tx, row: Row, job: str, seq: int, before: int) -> Document:
    events = tx.all(store_sql.log_of_subject_before, subject=job, before=before, limit=_MOST_EVENTS)
    said = [
        msgspec.json.decode(event["data"]).get("message") or ""
        for event in reversed(events)
        if event["stream"] == STREAM and event["kind"] not in QUIET
    ]
    now = row["last_seq"] < before
    spec = tx.one(sql.spec_of, n=row["n"])
    parts = [spec["prompt"] if spec else "", *said, row["summary"] if now else ""]
    return Document(
        kind="job",
        ref=job,
        seq=seq,
        ts_ms=row["created_at_ms"],
        thing=job,
        title=row["title"],
        body="\n".join(part for part in parts if part),
        id=job,
        ids=(job,),
        author=row["creator_agent"],
        task=row["task_id"],
        status=row["status"] if now else None,
    )
