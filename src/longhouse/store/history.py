"""What the log says about some subjects up to a seq, for rooms that fold their past from it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from longhouse.store.log import LogRow
from longhouse.store.tx import Tx, sql

__all__ = ["events_of", "newest_of", "rows_after", "subjects_like"]

ENDLESS = 2**62
PAGE = 1_000
TOGETHER = 200
"""How many subjects are asked for at once."""


def events_of(
    tx: Tx,
    stream: str,
    subjects: Iterable[str],
    *,
    after: int = 0,
    upto: int = ENDLESS,
    kind: str = "",
    without: Iterable[str] = (),
) -> dict[str, list[LogRow]]:
    """Each subject's rows in a stretch of the log, oldest first: of one kind, or without some."""
    found: dict[str, list[LogRow]] = {}
    left = _json(without)
    for part in _parts(subjects):
        for row in tx.all(
            sql.log_of_subjects,
            stream=stream,
            subjects=part,
            after=after,
            upto=upto,
            kind=kind,
            without=left,
        ):
            found.setdefault(row["subject"], []).append(LogRow.from_row(row))
    return found


def newest_of(
    tx: Tx, stream: str, subjects: Iterable[str], upto: int, kind: str = ""
) -> dict[str, LogRow]:
    """Each subject's newest row, of one kind if it is given, up to a seq."""
    return {
        row["subject"]: LogRow.from_row(row)
        for part in _parts(subjects)
        for row in tx.all(
            sql.log_newest_of_subjects, stream=stream, subjects=part, upto=upto, kind=kind
        )
    }


def subjects_like(tx: Tx, prefix: str, upto: int) -> list[str]:
    """The subjects with a prefix that have rows up to a seq."""
    past = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return [row["subject"] for row in tx.all(sql.log_subjects, first=prefix, past=past, upto=upto)]


def rows_after(tx: Tx, stream: str, seq: int) -> Iterator[LogRow]:
    """The rows of a stream after a seq, oldest first."""
    while rows := tx.all(sql.log_of_stream_after, stream=stream, after=seq, limit=PAGE):
        yield from map(LogRow.from_row, rows)
        seq = rows[-1]["seq"]


def _parts(subjects: Iterable[str]) -> Iterator[str]:
    listed = sorted(set(subjects))
    for start in range(0, len(listed), TOGETHER):
        yield _json(listed[start : start + TOGETHER])


def _json(names: Iterable[str]) -> str:
    return msgspec.json.encode(list(names)).decode()
