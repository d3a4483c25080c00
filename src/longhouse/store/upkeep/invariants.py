"""The invariants of every workspace's sequence and log, independent of rooms."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from longhouse.store.tx import Tx
from longhouse.store.upkeep.tables import Table, sql

__all__ = ["complaints"]

_NOT_OF_THE_LOG = frozenset({"stream_seq"})
"""Columns that end in `seq` but are not seqs of the log."""


def complaints(tx: Tx, tables: Sequence[Table], *, seq: int | None = None) -> Iterator[str]:
    """One sentence per violation; pass `seq` if it is not stored yet."""
    if seq is None:
        seq = int(tx.value(sql.workspace_seq) or 0)
    span = tx.one(sql.log_span) or {}
    if (span["count"], span["first"], span["last"]) != (seq, 1, seq):
        yield (
            f"the sequence is at {seq}, but the log accounts for {span['count']} seqs "
            f"from {span['first']} to {span['last']}"
        )
        for row in tx.all(sql.log_gap):
            yield f"the log has no row for seq {row['missing']}"
    for table in tables:
        for column, kind in zip(table.columns, table.types, strict=True):
            if kind == "INTEGER" and _is_seq(column):
                low = 1 if column == "seq" else 0
                if count := table.outside(tx, column, low, seq):
                    yield f"{table.name}.{column}: {count} rows have a seq outside the log"


def _is_seq(column: str) -> bool:
    return (column == "seq" or column.endswith("_seq")) and column not in _NOT_OF_THE_LOG
