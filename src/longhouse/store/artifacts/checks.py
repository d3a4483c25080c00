"""What `longhouse verify` checks besides bytes and digests."""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.store.artifacts.room import room, sql
from longhouse.store.tx import Tx

__all__ = ["used_bytes"]


@room.check("the bytes counted as used match the rows")
def used_bytes(tx: Tx) -> Iterator[str]:
    counted, kept = int(tx.value(sql.usage_counted)), int(tx.value(sql.usage_now) or 0)
    if counted != kept:
        yield f"{kept} bytes are counted against the quota, but the rows have {counted}"
