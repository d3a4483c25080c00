"""Invariants of anchors and aliases, checked by `verify`."""

from __future__ import annotations

from collections.abc import Iterator

from longhouse.store.tx import Tx
from longhouse.thinking.anchor_views import all_anchors
from longhouse.thinking.room import room, sql

__all__ = ["anchor_faults"]


@room.check("no name is both an anchor and an alias, and every alias has an anchor")
def anchor_faults(tx: Tx) -> Iterator[str]:
    """One sentence for each ambiguous or dangling alias."""
    anchors = {anchor.id for anchor in all_anchors(tx)}
    for row in tx.all(sql.aliases_all):
        if row["alias"] in anchors:
            yield f"{row['alias']} is an anchor and an alias of {row['anchor_id']}"
        if row["anchor_id"] not in anchors:
            yield f"{row['alias']} is an alias of {row['anchor_id']}, which does not exist"
