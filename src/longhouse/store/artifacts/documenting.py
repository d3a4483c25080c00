"""Artifacts as search reads them back: by name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from longhouse.store.artifacts.room import room, sql
from longhouse.store.recall.documents import Document, Visibility
from longhouse.store.recall.subjects import subjects_at
from longhouse.store.tx import Tx

__all__ = ["artifacts_to_index", "read_artifacts"]


def artifacts_to_index(tx: Tx, after: int, limit: int) -> list[int]:
    return [row["created_seq"] for row in tx.all(sql.artifacts_from, after=after, limit=limit)]


@room.searchable("artifact", artifacts_to_index)
def read_artifacts(tx: Tx, seqs: Sequence[int], look: Visibility) -> Iterable[Document]:
    """The artifacts that were added at these seqs."""
    for handle in subjects_at(tx, seqs, "artifacts"):
        row = tx.one(sql.artifact_added, handle=handle)
        if row is not None and (look.as_of is None or row["created_seq"] <= look.as_of):
            yield Document(
                kind="artifact",
                ref=row["handle"],
                seq=row["created_seq"],
                ts_ms=row["created_at_ms"],
                thing=row["handle"],
                title=row["name"],
                body=row["media_type"],
                id=row["handle"],
                ids=(row["handle"],),
            )
