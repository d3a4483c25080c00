"""What higher rooms may read from memory: checkout, focus and the newest entry."""

from __future__ import annotations

from longhouse.kernel.clock import rfc3339
from longhouse.memory.room import sql
from longhouse.memory.targeting import Targeting, bootstrap
from longhouse.memory.targeting import standing as targeting
from longhouse.memory.types.documents import LastEntry
from longhouse.store.tx import Tx

__all__ = ["Targeting", "bootstrap", "last_entry", "targeting"]


def last_entry(tx: Tx) -> LastEntry | None:
    """The newest document entry of the workspace."""
    row = tx.one(sql.entry_last)
    return LastEntry(**row, ts=rfc3339(row["ts_ms"])) if row else None
