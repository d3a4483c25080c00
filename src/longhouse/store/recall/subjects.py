"""Subjects of the log: jobs, tasks and the like are indexed at the seqs of their events."""

from __future__ import annotations

from collections.abc import Sequence

from longhouse.store.recall.index import sql
from longhouse.store.recall.reading import as_json
from longhouse.store.tx import Tx

__all__ = ["first_of", "places_of", "seqs_in", "subjects_at"]

_MOST_PLACES = 1_000


def first_of(tx: Tx, stream: str, after: int, limit: int) -> list[int]:
    """Where each subject of a stream was first mentioned, above a seq: a rebuild puts it there."""
    rows = tx.all(sql.subjects_from, stream=stream, after=after, limit=limit)
    return [row["seq"] for row in rows]


def subjects_at(tx: Tx, seqs: Sequence[int], stream: str) -> dict[str, int]:
    """The subjects of the log rows at these seqs, each with its newest seq among them."""
    rows = tx.all(sql.subjects_at, seqs=as_json(seqs), stream=stream)
    return {row["subject"]: row["seq"] for row in rows}


def seqs_in(tx: Tx, seqs: Sequence[int], stream: str) -> list[int]:
    """Those of the seqs that are log rows of a stream."""
    rows = tx.all(sql.subjects_at, seqs=as_json(seqs), stream=stream)
    return [row["seq"] for row in rows]


def places_of(tx: Tx, stream: str, subject: str) -> tuple[int, ...]:
    """All seqs at which something may be indexed."""
    rows = tx.all(sql.log_seqs, stream=stream, subject=subject, limit=_MOST_PLACES)
    return tuple(row["seq"] for row in rows)
