"""Subjects of the log: jobs, tasks and the like are indexed at the seqs of their events.

A room says how one of its subjects is read back; where subjects are and which were asked for is
the same for all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from longhouse.store.recall.documents import Document, Visibility
from longhouse.store.recall.index import sql
from longhouse.store.recall.reading import as_json
from longhouse.store.tx import Tx

__all__ = ["lister_of", "places_of", "read_subjects", "seqs_in", "subjects_at", "texts_in"]

_MOST_PLACES = 1_000


def lister_of(stream: str) -> Callable[[Tx, int, int], list[int]]:
    """Lists where each subject of a stream was first mentioned: a rebuild indexes it there."""

    def listed(tx: Tx, after: int, limit: int) -> list[int]:
        rows = tx.all(sql.subjects_from, stream=stream, after=after, limit=limit)
        return [row["seq"] for row in rows]

    return listed


def read_subjects(
    tx: Tx,
    seqs: Sequence[int],
    look: Visibility,
    stream: str,
    document: Callable[[str, int], Document | None],
) -> Iterator[Document]:
    """The subjects of a stream that are at these seqs, as `document` reads each back.

    For indexing they come with all places at which they may be indexed.
    """
    for subject, seq in subjects_at(tx, seqs, stream).items():
        if (made := document(subject, seq)) is not None:
            yield made._replace(places=places_of(tx, stream, subject)) if look.all else made


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


def texts_in(value: Any, without: Sequence[str] = ()) -> Iterator[str]:
    """The texts in a value, however deep, except below these names."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, one in value.items():
            if name not in without:
                yield from texts_in(one, without)
    elif isinstance(value, list):
        for one in value:
            yield from texts_in(one, without)
